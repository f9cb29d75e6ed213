#include "align/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <string>

#include "base/error.h"
#include "base/str_cat.h"
#include "models/open_model.h"
#include "testing/golden.h"

namespace flexor::align {
namespace {

using ::flexor::testing::golden;
using ::flexor::testing::tensor_near;
using ::flexor::testing::tests_path;

class RecordTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string folder() const { return str_cat(GetParam(), "_tiny/"); }
  std::string path(const std::string& name = {}) const { return tests_path(str_cat("golden/", folder(), name)); }

  std::map<std::string, at::Tensor> recorded(const RecordOptions& options) {
    const auto model = models::open_model(path());
    const schema::BatchFile batch = schema::read_batch_file(path("inputs.safetensors"));
    const std::vector<NamedTensor> tensors = record(*model, batch, options);
    std::map<std::string, at::Tensor> result(tensors.begin(), tensors.end());
    EXPECT_EQ(result.size(), tensors.size()) << "a name was recorded twice";
    return result;
  }
};

// Parts of the reference's recording that need other options than a plain recording.
bool is_plain(const std::string& name) {
  for (const char* prefix : {"rtc.", "freeze_", "train_", "gradient_checkpointing."}) {
    if (name.starts_with(prefix)) {
      return false;
    }
  }
  return true;
}

TEST_P(RecordTest, GivesEveryTensorOfTheReferenceWithinTolerance) {
  const SafetensorsFile expected = golden(folder() + "expected.safetensors");
  const auto actual = recorded({.backward = true, .savings = false});
  int compared = 0;
  for (const auto& entry : expected.entries()) {
    if (!is_plain(entry.name)) {
      continue;
    }
    const auto found = actual.find(entry.name);
    ASSERT_NE(found, actual.end()) << entry.name << " was not recorded";
    const double rtol = entry.name.starts_with("grad") ? 1e-3 : 1e-4;
    EXPECT_TRUE(tensor_near(found->second, expected.get(entry.name), rtol, 2e-5)) << entry.name;
    ++compared;
  }
  EXPECT_GE(compared, 50);
}

TEST_P(RecordTest, RecordsAGradientExactlyWhereTheReferenceHasOne) {
  const Json meta = Json::read_file(path("meta.json"));
  const auto actual = recorded({.backward = true, .savings = false});
  for (const auto& [name, norm] : meta.at("grad_norms").as_object()) {
    EXPECT_EQ(actual.contains("grad." + name), !norm.is_null()) << name;
    if (norm.is_number() && norm.as_double() == 0.0) {
      EXPECT_EQ(actual.at("grad." + name).abs().max().item<double>(), 0.0) << name;
    }
  }
}

TEST_P(RecordTest, HasNoGradientWithoutBackward) {
  for (const auto& [name, tensor] : recorded({.backward = false, .savings = false})) {
    EXPECT_FALSE(name.starts_with("grad")) << name;
    EXPECT_FALSE(tensor.requires_grad()) << name;
  }
}

TEST_P(RecordTest, SavingsShortenThePrefixAndKeepTheResult) {
  const auto full = recorded({.backward = true, .savings = false});
  const auto saved = recorded({.backward = true, .savings = true});
  EXPECT_LT(saved.at("prefix_embs").size(1), full.at("prefix_embs").size(1));
  for (const char* name : {"loss", "loss_per_dim", "v_t", "sampled_actions", "grad_norm_total"}) {
    EXPECT_TRUE(tensor_near(saved.at(name), full.at(name), 1e-4, 2e-5)) << name;
  }
}

TEST_P(RecordTest, PutsTheOptionsOfTheModelBack) {
  const auto model = models::open_model(path());
  const schema::BatchFile batch = schema::read_batch_file(path("inputs.safetensors"));
  model->options().exact_savings = true;
  record(*model, batch, {.backward = false, .savings = false});
  EXPECT_TRUE(model->options().exact_savings);
}

TEST_P(RecordTest, NamesWhatTheBatchLacks) {
  const auto model = models::open_model(path());
  schema::BatchFile batch = schema::read_batch_file(path("inputs.safetensors"));
  batch.extra.erase("time");
  try {
    record(*model, batch, {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("'time'"));
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, RecordTest, ::testing::Values("pi0", "pi05"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace flexor::align
