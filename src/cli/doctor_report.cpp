#include "cli/doctor_report.h"

#include <algorithm>

#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::cli {
namespace {

using State = DoctorItem::State;

std::string_view state_name(State state) {
  return state == State::kOk ? "ok" : state == State::kWarning ? "warning" : "problem";
}

/// Lines behind the first stand below it.
std::string indented(const std::string& text, size_t width) {
  return join_text(split_text(text, '\n'), "\n" + std::string(width, ' '));
}

}  // namespace

DoctorItem problem_item(const std::string& name, const Error& error) {
  const std::string where = error.where().empty() ? std::string() : str_cat(" (", error.where(), ")");
  return {.name = name, .value = error.what() + where, .state = State::kProblem, .advice = error.hint()};
}

std::string doctor_text(const std::vector<DoctorSection>& sections) {
  std::string text;
  for (const DoctorSection& section : sections) {
    size_t width = 0;
    for (const DoctorItem& item : section.items) {
      width = std::max(width, item.name.size());
    }
    constexpr size_t kMargin = 2, kMark = 9;
    text += str_cat(text.empty() ? "" : "\n", section.name, "\n");
    for (const DoctorItem& item : section.items) {
      const size_t column = kMargin + width + 2;
      const std::string mark = item.state == State::kOk ? std::string() : str_cat(state_name(item.state), ": ");
      text += str_cat(std::string(kMargin, ' '), item.name, std::string(width + 2 - item.name.size(), ' '), mark,
                      indented(item.value, column + (mark.empty() ? 0 : kMark)), "\n");
      if (!item.advice.empty()) {
        text += str_cat(std::string(column, ' '), "-> ", indented(item.advice, column + 3), "\n");
      }
    }
  }
  return text;
}

Json doctor_json(const std::vector<DoctorSection>& sections) {
  Json all = Json::object();
  for (const DoctorSection& section : sections) {
    Json items = Json::object();
    for (const DoctorItem& item : section.items) {
      items[item.name] = Json::object({{"value", Json(item.value)},
                                       {"state", Json(state_name(item.state))},
                                       {"advice", item.advice.empty() ? Json() : Json(item.advice)}});
    }
    all[section.name] = std::move(items);
  }
  return Json::object({{"ok", Json(count_problems(sections) == 0)}, {"sections", std::move(all)}});
}

int64_t count_problems(const std::vector<DoctorSection>& sections) {
  int64_t count = 0;
  for (const DoctorSection& section : sections) {
    count += std::ranges::count(section.items, State::kProblem, &DoctorItem::state);
  }
  return count;
}

}  // namespace flexor::cli
