#include "schema/batch_file.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "base/error.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"

namespace flexor::schema {
namespace {

using ::testing::HasSubstr;

class BatchFileTest : public ::testing::Test {
 protected:
  std::string write(const std::map<std::string, Tensor>& changes = {}, const std::string& without = {}) {
    std::map<std::string, Tensor> tensors = {
        {"observation.language.tokens", at::ones({2, 4}, at::kLong)},
        {"observation.language.attention_mask", at::ones({2, 4}, at::kBool)},
        {"observation.state", at::ones({2, 3})},
        {"action", at::ones({2, 5, 3})},
        {"observation.images.top", at::ones({2, 3, 6, 8}, at::kByte)},
        {"noise", at::zeros({2, 5, 8})},
    };
    for (const auto& [name, tensor] : changes) {
      tensors[name] = tensor;
    }
    tensors.erase(without);
    const std::string path = ::testing::TempDir() + "batch_file_test.safetensors";
    write_safetensors(path, std::vector<NamedTensor>(tensors.begin(), tensors.end()));
    return path;
  }

  std::string error_of(const std::map<std::string, Tensor>& changes, const std::string& without = {}) {
    try {
      read_batch_file(write(changes, without));
    } catch (const Error& error) {
      return std::string(error.what()) + " | " + error.where();
    }
    return "no error";
  }
};

TEST_F(BatchFileTest, SortsTheTensorsIntoTheBatchAndTheRest) {
  const BatchFile file = read_batch_file(write({{"observation.images.a", at::rand({2, 3, 4, 4})}}));
  EXPECT_EQ(file.batch.size(), 2);
  ASSERT_EQ(file.batch.cameras.size(), 2U);
  EXPECT_EQ(file.batch.cameras[0].name, "observation.images.a");
  EXPECT_EQ(file.batch.cameras[0].pixels.scalar_type(), at::kFloat);
  EXPECT_EQ(file.batch.cameras[1].pixels.scalar_type(), at::kByte);
  EXPECT_FALSE(file.batch.action_is_pad.defined());
  EXPECT_TRUE(file.has("noise"));
  EXPECT_THROW(file.at("time"), Error);
}

TEST_F(BatchFileTest, WidensNumbers) {
  const BatchFile file = read_batch_file(write({{"observation.state", at::ones({2, 3}, at::kDouble)},
                                                {"observation.language.tokens", at::ones({2, 4}, at::kInt)}}));
  EXPECT_EQ(file.batch.state.scalar_type(), at::kFloat);
  EXPECT_EQ(file.batch.tokens.scalar_type(), at::kLong);
}

TEST_F(BatchFileTest, RefusesWhatDoesNotFitAndNamesTheTensor) {
  EXPECT_THAT(error_of({}, "observation.language.tokens"), HasSubstr("observation.language.tokens"));
  EXPECT_THAT(error_of({{"observation.state", at::ones({3, 3})}}), HasSubstr("tensor observation.state"));
  EXPECT_THAT(error_of({{"observation.state", at::ones({3, 3})}}), HasSubstr("expected shape [2, -1]"));
  EXPECT_THAT(error_of({{"action", at::ones({2, 3})}}), HasSubstr("found [2, 3]"));
  EXPECT_THAT(error_of({{"observation.images.top", at::ones({2, 6, 8, 3})}}),
              HasSubstr("expected shape [2, 3, -1, -1]"));
  EXPECT_THAT(error_of({{"observation.language.tokens", at::ones({2, 4})}}),
              HasSubstr("expected int64, found float32"));
  EXPECT_THAT(error_of({{"observation.language.attention_mask", at::ones({2, 5}, at::kBool)}}), HasSubstr("[2, 5]"));
}

TEST_F(BatchFileTest, RefusesValuesThatAreNotFinite) {
  Tensor action = at::ones({2, 5, 3});
  action[1][2][0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(error_of({{"action", action}}), HasSubstr("1 of 30 values are not finite"));
  EXPECT_THAT(error_of({{"noise", at::full({2, 5, 8}, std::numeric_limits<float>::infinity())}}),
              HasSubstr("80 of 80"));
}

}  // namespace
}  // namespace flexor::schema
