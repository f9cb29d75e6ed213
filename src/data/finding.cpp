#include "data/finding.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str_cat.h"

namespace flexor::data {

std::string Finding::where(const std::string& root) const {
  std::string text = file.empty() ? root : std::string();
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (!file.empty()) {
    add(root.empty() ? file : str_cat(root, "/", file));
  }
  if (episode) {
    add(str_cat("episode ", *episode));
  }
  if (frame) {
    add(str_cat("frame ", *frame));
  }
  if (!feature.empty()) {
    add("feature " + feature);
  }
  return text;
}

Json to_json(const Finding& finding) {
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  const auto number = [](const std::optional<int64_t>& value) { return value ? Json(*value) : Json(); };
  return Json::object({{"code", finding.code},
                       {"severity", finding.severity == Severity::kError ? "error" : "warning"},
                       {"file", text(finding.file)},
                       {"episode", number(finding.episode)},
                       {"frame", number(finding.frame)},
                       {"feature", text(finding.feature)},
                       {"expected", text(finding.expected)},
                       {"found", text(finding.found)},
                       {"message", finding.message},
                       {"hint", text(finding.hint)}});
}

bool has_errors(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::kError; });
}

std::string describe(const Finding& finding) {
  std::string text = finding.message;
  if (!finding.expected.empty() || !finding.found.empty()) {
    text += str_cat(": expected ", finding.expected.empty() ? "nothing" : finding.expected, ", found ",
                    finding.found.empty() ? "nothing" : finding.found);
  }
  return text;
}

namespace {

/// Takes ":3" or ":3:17" off the end of a path: "line 3", "line 3, column 17"; empty if there is none.
std::string take_line_number(std::string& path) {
  std::vector<std::string> numbers;
  while (true) {
    const size_t colon = path.rfind(':');
    if (colon == std::string::npos || colon + 1 == path.size() ||
        path.find_first_not_of("0123456789", colon + 1) != std::string::npos) {
      break;
    }
    numbers.push_back(path.substr(colon + 1));
    path.resize(colon);
  }
  return numbers.empty()       ? ""
         : numbers.size() == 1 ? "line " + numbers[0]
                               : str_cat("line ", numbers.back(), ", column ", numbers.front());
}

}  // namespace

Finding finding_of(const Error& error, const std::string& code, const std::string& root) {
  Finding finding{.code = code, .message = error.what(), .hint = error.hint()};
  std::string file = error.where(), detail;
  if (const size_t comma = file.find(", ", file.starts_with(root) ? root.size() : 0); comma != std::string::npos) {
    detail = file.substr(comma + 2);
    file.resize(comma);
  }
  if (const std::string line = take_line_number(file); !line.empty()) {
    detail = line;
  }
  if (!file.empty() && is_lfs_pointer(file)) {
    finding.code = "lfs_pointer";
  }
  const bool is_inside = file.size() > root.size() + 1 && file.starts_with(root + "/");
  finding.file = is_inside ? file.substr(root.size() + 1) : file == root ? std::string() : file;
  if (!detail.empty()) {
    finding.message = str_cat(detail, ": ", finding.message);
  }
  return finding;
}

bool attempt(const std::string& code, const std::string& root, std::vector<Finding>* broken,
             const std::function<void()>& body) {
  if (broken == nullptr) {
    body();
    return true;
  }
  try {
    body();
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted || error.kind() == ErrorKind::kTerminated) {
      throw;
    }
    broken->push_back(finding_of(error, code, root));
  }
  return false;
}

void report_findings(const std::vector<Finding>& findings, const std::string& root) {
  constexpr size_t kShown = 8;
  std::vector<const Finding*> errors;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::kError) {
      errors.push_back(&finding);
    } else {
      const std::string where = finding.where(root);
      log_warn("dataset: " + describe(finding),
               where.empty() ? std::vector<LogField>{} : std::vector<LogField>{{"where", where}});
    }
  }
  if (errors.empty()) {
    return;
  }
  std::string what = describe(*errors[0]);
  if (errors.size() > 1) {
    what = str_cat("the dataset has ", errors.size(), " errors:");
    for (size_t i = 0; i < std::min(errors.size(), kShown); ++i) {
      what += str_cat("\n  ", describe(*errors[i]), " (", errors[i]->where(root), ")");
    }
    if (errors.size() > kShown) {
      what += str_cat("\n  and ", errors.size() - kShown, " more");
    }
  }
  throw Error(ErrorKind::kData, what, errors[0]->where(root), errors[0]->hint);
}

}  // namespace flexor::data
