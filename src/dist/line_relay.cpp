#include "dist/line_relay.h"

namespace flexor::dist {
namespace {

constexpr size_t kMaxLine = size_t{1} << 20;

}  // namespace

void LineRelay::end_line(std::string& out) {
  out.append(prefix_).append(line_) += '\n';
  line_.clear();
}

void LineRelay::add(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    const size_t end = bytes.find_first_of("\r\n");
    std::string_view text = bytes.substr(0, end);
    after_return_ = after_return_ && text.empty();
    while (line_.size() + text.size() > kMaxLine) {
      const size_t room = kMaxLine - line_.size();
      line_ += text.substr(0, room);
      text.remove_prefix(room);
      end_line(out);
    }
    line_ += text;
    if (end == std::string_view::npos) {
      return;
    }
    const bool is_return = bytes[end] == '\r';
    const bool is_second_half = !is_return && after_return_;
    if (!line_.empty() || (!is_return && !is_second_half)) {
      end_line(out);
      after_return_ = is_return;
    } else {
      after_return_ = is_return && after_return_;
    }
    bytes.remove_prefix(end + 1);
  }
}

void LineRelay::finish(std::string& out) {
  if (!line_.empty()) {
    end_line(out);
  }
}

}  // namespace flexor::dist
