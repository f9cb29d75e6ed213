#pragma once
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace flexor::cli {

/// One thing that `flexor doctor` looked at.
struct DoctorItem {
  enum class State { kOk, kWarning, kProblem };

  std::string name, value;
  State state = State::kOk;
  std::string advice = {};
};

struct DoctorSection {
  std::string name;
  std::vector<DoctorItem> items;
};

/// The item of something that did not work.
DoctorItem problem_item(const std::string& name, const Error& error);

/// Sections with aligned items; what needs attention is marked and has its advice below it.
std::string doctor_text(const std::vector<DoctorSection>& sections);

/// {"ok": bool, "sections": {NAME: {ITEM: {"value", "state": ok|warning|problem, "advice"}}}}
Json doctor_json(const std::vector<DoctorSection>& sections);

int64_t count_problems(const std::vector<DoctorSection>& sections);

}  // namespace flexor::cli
