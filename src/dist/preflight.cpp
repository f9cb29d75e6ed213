#include "dist/preflight.h"

#include <chrono>
#include <cmath>
#include <sstream>

#include "base/content_hash.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "dist/endpoint.h"

namespace flexor::dist {
namespace {

constexpr double kClocks_s = 60;

double clock_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// "rank 3 on node7"
std::string name_of(size_t rank, const Json& facts) {
  return str_cat("rank ", rank, " on ", facts.at("host").as_string());
}

[[noreturn]] void refuse(const Group& group, const std::string& what, const std::string& hint) {
  throw Error(ErrorKind::kRuntime, what, str_cat("rank ", group.rank(), ", preflight"), hint);
}

void compare(const Group& group, size_t rank, const Json& first, const Json& other) {
  const Json::Array &wanted = first.at("facts").as_array(), &found = other.at("facts").as_array();
  for (size_t i = 0; i < std::max(wanted.size(), found.size()); ++i) {
    const auto text = [&](const Json::Array& facts, size_t k) {
      return i < facts.size() ? facts[i].as_array()[k].as_string() : std::string("nothing");
    };
    if (text(wanted, 0) != text(found, 0) || text(wanted, 1) != text(found, 1)) {
      refuse(group,
             str_cat(name_of(rank, other), " has '", text(found, 1), "' as ", text(found, 0), ", ", name_of(0, first),
                     " has '", text(wanted, 1), "'"),
             "all ranks run the same program on the same configuration and data");
    }
  }
  const double ahead = other.at("clock").as_double() - first.at("clock").as_double();
  if (std::abs(ahead) > kClocks_s) {
    refuse(group,
           str_cat("the clock of ", name_of(rank, other), " is ", std::lround(std::abs(ahead)), " s ",
                   ahead > 0 ? "ahead of" : "behind", " that of ", name_of(0, first)),
           "set the clocks of the nodes, as NTP does");
  }
}

}  // namespace

std::string program_hash() {
  std::ostringstream text;
  text << std::hex << hash_file("/proc/self/exe");
  return text.str();
}

void check_alike(Group& group, const Facts& facts) {
  if (group.world() == 1) {
    return;
  }
  group.set_label("preflight");
  group.barrier();  // clocks are read at one time
  Json list = Json::array();
  for (const auto& [name, value] : facts) {
    list.push_back(Json(std::vector<std::string>{name, value}));
  }
  const Json mine = Json::object({{"host", host_name()}, {"clock", clock_s()}, {"facts", list}});
  const std::vector<std::string> all = group.gather_bytes(mine.dump());
  const Json first = Json::parse(all[0], "rank 0");
  for (size_t rank = 1; rank < all.size(); ++rank) {
    compare(group, rank, first, Json::parse(all[rank], str_cat("rank ", rank)));
  }
}

}  // namespace flexor::dist
