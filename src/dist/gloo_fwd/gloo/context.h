#pragma once
// What c10d's ProcessGroupGloo.hpp must see of Gloo to be compiled. The torch wheel holds Gloo's code without its
// headers, and those of a distribution are years older, with other layouts. Flexor hands Gloo's objects through as
// shared_ptr and neither makes nor calls any: nothing here is ever instantiated (tests/linkage_test.py looks for it in
// the program).
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo
