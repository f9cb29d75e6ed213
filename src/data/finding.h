#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace flexor::data {

enum class Severity { kWarning, kError };

/// One thing that is odd (warning) or wrong (error) about a dataset. Fields that do not apply are empty.
struct Finding {
  std::string code = {};  ///< stable name: "row_count", "camera_without_files", ...
  Severity severity = Severity::kError;
  std::string file = {};  ///< relative to the dataset's root where it lies below it
  std::optional<int64_t> episode = {}, frame = {};
  std::string feature = {};
  std::string expected = {}, found = {};
  std::string message = {};  ///< one sentence, lower case, without the place
  std::string hint = {};

  /// "ROOT/data/x.parquet, episode 3, frame 7, feature action"; without a file the root stands alone.
  std::string where(const std::string& root = {}) const;
};

Json to_json(const Finding& finding);  ///< all keys, null where it does not apply

/// "message: expected X, found Y"
std::string describe(const Finding& finding);

/// An error of a reader as a finding: a place such as "ROOT/meta/x.jsonl:3" or "ROOT/data/y.parquet, row 5" becomes the
/// file, its rest a part of the message. A Git-LFS pointer gets the code lfs_pointer.
Finding finding_of(const Error& error, const std::string& code, const std::string& root);

/// Runs `body`. With `broken`, its error is noted there under `code` and the caller goes on; without, it is thrown.
/// Ctrl-C is always thrown. @returns false if an error was noted
bool attempt(const std::string& code, const std::string& root, std::vector<Finding>* broken,
             const std::function<void()>& body);

bool has_errors(const std::vector<Finding>& findings);

/// Logs every warning, then throws if there is an error.
/// @param root  the dataset's folder, to make the files of the findings paths
/// @throws Error(kData) with the first error's place and hint; more than one: how many, and the first few
void report_findings(const std::vector<Finding>& findings, const std::string& root = {});

}  // namespace flexor::data
