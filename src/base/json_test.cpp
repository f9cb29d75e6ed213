#include "base/json.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "base/error.h"

namespace flexor {
namespace {

using testing::HasSubstr;

Error error_of(std::string_view text) {
  try {
    Json::parse(text, "f.json");
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error for " << text;
  return Error(ErrorKind::kData, "");
}

TEST(Json, FloatsAreWrittenAsPythonWritesThem) {
  const std::vector<std::pair<double, std::string>> cases = {{1.0, "1.0"},
                                                             {0.1, "0.1"},
                                                             {2.5e-5, "2.5e-05"},
                                                             {1e-4, "0.0001"},
                                                             {1e15, "1000000000000000.0"},
                                                             {1e16, "1e+16"},
                                                             {1.5e300, "1.5e+300"},
                                                             {-0.0, "-0.0"},
                                                             {123456.789, "123456.789"},
                                                             {1e-8, "1e-08"},
                                                             {0.001, "0.001"},
                                                             {1e22, "1e+22"},
                                                             {9007199254740993.0, "9007199254740992.0"},
                                                             {5e-324, "5e-324"}};
  for (const auto& [value, text] : cases) {
    EXPECT_EQ(Json(value).dump(), text);
  }
}

TEST(Json, EveryFloatReadsBackEqual) {
  double value = 1.0;
  for (int i = 0; i < 2000; ++i) {
    value = std::fmod(value * 1103515245.0 + 12345.0, 2147483648.0);
    const double number = std::ldexp(value / 2147483648.0, i % 600 - 300);
    EXPECT_EQ(Json::parse(Json(number).dump(), "").as_double(), number);
  }
}

TEST(Json, IntegersAndFloatsStayDistinct) {
  EXPECT_TRUE(Json::parse("1", "").is_int());
  EXPECT_FALSE(Json::parse("1.0", "").is_int());
  EXPECT_EQ(Json::parse("1.0", "").dump(), "1.0");
  EXPECT_EQ(Json::parse("1.0", "").as_int(), 1);
  EXPECT_EQ(Json::parse("-9223372036854775808", "").as_int(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Json::parse("18446744073709551615", "").as_double(), 18446744073709551615.0);
  EXPECT_THROW(Json::parse("1.5", "").as_int(), Error);
}

TEST(Json, ReadsAndWritesPythonsLiterals) {
  const Json json = Json::parse(R"({"a": NaN, "b": [Infinity, -Infinity], "NaN": "a NaN \" Infinity"})", "");
  EXPECT_TRUE(std::isnan(json.at("a").as_double()));
  EXPECT_EQ(json.at("b").as_array()[1].as_double(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(json.dump(), R"({"a": NaN, "b": [Infinity, -Infinity], "NaN": "a NaN \" Infinity"})");
  EXPECT_THROW(Json::parse("[NaNa]", ""), Error);
  EXPECT_THROW(Json::parse("[xNaN]", ""), Error);
}

TEST(Json, IndentsAsPython) {
  const Json json = Json::parse(R"({"a":[1,[]],"b":{},"c":"ä\n"})", "");
  EXPECT_EQ(json.dump(2), "{\n  \"a\": [\n    1,\n    []\n  ],\n  \"b\": {},\n  \"c\": \"ä\\n\"\n}");
  EXPECT_EQ(json.dump(), "{\"a\": [1, []], \"b\": {}, \"c\": \"ä\\n\"}");
}

TEST(Json, OfARepeatedKeyTheLastValueCountsAtTheFirstPlace) {
  EXPECT_EQ(Json::parse(R"({"a": 1, "b": 2, "a": 3})", "").dump(), R"({"a": 3, "b": 2})");
}

TEST(Json, SyntaxErrorsNameLineAndColumn) {
  const Error error = error_of("{\n  \"a\": 1,\n  oops\n}");
  EXPECT_THAT(error.where(), HasSubstr("f.json:3:"));
  EXPECT_EQ(error.kind(), ErrorKind::kData);
  EXPECT_THAT(error_of("").what(), HasSubstr("empty"));
  EXPECT_THAT(error_of("{\"a\": 1").what(), HasSubstr("unexpected end"));
  EXPECT_THAT(error_of("[1] 2").where(), HasSubstr("f.json:1:"));
  EXPECT_THAT(error_of("[NaN, Infinity, ?]").where(), HasSubstr("byte 16"));
}

TEST(Json, BytesThatAreNoUtf8AreAnError) {
  const Error error = error_of("[\"ab\xff\"]");
  EXPECT_THAT(error.what(), HasSubstr("UTF-8"));
  EXPECT_THAT(error.where(), HasSubstr("byte 4"));
}

TEST(Json, WhatIsWrittenIsAlwaysValidUtf8) {
  EXPECT_EQ(Json("a\xff"
                 "b")
                .dump(),
            "\"a\xEF\xBF\xBD"
            "b\"");
}

TEST(Json, DeepNestingIsAnErrorAndNoCrash) {
  EXPECT_THAT(error_of(std::string(2'000'000, '[')).what(), HasSubstr("nested"));
  EXPECT_NO_THROW(Json::parse(std::string(900, '[') + std::string(900, ']'), ""));
}

TEST(Json, WrongTypesSayWhatWasFound) {
  const Json json = Json::parse(R"({"a": "text"})", "");
  try {
    json.at("a").as_double();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "expected a number, found string \"text\"");
  }
  EXPECT_THROW(json.at("b"), Error);
  EXPECT_EQ(json.find("b"), nullptr);
}

TEST(Json, PartsOfATemporaryOutliveIt) {
  const auto make = [] {
    return Json::parse(R"({"list": ["a text longer than any small buffer", "b"], "o": {"k": 1},
                           "text": "another text longer than any small buffer"})",
                       "");
  };
  std::vector<std::string> seen;
  for (const Json& element : make().at("list").as_array()) {  // by reference this would read freed memory
    seen.push_back(element.as_string());
  }
  EXPECT_THAT(seen, testing::ElementsAre("a text longer than any small buffer", "b"));
  const Json& part = make().at("o");
  EXPECT_EQ(part.at("k").as_int(), 1);
  const std::string& text = make().at("text").as_string();
  EXPECT_EQ(text, "another text longer than any small buffer");
  static_assert(std::is_same_v<decltype(make().at("o")), Json>);
  static_assert(std::is_same_v<decltype(make().as_object()), Json::Object>);
  static_assert(std::is_same_v<decltype(make().as_string()), std::string>);
}

TEST(Json, NumbersOfNestedListsAreRowMajor) {
  EXPECT_EQ(Json::parse("[[1, 2.5], [true, false]]", "").as_numbers(), (std::vector<double>{1, 2.5, 1, 0}));
  EXPECT_THROW(Json::parse("[1, \"x\"]", "").as_numbers(), Error);
}

TEST(Json, BuildsObjectsInOrder) {
  Json json;
  json["z"] = Json(1);
  json["a"].push_back(Json("x"));
  json["z"] = Json(2);
  EXPECT_EQ(json.dump(), R"({"z": 2, "a": ["x"]})");
  EXPECT_TRUE(json.erase("z"));
  EXPECT_FALSE(json.erase("z"));
}

TEST(Json, LargeObjectsAreReadInLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) {
    text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":" + std::to_string(i);
  }
  EXPECT_EQ(Json::parse(text + "}", "").size(), 200'000u);
}

}  // namespace
}  // namespace flexor
