#include "dist/same_weights.h"

#include <sstream>

#include "base/content_hash.h"
#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "tensor/tensor.h"

namespace flexor::dist {
namespace {

/// "name float [2, 3] 1f2e3d": one line a parameter.
std::string line_of(const std::string& name, const Tensor& param) {
  const Tensor values = param.detach().cpu().contiguous();
  ContentHash hash;
  hash.add({static_cast<const std::byte*>(values.const_data_ptr()), values.nbytes()});
  std::ostringstream text;
  text << name << ' ' << c10::toString(param.scalar_type()) << ' ' << param.sizes() << ' ' << std::hex << hash.value();
  return text.str();
}

}  // namespace

void check_same_weights(Group& group, const std::vector<std::pair<std::string, Tensor>>& params) {
  if (group.world() == 1) {
    return;
  }
  std::vector<std::string> lines;
  for (const auto& [name, param] : params) {
    lines.push_back(line_of(name, param));
  }
  const std::vector<std::string> all = group.gather_bytes(join_text(lines, "\n"));
  const std::vector<std::string> first = split_text(all[0], '\n');
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) {
      continue;
    }
    const std::vector<std::string> other = split_text(all[rank], '\n');
    for (size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
      const std::string a = i < first.size() ? first[i] : "nothing", b = i < other.size() ? other[i] : "nothing";
      if (a != b) {
        throw Error(ErrorKind::kRuntime,
                    str_cat("rank ", rank, " starts from other weights than rank 0: parameter ", i, " is '", b,
                            "', expected '", a, "'"),
                    str_cat("rank ", group.rank()), "all nodes must read the same checkpoint");
      }
    }
  }
}

}  // namespace flexor::dist
