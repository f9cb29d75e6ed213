#include "report/csv_table.h"

#include <gtest/gtest.h>
#include <limits>

namespace flexor::report {
namespace {

TEST(CsvTableTest, NumbersReadBackEqualAndWhatIsNotKnownIsEmpty) {
  CsvTable table({"a", "b", "c", "d", "e"});
  table.add(0.1).add(int64_t{-3}).add(std::optional<double>()).add(std::numeric_limits<double>::quiet_NaN()).add("x");
  table.end_row();
  EXPECT_EQ(table.str(), "a,b,c,d,e\n0.1,-3,,,x\n");
}

TEST(CsvTableTest, TextsThatHoldSeparatorsAreQuoted) {
  CsvTable table({"task", "n, \"quoted\""});
  table.add("pick, then \"place\"\nit").add(std::optional<double>(1e-7));
  table.end_row();
  EXPECT_EQ(table.str(), "task,\"n, \"\"quoted\"\"\"\n\"pick, then \"\"place\"\"\nit\",1e-07\n");
}

}  // namespace
}  // namespace flexor::report
