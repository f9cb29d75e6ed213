#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/str_cat.h"
#include "base/text.h"
#include "dist/choose_device.h"
#include "recap/recap_config.h"
#include "recap/sidecar.h"

namespace flexor::recap {
namespace {

using config::Finding;

constexpr std::string_view kTypes[] = {"sft", "rollout", "eval"};

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

/// Collects what is wrong with one step's section.
class Rules {
 public:
  explicit Rules(Step step) : prefix_(str_cat(step_name(step), ".")) {}

  void require(bool holds, const std::string& key, const std::string& what, const std::string& hint = {}) {
    if (!holds) {
      findings.push_back({prefix_ + key, str_cat("'", key, "': ", what), "", hint});
    }
  }

  void type(const std::string& text, const std::string& key) {
    const std::string found = lower(text);
    const bool is_known = std::find(std::begin(kTypes), std::end(kTypes), found) != std::end(kTypes);
    const std::string near = nearest(found, {std::begin(kTypes), std::end(kTypes)});
    require(is_known, key, str_cat("unknown dataset type '", text, "', expected one of sft, rollout, eval"),
            near.empty() ? "sft: demonstrations; rollout: attempts with an outcome"
                         : str_cat("did you mean '", near, "'?"));
  }

  void tag(const std::string& text, const std::string& key) {
    const std::string problem = tag_problem(text);
    require(problem.empty(), key, problem);
  }

  void entries(const std::vector<DatasetEntry>& entries, const std::string& list, const std::string& default_type) {
    for (size_t i = 0; i < entries.size(); ++i) {
      const std::string key = str_cat("data.", list, "[", i, "]");
      type(entries[i].type.empty() ? default_type : entries[i].type, key + ".type");
      const std::string& from = entries[i].success_from;
      require(from.empty() || from == "column" || from == "episodes" || from == "list", key + ".success_from",
              str_cat("expected column, episodes or list, found '", from, "'"));
      require(from != "list" || entries[i].success_episodes, key + ".success_episodes",
              "success_from is list, but no list is given");
      require(!entries[i].success_episodes || !is_sft(entries[i].type.empty() ? default_type : entries[i].type),
              key + ".success_episodes", "every episode of type sft is a success, but a list is given",
              "type: rollout");
      require(entries[i].episode_percentage > 0, key + ".episode_percentage", "expected more than 0, found 0");
    }
  }

  void steps(const RunnerSection& runner, const std::string& lists, bool has_validation) {
    require(
        runner.val_check_interval <= 0 || has_validation, str_cat("data.", lists),
        str_cat("runner.val_check_interval is ", runner.val_check_interval, ", but no dataset to validate on is given"),
        "give the datasets, or runner.val_check_interval=-1");
  }

  void batches(int64_t micro, int64_t global) {
    require(global % micro == 0, "actor.global_batch_size",
            str_cat("expected a multiple of actor.micro_batch_size = ", micro, ", found ", global));
  }

  std::vector<Finding> findings;

 private:
  std::string prefix_;
};

void check_data(const DataSection& data, bool single_form, Rules& rules) {
  const bool has_list = !data.train_data_paths.empty();
  const bool has_single = single_form && !data.dataset_path.empty();
  rules.require(has_list || has_single, "data.train_data_paths", "expected datasets, found none",
                "data: {train_data_paths: [{dataset_path: DIR, type: sft}]}");
  rules.type(data.dataset_type, "data.dataset_type");
  rules.entries(data.train_data_paths, "train_data_paths", data.dataset_type);
  rules.tag(data.tag, "data.tag");
  rules.require(!data.return_min || !data.return_max || *data.return_min <= *data.return_max, "data.return_max",
                str_cat("expected at least data.return_min = ", data.return_min.value_or(0), ", found ",
                        data.return_max.value_or(0)));
}

void check_returns(const RecapConfig& c, Rules& rules) {
  const DataSection& data = c.returns.data;
  check_data(data, /*single_form=*/true, rules);
  const auto lacks = [](const DatasetEntry& entry) { return !entry.failure_reward; };
  const bool all_given =
      !data.train_data_paths.empty() && std::none_of(data.train_data_paths.begin(), data.train_data_paths.end(), lacks);
  rules.require(data.failure_reward || all_given, "data.failure_reward", "expected a number, found null",
                "the last step of a failed episode gets it, -300 in the reference");
}

void check_model(const ValueModelSection& model, const std::string& key, Rules& rules) {
  rules.require(model.v_min < model.v_max, key + ".v_max",
                str_cat("expected more than v_min = ", model.v_min, ", found ", model.v_max));
}

void check_value(const RecapConfig& c, Rules& rules) {
  check_data(c.value.data, /*single_form=*/false, rules);
  rules.entries(c.value.data.eval_data_paths, "eval_data_paths", c.value.data.dataset_type);
  rules.steps(c.value.runner, "eval_data_paths", !c.value.data.eval_data_paths.empty());
  rules.batches(c.value.actor.micro_batch_size, c.value.actor.global_batch_size);
  const ValueModelSection& model = c.value.actor.model;
  check_model(model, "actor.model", rules);
  const bool is_unit = c.value.data.normalize_to_minus_one_zero;
  rules.require(is_unit ? model.v_min <= -1 && model.v_max >= 0 : model.v_min <= 0 && model.v_max >= 1,
                "data.normalize_to_minus_one_zero",
                str_cat("targets are in ", is_unit ? "[-1, 0]" : "[0, 1]", ", but the bins cover [", model.v_min, ", ",
                        model.v_max, "]"),
                "targets outside of the bins would all become the same one: change actor.model.v_min and v_max");
  rules.require(!c.output_dir.empty(), "output_dir", "expected a folder for the run, found none", "output_dir=DIR");
}

void check_advantages(const RecapConfig& c, Rules& rules) {
  const AdvantageSection& a = c.advantages.advantage;
  check_data(c.advantages.data, /*single_form=*/false, rules);
  rules.tag(a.tag, "advantage.tag");
  rules.tag(a.returns_tag, "advantage.returns_tag");
  rules.require(a.positive_quantile > 0 && a.positive_quantile < 1, "advantage.positive_quantile",
                str_cat("expected a number between 0 and 1, found ", a.positive_quantile));
  rules.require(a.label_mode != "threshold" || a.positive_threshold, "advantage.positive_threshold",
                "label_mode is threshold, but none is given");
  check_model(a.model, "advantage.model", rules);
}

void check_policy(const RecapConfig& c, Rules& rules) {
  check_data(c.policy.data, /*single_form=*/false, rules);
  rules.entries(c.policy.data.val_data_paths, "val_data_paths", c.policy.data.dataset_type);
  rules.steps(c.policy.runner, "val_data_paths", !c.policy.data.val_data_paths.empty());
  rules.batches(c.policy.actor.micro_batch_size, c.policy.actor.global_batch_size);
  rules.tag(c.policy.data.advantage_tag, "data.advantage_tag");
  const PolicyModelSection& model = c.policy.actor.model;
  rules.require(model.image_resolution[0] == model.image_resolution[1], "actor.model.image_resolution",
                str_cat("expected a square, found ", model.image_resolution[0], " x ", model.image_resolution[1]));
  const OpenpiSection& openpi = model.openpi;
  rules.require(std::isfinite(openpi.cfgrl_guidance_scale), "actor.model.openpi.cfgrl_guidance_scale",
                "expected a number, found one that is not finite");
  rules.require(c.policy.actor.optim.lr > 0, "actor.optim.lr", "expected more than 0, found 0");
  rules.require(openpi.guidance_type != "negative" || !openpi.positive_only_conditional,
                "actor.model.openpi.guidance_type", "negative samples are never trained with their label",
                "positive_only_conditional=false, or guidance_type=positive");
  rules.require(!c.output_dir.empty(), "output_dir", "expected a folder for the run, found none", "output_dir=DIR");
}

}  // namespace

bool is_sft(std::string_view type) {
  return lower(type) == "sft";
}

std::vector<Finding> check(const RecapConfig& config, Step step) {
  Rules rules(step);
  if (auto finding = dist::device_finding(config.device)) {
    rules.findings.push_back(*std::move(finding));
  }
  switch (step) {
    case Step::kReturns:
      check_returns(config, rules);
      break;
    case Step::kValue:
      check_value(config, rules);
      break;
    case Step::kAdvantages:
      check_advantages(config, rules);
      break;
    case Step::kPolicy:
      check_policy(config, rules);
      break;
  }
  return std::move(rules.findings);
}

}  // namespace flexor::recap
