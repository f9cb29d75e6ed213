#include "base/str_cat.h"
#include "base/text.h"
#include "dist/group_c10d.h"
#include "tensor/tensor.h"

namespace flexor::dist {
namespace {

/// "rank 3", "ranks 1 and 2", "ranks 1, 2 and 5".
std::string name_ranks(const std::vector<int64_t>& ranks) {
  constexpr size_t kMostNamed = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size() && i < kMostNamed; ++i) {
    text += str_cat(i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ", ranks[i]);
  }
  return ranks.size() > kMostNamed ? str_cat(text, " and others, ", ranks.size(), " together") : text;
}

bool is_timeout(const std::string& text) {
  return text.find("imed out") != std::string::npos || text.find("imeout") != std::string::npos;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string explain(const Liveness::Verdict& verdict, const std::string& text, bool is_start, double timeout_s) {
  if (!verdict.known.empty()) {
    return verdict.known;
  }
  if (!verdict.gone.empty()) {
    return str_cat(name_ranks(verdict.gone), verdict.gone.size() == 1 ? " is gone" : " are gone");
  }
  const bool lost = text.find("recv") != std::string::npos || text.find("onnection") != std::string::npos;
  if (verdict.store_lost || (is_start && lost)) {
    return "rank 0 or the launcher is gone, with the store that could tell more";
  }
  if (is_timeout(text)) {
    return str_cat("no answer within ", timeout_s, " s, although all ranks live");
  }
  return first_line(text);
}

}  // namespace

void GroupFate::set_label(const std::string& label, const std::string& way_on) {
  const std::lock_guard lock(mutex_);
  label_ = label;
  way_on_ = way_on;
}

std::string GroupFate::label() const {
  const std::lock_guard lock(mutex_);
  return label_;
}

void GroupFate::report_failure(const std::string& reason) noexcept {
  if (!dead_.exchange(true) && liveness) {
    liveness->report(reason, /*is_own=*/true);
  }
}

void GroupFate::check() const {
  const std::lock_guard lock(mutex_);
  if (failure_) {
    throw *failure_;
  }
  if (dead_) {
    throw Error(ErrorKind::kRuntime, "this rank has given up already", label_);
  }
}

void GroupFate::fail(const std::string& text, const std::string& where, double timeout_s) {
  check();
  dead_ = true;
  const Liveness::Verdict verdict = liveness ? liveness->ask() : Liveness::Verdict{};
  const bool slow = is_timeout(text) && verdict.gone.empty() && verdict.known.empty() && !verdict.store_lost;
  const std::string what = explain(verdict, text, liveness == nullptr, timeout_s);
  const Error error = [&] {
    const std::lock_guard lock(mutex_);
    failure_ = Error(ErrorKind::kRuntime, what, where, slow ? "a larger dist.timeout_s waits longer" : way_on_);
    return *failure_;
  }();
  if (liveness && !verdict.gone.empty()) {
    liveness->report(error.what(), /*is_own=*/false);
  } else if (liveness) {
    liveness->linger();
  }
  throw error;
}

std::string Group::State::where(const std::string& collective) const {
  const std::string label = fate->label();
  return str_cat("rank ", launch.rank, ", ", collective, name == "world" ? "" : " in " + name,
                 label.empty() ? "" : ", " + label);
}

}  // namespace flexor::dist
