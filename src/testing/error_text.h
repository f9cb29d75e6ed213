#pragma once
#include <string>

#include "base/error.h"

namespace flexor::testing {

/// What the command line prints for the Error that `body` throws ("error: ...", hint included); "no error" without one.
template <typename Body>
std::string error_text(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return format_error(error);
  }
  return "no error";
}

}  // namespace flexor::testing
