#include "report/data_uri.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "report/html_page.h"

namespace flexor::report {
namespace {

std::string encoded(std::string_view text) {
  return base64({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

TEST(Base64, EncodesTheExamplesOfRfc4648) {
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encoded("\xff\xfe\xfb"), "//77");
}

TEST(DataUri, NamesTheType) {
  const std::vector<uint8_t> bytes = {'f', 'o', 'o'};
  EXPECT_EQ(data_uri("image/jpeg", bytes), "data:image/jpeg;base64,Zm9v");
}

TEST(JsonForScript, CannotEndTheElement) {
  const Json json = Json::object({{"a</script><!--", "</SCRIPT>"}});
  const std::string text = json_for_script(json);
  EXPECT_EQ(text.find('<'), std::string::npos);
  EXPECT_EQ(Json::parse(text, "test"), json);
}

TEST(HtmlPage, AllowsScriptsOnlyWhenItHasOne) {
  HtmlPage page("t");
  EXPECT_EQ(page.str().find("script-src"), std::string::npos);
  page.add_script("let a = 1;");
  page.add_style("b { color: red; }");
  EXPECT_NE(page.str().find("script-src 'unsafe-inline'\">"), std::string::npos);
  EXPECT_NE(page.str().find("<script>let a = 1;</script>"), std::string::npos);
  EXPECT_NE(page.str().find("b { color: red; }</style>"), std::string::npos);
}

}  // namespace
}  // namespace flexor::report
