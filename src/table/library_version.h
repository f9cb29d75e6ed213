#pragma once
#include <string>

namespace flexor::table {

/// Of Arrow and Parquet, as they run now: "26.0.0".
std::string library_version();

}  // namespace flexor::table
