#include "result.h"

#include <array>
#include <cstdio>

#include "base/error.h"
#include "base/str_cat.h"
#include "interval.h"

namespace flexor::place_block {
namespace {

std::string percent(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", 100 * share);
  return text.data();
}

std::string range(const Interval& interval) {
  return str_cat(percent(interval.low), " to ", percent(interval.high));
}

Interval interval_of(const Json& result) {
  return wilson(result.at("successes").as_int(), result.at("episodes").as_int());
}

std::string row(const Json& result, const Json* baseline) {
  const Interval rate = interval_of(result);
  std::string compared = "–";
  if (baseline != nullptr) {
    const Interval gain = difference(rate, interval_of(*baseline));
    compared = str_cat(gain.share < 0 ? "" : "+", percent(gain.share), " (", range(gain), ")");
  }
  const Json& frames = result.at("mean_frames_success");
  std::string text = str_cat("| ", result.at("name").as_string(), " | ", percent(rate.share), " | ", range(rate), " | ",
                             compared, " | ", frames.is_null() ? "–" : str_cat(frames.as_double()), " |");
  for (const Outcome outcome : kOutcomes) {
    if (outcome != Outcome::kPlaced) {
      text += str_cat(' ', result.at("outcomes").at(outcome_name(outcome)).as_int(), " |");
    }
  }
  return text + "\n";
}

}  // namespace

Json result_json(const std::string& name, const Json& settings, const std::vector<Verdict>& verdicts) {
  int64_t frames = 0, frames_success = 0, successes = 0;
  Json outcomes = Json::object();
  for (const Outcome outcome : kOutcomes) {
    outcomes[outcome_name(outcome)] = 0;
  }
  for (const Verdict& verdict : verdicts) {
    Json& count = outcomes[outcome_name(verdict.outcome)];
    count = count.as_int() + 1;
    frames += verdict.frames;
    if (verdict.outcome == Outcome::kPlaced) {
      ++successes;
      frames_success += verdict.frames;
    }
  }
  const auto mean = [](int64_t sum, int64_t count) {  // to a tenth of a frame
    return count == 0 ? Json() : Json(static_cast<double>((10 * sum + count / 2) / count) / 10);
  };
  const auto episodes = static_cast<int64_t>(verdicts.size());
  const Interval rate = wilson(successes, episodes);
  return Json::object({{"name", name},
                       {"settings", settings},
                       {"episodes", episodes},
                       {"successes", successes},
                       {"rate", rate.share},
                       {"low", rate.low},
                       {"high", rate.high},
                       {"outcomes", outcomes},
                       {"mean_frames", mean(frames, episodes)},
                       {"mean_frames_success", mean(frames_success, successes)}});
}

std::string markdown_table(const std::vector<Json>& results) {
  std::string text =
      "| policy | success % | 95 % interval | gain in points (95 %) | frames to success | wrong tray | dropped | out "
      "of time |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Json& result : results) {
    for (const char* key : {"episodes", "seed"}) {
      const Json& wanted = results.front().at("settings").at(key);
      if (const Json& found = result.at("settings").at(key); found != wanted) {
        throw Error(
            ErrorKind::kData,
            str_cat(key, " is ", found.dump(), ", of the first result ", wanted.dump(), ": these are other worlds"),
            result.at("name").as_string(), "judge all policies with the same --episodes and --seed");
      }
    }
    text += row(result, &result == results.data() ? nullptr : results.data());
  }
  return text;
}

}  // namespace flexor::place_block
