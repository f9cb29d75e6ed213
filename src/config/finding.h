#pragma once
#include <string>
#include <vector>

#include "base/error.h"

namespace flexor::config {

/// One problem of a configuration.
struct Finding {
  std::string key;    ///< dotted key, "" if it concerns none
  std::string what;   ///< found and expected
  std::string where;  ///< "run.yaml:12", "command line"; may be empty
  std::string hint;   ///< may be empty
};

/// One Error for all findings: its parts for a single one, else a numbered list, one line (and one for the hint) each.
Error to_error(const std::vector<Finding>& findings, ErrorKind kind = ErrorKind::kConfig);

}  // namespace flexor::config
