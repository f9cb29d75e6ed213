#include "config/choices.h"

#include <algorithm>

#include "base/text.h"

namespace flexor::config {

std::string choices_text(std::vector<std::string> choices) {
  std::ranges::replace(choices, std::string(), std::string("''"));
  return join_text(choices, ", ");
}

}  // namespace flexor::config
