#include "curate/split_parts.h"

#include <charconv>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::curate {
namespace {

constexpr double kShareRounding = 1e-9;  // of a sum of shares such as 0.7 + 0.2 + 0.1
constexpr const char* kPartsHint = "shares that sum to at most 1 (train=0.8 val=0.2), or episodes (train=0-7 val=8,9)";

[[noreturn]] void refuse_text(const std::string& text, const std::string& expected) {
  throw Error(ErrorKind::kUsage, str_cat("\"", text, "\", expected ", expected));
}

int64_t parse_number(const std::string& text, const std::string& whole) {
  int64_t number = -1;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end || number < 0) {
    refuse_text(whole, "episodes such as 3 or 0-9 or 0-9,12");
  }
  return number;
}

[[noreturn]] void refuse_parts(const std::string& what) {
  throw Error(ErrorKind::kConfig, what, {}, kPartsHint);
}

}  // namespace

std::vector<int64_t> parse_episodes(const std::string& text) {
  std::vector<int64_t> episodes;
  for (const std::string& part : split_text(text, ',')) {
    const size_t dash = part.find('-');
    const int64_t first = parse_number(part.substr(0, dash), text);
    const int64_t last = dash == std::string::npos ? first : parse_number(part.substr(dash + 1), text);
    constexpr int64_t kMost = 10'000'000;
    if (last < first || last - first > kMost) {
      refuse_text(text, "episodes such as 3 or 0-9 or 0-9,12");
    }
    for (int64_t episode = first; episode <= last; ++episode) {
      episodes.push_back(episode);
    }
  }
  return episodes;
}

SplitPart parse_split_part(const std::string& text) {
  const size_t equals = text.find('=');
  SplitPart part;
  part.name = text.substr(0, equals);
  const bool is_name = !part.name.empty() && part.name.find('/') == std::string::npos && part.name[0] != '.';
  if (equals == std::string::npos || !is_name) {
    refuse_text(text, "NAME=SHARE or NAME=EPISODES, such as train=0.8 or val=0-9,12");
  }
  const std::string value = text.substr(equals + 1);
  if (value.find('.') == std::string::npos) {
    part.episodes = parse_episodes(value);
    return part;
  }
  double share = 0;
  const char* end = value.data() + value.size();
  const auto result = std::from_chars(value.data(), end, share);
  if (result.ec != std::errc() || result.ptr != end || !(share > 0 && share <= 1)) {
    refuse_text(text, "a share above 0 and up to 1, such as train=0.8");
  }
  part.share = share;
  return part;
}

void check_split_parts(const std::vector<SplitPart>& parts) {
  std::set<std::string> names;
  std::set<int64_t> taken;
  double sum = 0;
  for (const SplitPart& part : parts) {
    if (!names.insert(part.name).second) {
      throw Error(ErrorKind::kConfig, str_cat("two parts are called ", part.name), {}, "give each part its own name");
    }
    if (part.share.has_value() != parts[0].share.has_value()) {
      refuse_parts(
          str_cat("part ", part.name, " and part ", parts[0].name, ": give shares to all parts, or episodes to all"));
    }
    for (const int64_t episode : part.episodes) {
      if (!taken.insert(episode).second) {
        refuse_parts(str_cat("episode ", episode, " stands in two parts, or twice in ", part.name));
      }
    }
    sum += part.share.value_or(0);
  }
  if (sum > 1 + kShareRounding) {
    refuse_parts(str_cat("the shares sum to more than 1 (", sum, ")"));
  }
}

std::vector<std::vector<int64_t>> split_episodes(const std::vector<SplitPart>& parts, int64_t total,
                                                 const std::string& where) {
  std::vector<std::vector<int64_t>> result;
  double sum = 0;
  int64_t next = 0;
  for (const SplitPart& part : parts) {
    auto& episodes = result.emplace_back(part.episodes);
    if (part.share) {
      sum += *part.share;
      auto count = static_cast<int64_t>(std::floor(static_cast<double>(total) * *part.share + kShareRounding));
      if (&part == &parts.back() && std::abs(sum - 1) < kShareRounding) {
        count = total - next;
      }
      for (int64_t k = 0; k < count; ++k) {
        episodes.push_back(next++);
      }
    }
    if (episodes.empty()) {
      throw Error(ErrorKind::kConfig, str_cat("part ", part.name, " would have no episode; the dataset has ", total),
                  where, "give it a larger share, or name episodes");
    }
    for (const int64_t episode : episodes) {
      if (episode >= total) {
        throw Error(ErrorKind::kConfig,
                    str_cat("no episode ", episode, " for part ", part.name, "; the dataset has ", total, " (0 to ",
                            total - 1, ")"),
                    where, "parts name episode_index values");
      }
    }
  }
  return result;
}

}  // namespace flexor::curate
