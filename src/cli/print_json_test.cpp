#include "cli/print_json.h"

#include <gtest/gtest.h>
#include <limits>
#include <sstream>

namespace flexor::cli {
namespace {

TEST(PrintJson, WhatIsNotFiniteIsNull) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::ostringstream out;
  print_json(out, Json::object({{"a", std::numeric_limits<double>::quiet_NaN()},
                                {"b", Json(Json::Array{Json(kInfinity), Json(-kInfinity), Json(1.5), Json(2)})},
                                {"c", Json::object({{"NaN", "Infinity"}, {"d", kInfinity}})}}));
  EXPECT_EQ(out.str(), "{\"a\": null, \"b\": [null, null, 1.5, 2], \"c\": {\"NaN\": \"Infinity\", \"d\": null}}\n");
}

TEST(PrintJson, IndentsAsDumpDoes) {
  const Json json = Json::object({{"a", 1}, {"b", Json::array()}});
  std::ostringstream out;
  print_json(out, json, 2);
  EXPECT_EQ(out.str(), json.dump(2) + "\n");
}

}  // namespace
}  // namespace flexor::cli
