#pragma once
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "schema/norm_stats.h"

namespace flexor::data {

/// read(json[key]); its errors name the key.
template <typename Read>
auto value_of(const Json& json, const char* key, Read read) {
  const Json& value = json.at(key);
  try {
    return read(value);
  } catch (const Error& error) {
    throw Error(error.kind(), str_cat("'", key, "': ", error.what()), error.where(), error.hint());
  }
}

/// `error` with a place and a hint where it has none, and about the checkpoint unless it is about a file.
Error processor_error(const Error& error, const std::string& place);

/// Runs `read`; its errors become processor errors.
template <typename Read>
void at_place(const std::string& place, Read read) {
  try {
    read();
  } catch (const Error& error) {
    throw processor_error(error, place);
  }
}

/// The steps of one of LeRobot's processor files.
class StepReader {
 public:
  /// @throws Error(kFile), Error(kData), Error(kCheckpoint)
  StepReader(std::string folder, const char* name);

  const std::string& path() const { return path_; }
  const Json::Array& steps() const { return json_.at("steps").as_array(); }
  const std::vector<std::string>& kinds() const { return kinds_; }
  /// "policy_preprocessor.json, step 3 (normalizer_processor)"
  std::string place_of(size_t index) const;

  /// Statistics of the step's state_file; none if it names none.
  schema::NormStats stats_of(const Json& step) const;

  [[noreturn]] void unknown(const std::string& kind) const;
  /// `first` must come before `second` where both are there.
  void check_order(const char* first, const char* second) const;

 private:
  void read_kinds();

  std::string folder_, path_;
  Json json_;
  std::vector<std::string> kinds_;
};

}  // namespace flexor::data
