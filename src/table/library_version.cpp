#include "table/library_version.h"

#include <arrow/config.h>

namespace flexor::table {

std::string library_version() {
  return arrow::GetBuildInfo().version_string;
}

}  // namespace flexor::table
