#pragma once
#include <string>

namespace flexor {

/// The shortest text that reads back as the same float, spelled as Python's repr() and json: "0.1", "1.0", "2.5e-05",
/// "1e+16"; "NaN", "Infinity", "-Infinity".
std::string float_text(double value);

}  // namespace flexor
