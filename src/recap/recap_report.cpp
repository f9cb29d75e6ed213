#include "recap/recap_report.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "recap/judged_frames.h"
#include "recap/report_assets.h"
#include "recap/report_curves.h"
#include "recap/report_episodes.h"
#include "recap/report_numbers.h"
#include "recap/report_sections.h"
#include "recap/report_tables.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

std::string shown_name(const std::string& folder) {
  const fs::path path = fs::absolute(folder).lexically_normal();
  return to_utf8(path.has_filename() ? path.filename().string() : path.parent_path().filename().string());
}

void add_links(report::HtmlPage& page) {
  page.markup(
      "<nav><a href=\"#data\">Data</a><a href=\"#values\">Returns and values</a><a href=\"#advantages\">Labels</a>"
      "<a href=\"#episodes-over-time\">Episodes</a><a href=\"#value-training\">Value training</a><a "
      "href=\"#policy-training\">"
      "Policy training</a><a href=\"#files\">Files</a></nav>\n");
}

void add_episodes(report::HtmlPage& page, const JudgedRun& run, const ReportNumbers& numbers,
                  const std::vector<std::string>& names) {
  add_heading(page, "episodes-over-time", "Episodes over time");
  std::vector<ChosenEpisode> chosen = named_episodes(run, numbers, names);
  for (ChosenEpisode& episode : choose_episodes(run, numbers)) {
    const bool is_named =
        std::any_of(chosen.begin(), chosen.end(), [&](const ChosenEpisode& other) { return other.row == episode.row; });
    if (!is_named) {
      chosen.push_back(std::move(episode));
    }
  }
  if (chosen.empty()) {
    add_missing(page, "No labels yet: `flexor recap advantages --config FILE` makes them.");
  } else {
    add_episode_views(page, run, numbers, chosen);
  }
}

void add_trainings(report::HtmlPage& page, const ReportCurves& curves) {
  add_heading(page, "value-training", "Training of the value model");
  if (curves.value.curves.empty()) {
    add_missing(page, "The value model has not been trained in this run: `flexor recap value --config FILE` does it.");
  } else {
    add_value_training(page, curves.value);
  }
  add_heading(page, "policy-training", "Training of the policy");
  if (curves.policy.curves.empty()) {
    add_missing(page, "The policy has not been trained in this run: `flexor recap policy --config FILE` does it.");
  } else {
    add_policy_training(page, curves.policy);
  }
}

void add_files(report::HtmlPage& page, const ReportCurves& curves, const std::vector<ReportTable>& tables) {
  add_heading(page, "files", "Files");
  std::vector<std::vector<std::string>> rows;
  for (const ReportCheckpoint& checkpoint : curves.checkpoints) {
    const char* note = checkpoint.is_best && checkpoint.is_last ? "best and last"
                       : checkpoint.is_best                     ? "best"
                       : checkpoint.is_last                     ? "last"
                                                                : "";
    rows.push_back({checkpoint.path, str_cat("checkpoint", *note == '\0' ? "" : ", ", note)});
  }
  for (const ReportTable& table : tables) {
    rows.push_back({table.file, table.holds});
  }
  page.table({"file", "holds"}, rows);
}

/// From the copies that steps 2 and 4 leave in their folders.
RecapConfig config_of_steps(const std::string& folder, const fs::path& path) {
  const std::string value = (path / "value" / "config.yaml").string();
  const std::string policy = (path / "policy" / "config.yaml").string();
  const auto load = [&folder](const std::string& file, Step step) {
    return load_recap_config({.files = {file}, .overrides = {"output_dir=" + folder}}, step);
  };
  RecapConfig config;
  if (fs::exists(policy)) {
    config = load(policy, Step::kPolicy);
    config.advantages.data = config.policy.data;
    config.advantages.advantage.tag = config.policy.data.advantage_tag;
    config.advantages.advantage.returns_tag = config.policy.data.tag;
  }
  if (fs::exists(value)) {
    const std::string tag = config.advantages.advantage.tag;
    config.value = load(value, Step::kValue).value;
    config.advantages.data = config.value.data;
    config.advantages.advantage.tag = tag.empty() ? config.value.data.tag : tag;
    config.advantages.advantage.returns_tag = config.value.data.tag;
  }
  return config;
}

}  // namespace

std::string write_recap_report(const RecapConfig& config, const RecapReportOptions& options) {
  const fs::path page_path =
      options.output.empty() ? fs::path(config.output_dir) / "report.html" : fs::path(options.output);
  check_output_file(page_path.string(), kHtmlPage);
  const JudgedRun run = read_judged(config);
  const ReportNumbers numbers = report_numbers(run);
  const ReportCurves curves = read_report_curves(config.output_dir);
  const std::vector<ReportTable> tables = report_tables(run, numbers, curves);

  report::HtmlPage page(str_cat("RECAP run ", shown_name(config.output_dir)));
  page.add_style(kReportStyle);
  const std::string& tag = config.advantages.advantage.tag;
  page.paragraph(str_cat(to_utf8(config.output_dir), tag.empty() ? "" : ", tag ", to_utf8(tag)));
  add_links(page);
  add_summary(page, run, numbers, curves);
  add_data(page, run, numbers);
  add_values(page, run, numbers);
  add_advantages(page, run, numbers);
  add_episodes(page, run, numbers, options.episodes);
  add_trainings(page, curves);
  add_files(page, curves, tables);
  for (const ReportTable& table : tables) {
    write_file_atomic((page_path.parent_path() / table.file).string(), table.csv);
  }
  write_file_atomic(page_path.string(), page.str());
  log_info("report written", {{"file", page_path.string()}});
  return page_path.string();
}

bool is_recap_run(const std::string& folder) {
  const fs::path path(folder);
  if (fs::exists(path / "metrics.jsonl")) {  // of one training
    return false;
  }
  return fs::exists(path / "recap_run.json") || fs::exists(path / "value" / "config.yaml") ||
         fs::exists(path / "policy" / "config.yaml");
}

RecapConfig config_of_run(const std::string& folder, const std::string& tag) {
  const fs::path path(folder);
  const std::string whole = (path / "config.yaml").string();
  RecapConfig config = fs::exists(whole) ? load_recap_config({.files = {whole}, .overrides = {}}, Step::kAdvantages)
                                         : config_of_steps(folder, path);
  config.output_dir = folder;
  if (!tag.empty()) {
    config.advantages.advantage.tag = tag;
  }
  return config;
}

}  // namespace flexor::recap
