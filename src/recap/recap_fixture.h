#pragma once
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "data/dataset.h"
#include "testing/golden.h"

// What the tests of this area share. Included by *_test.cpp only.
namespace flexor::recap {

inline Json golden_json(const std::string& name) {
  return Json::read_file(testing::tests_path("golden/recap/" + name));
}

/// An empty folder of its own for every test; removed at the end.
class RecapFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "recap_XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// A copy of a folder below tests/.
  std::string copy_of(const std::string& relative, const std::string& name) {
    const std::string target = folder_ + "/" + name;
    std::filesystem::copy(testing::tests_path(relative), target, std::filesystem::copy_options::recursive);
    return target;
  }

  std::string folder_;
};

inline data::Dataset open_dataset(const std::string& root) {
  data::DatasetOptions options;
  options.root = root;
  return data::Dataset::open(options);
}

inline std::vector<float> floats(const Json& json) {
  const std::vector<double> numbers = json.as_numbers();
  return {numbers.begin(), numbers.end()};
}

inline std::vector<int64_t> integers(const Json& json) {
  const std::vector<double> numbers = json.as_numbers();
  return {numbers.begin(), numbers.end()};
}

inline std::vector<uint8_t> truths(const Json& json) {
  const std::vector<double> numbers = json.as_numbers();
  return {numbers.begin(), numbers.end()};
}

/// Passes when `body` throws an Error of this kind whose text, place and hint together contain `part`.
template <typename Body>
::testing::AssertionResult throws_error(ErrorKind kind, const std::string& part, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    const std::string text = format_error(error);
    if (error.kind() != kind) {
      return ::testing::AssertionFailure() << "another kind of error: " << text;
    }
    return text.find(part) != std::string::npos ? ::testing::AssertionSuccess()
                                                : ::testing::AssertionFailure() << "the error is: " << text;
  }
  return ::testing::AssertionFailure() << "no error";
}

}  // namespace flexor::recap
