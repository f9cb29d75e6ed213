#include "recap/problems.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/str_cat.h"

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
  if (errors_.empty()) {
    return;
  }
  std::string text = str_cat(errors_.size(), " problems were found before the run");
  for (size_t i = 0; i < errors_.size(); ++i) {
    const Error& error = errors_[i];
    text += str_cat("\n  ", i + 1, ". ", error.what());
    text += error.where().empty() ? "" : str_cat(" (", error.where(), ")");
    text += error.hint().empty() ? "" : str_cat("\n     hint: ", error.hint());
  }
  throw Error(errors_.front().kind(), text);
}

}  // namespace flexor::recap
