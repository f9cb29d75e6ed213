#include "config/finding.h"

#include "base/str_cat.h"

namespace flexor::config {

namespace {

constexpr const char* kManual = "`flexor help config` lists the keys and their values";

}  // namespace

Error to_error(const std::vector<Finding>& findings, ErrorKind kind) {
  if (findings.size() == 1) {
    return Error(kind, findings[0].what, findings[0].where, findings[0].hint.empty() ? kManual : findings[0].hint);
  }
  std::string text = str_cat(findings.size(), " problems in the configuration");
  for (size_t i = 0; i < findings.size(); ++i) {
    const Finding& finding = findings[i];
    text += str_cat("\n  ", i + 1, ". ", finding.what);
    if (!finding.where.empty()) {
      text += " (" + finding.where + ")";
    }
    if (!finding.hint.empty()) {
      text += "\n     hint: " + finding.hint;
    }
  }
  return Error(kind, text, {}, kManual);
}

}  // namespace flexor::config
