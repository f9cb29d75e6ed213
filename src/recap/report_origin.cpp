#include <algorithm>
#include <utility>

#include "base/str_cat.h"
#include "base/text.h"
#include "recap/report_sections.h"

namespace flexor::recap {
namespace {

std::string number(const Json& made_by, const char* key, const std::string& before) {
  const Json* found = made_by.find(key);
  return found != nullptr && found->is_number() ? str_cat(before, short_number(found->as_double())) : "";
}

std::string text_at(const Json& made_by, const char* key) {
  const Json* found = made_by.find(key);
  return found != nullptr && found->is_string() ? found->as_string() : "";
}

/// "over all frames", ...
std::string threshold_rule(const Json& made_by) {
  const std::string from = text_at(made_by, "threshold_from");
  if (from == "given") {
    return "a threshold that was given";
  }
  const std::string quantile = number(made_by, "positive_quantile", "positive quantile ");
  if (quantile.empty()) {
    return "";
  }
  return quantile + (from == "rollout" ? " of the attempts' frames"
                     : from == "task"  ? " of each task"
                                       : " of all frames");
}

std::string ensemble_rule(const Json& made_by) {
  std::string text = text_at(made_by, "label_mode");
  text = text.empty() ? "" : "label mode " + text;
  text += number(made_by, "rollout_quantile", ", rollout quantile ");
  text += number(made_by, "expert_quantile", ", expert quantile ");
  return text + number(made_by, "ensemble_size", ", members: ");
}

/// How the labels of a dataset came to be; "" if they do not say.
std::string origin(const JudgedDataset& dataset) {
  if (dataset.is_steam()) {
    return ensemble_rule(dataset.made_by);
  }
  const Json& made_by = dataset.made_by;
  std::vector<std::string> parts = {
      number(made_by, "lookahead", "look-ahead N = "), number(made_by, "gamma", "gamma = "),
      number(made_by, "return_min", "returns from ") + number(made_by, "return_max", " to "), threshold_rule(made_by)};
  if (const Json* judge = made_by.find("judge"); judge != nullptr) {
    const std::string checkpoint = text_at(*judge, "checkpoint");
    parts.push_back(checkpoint.empty() ? "" : "value model " + checkpoint);
  }
  std::erase(parts, "");
  return join_text(parts, ", ");
}

}  // namespace

void add_origins(report::HtmlPage& page, const JudgedRun& run) {
  std::vector<std::pair<std::string, std::string>> origins;  // text, datasets
  for (const JudgedDataset& dataset : run.datasets) {
    const std::string text = dataset.scores.empty() ? "" : origin(dataset);
    const auto known =
        std::find_if(origins.begin(), origins.end(), [&](const auto& entry) { return entry.first == text; });
    if (text.empty()) {
      continue;
    }
    if (known == origins.end()) {
      origins.emplace_back(text, dataset.name);
    } else {
      known->second += ", " + dataset.name;
    }
  }
  for (const auto& [text, datasets] : origins) {
    page.paragraph(to_utf8(origins.size() == 1 ? str_cat("Labels: ", text, ".")
                                               : str_cat("Labels of ", datasets, ": ", text, ".")));
  }
}

}  // namespace flexor::recap
