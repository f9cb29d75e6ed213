#include "cli/print_json.h"

#include <cmath>
#include <ostream>
#include <utility>

namespace flexor::cli {
namespace {

Json with_finite_numbers(Json json) {
  if (json.is_array()) {
    for (Json& element : json.as_array()) {
      element = with_finite_numbers(std::move(element));
    }
  } else if (json.is_object()) {
    for (auto& [key, value] : json.as_object()) {
      value = with_finite_numbers(std::move(value));
    }
  } else if (json.is_number() && !json.is_int() && !std::isfinite(json.as_double())) {
    return nullptr;
  }
  return json;
}

}  // namespace

void print_json(std::ostream& out, const Json& json, int indent) {
  out << with_finite_numbers(json).dump(indent) << '\n';
}

}  // namespace flexor::cli
