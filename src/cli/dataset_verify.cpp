#include <algorithm>
#include <ostream>

#include "base/error.h"
#include "base/str_cat.h"
#include "cli/commands.h"
#include "cli/print_json.h"
#include "config/command_line.h"
#include "curate/verify.h"

namespace flexor::cli {
namespace {

struct DatasetVerifyOptions {
  std::string root;
  bool decode = false;
  bool json = false;
};

void fields(config::FieldTable& table, DatasetVerifyOptions& o) {
  table.positional("dir", o.root, "dataset folder, the one that holds meta/info.json");
  table("decode", o.decode, "decode every picture; without it videos are compared by their containers");
  table("json", o.json, "print one JSON object instead of text");
}

std::string counted(int64_t count, const std::string& noun) {
  return str_cat(count, " ", noun, count == 1 ? "" : "s");
}

int64_t count_of(const curate::VerifyReport& report, data::Severity severity) {
  return std::count_if(report.findings.begin(), report.findings.end(),
                       [severity](const data::Finding& finding) { return finding.severity == severity; });
}

std::string verdict(const curate::VerifyReport& report) {
  return str_cat(counted(count_of(report, data::Severity::kError), "error"), ", ",
                 counted(count_of(report, data::Severity::kWarning), "warning"));
}

void print(std::ostream& out, const curate::VerifyReport& report) {
  for (const data::Finding& finding : report.findings) {
    const std::string where = finding.where();
    out << (finding.severity == data::Severity::kError ? "error    " : "warning  ") << finding.code << ": "
        << data::describe(finding) << (where.empty() ? "" : " (" + where + ")") << '\n';
    if (!finding.hint.empty()) {
      out << "         hint: " << finding.hint << '\n';
    }
  }
  out << counted(report.episodes, "episode") << ", " << counted(report.frames, "frame") << ", "
      << counted(report.data_files, "data file") << ", " << counted(report.videos, "video") << ": " << verdict(report)
      << '\n';
}

Json verify_json(const curate::VerifyReport& report) {
  Json findings = Json::array();
  for (const data::Finding& finding : report.findings) {
    findings.push_back(data::to_json(finding));
  }
  return Json::object({{"ok", report.ok()},
                       {"dataset", report.root},
                       {"version", report.version.empty() ? Json() : Json(report.version)},
                       {"findings", findings}});
}

int run_dataset_verify(const Args& args, const Io& io) {
  auto options = config::parse<DatasetVerifyOptions>(args);
  while (options.root.size() > 1 && options.root.ends_with('/')) {
    options.root.pop_back();
  }
  const curate::VerifyReport report = curate::verify_dataset({.root = options.root, .decode = options.decode});
  if (options.json) {
    print_json(io.out, verify_json(report));
  } else {
    print(io.out, report);
  }
  if (!report.ok()) {
    throw Error(ErrorKind::kData, verdict(report) + "; training refuses the dataset", report.root);
  }
  return 0;
}

}  // namespace

const Command kDatasetVerify{
    .path = "dataset verify",
    .summary = "Check everything that a training run relies on and list all that is odd or wrong.",
    .notes =
        "Metadata against files, rows, timestamps, values, tasks, videos and statistics of LeRobot v2.0, v2.1 and "
        "v3.0. What "
        "it calls an error, training refuses: exit code 1. With warnings only the exit code is 0. Nothing is written. "
        "docs/verify.md lists the codes of the findings.\n",
    .usage = &config::usage<DatasetVerifyOptions>,
    .run = &run_dataset_verify};

}  // namespace flexor::cli
