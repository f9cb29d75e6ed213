#pragma once
#include <cstdlib>

namespace flexor::testing {

/// Whether tools/run_tests.py runs a build with sanitizers. Tests that compare the numbers of long trainings are
/// skipped or shortened then: shorter tests run the same code.
inline bool is_sanitized() {
  return std::getenv("SANITIZED") != nullptr;
}

}  // namespace flexor::testing
