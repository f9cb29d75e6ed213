#include "recap/problems.h"

#include <algorithm>
#include <string_view>

#include "config/finding.h"

namespace flexor::recap {

void Problems::attempt(const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted || error.kind() == ErrorKind::kTerminated) {
      throw;
    }
    const bool is_known = std::any_of(errors_.begin(), errors_.end(), [&error](const Error& known) {
      return known.where() == error.where() && std::string_view(known.what()) == error.what();
    });
    if (!is_known) {
      errors_.push_back(error);
    }
  }
}

void Problems::raise() const {
  if (errors_.size() == 1) {
    throw Error(errors_.front());
  }
  std::vector<config::Finding> findings;
  for (const Error& error : errors_) {
    findings.push_back({.key = {}, .what = error.what(), .where = error.where(), .hint = error.hint()});
  }
  if (!findings.empty()) {
    throw config::to_error(findings, errors_.front().kind());
  }
}

}  // namespace flexor::recap
