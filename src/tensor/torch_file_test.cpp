#include "tensor/torch_file.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor {
namespace {

std::string torch_path(const std::string& name) {
  return testing::tests_path("data/torch/" + name);
}

std::map<std::string, Tensor> read(const std::string& path) {
  const auto tensors = read_torch_file(path);
  return {tensors.begin(), tensors.end()};
}

/// The error that reading a file of this content gives.
std::string error_of(const std::string& content) {
  const auto path = (std::filesystem::temp_directory_path() / "flexor_torch_file_test.pt").string();
  std::ofstream(path, std::ios::binary) << content;
  try {
    read_torch_file(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(TorchFile, ReadsAStateDictWithItsViews) {
  auto tensors = read(torch_path("state_dict.pt"));
  EXPECT_EQ(tensors.size(), 10U);
  const Tensor base = at::arange(24, at::kFloat).view({4, 6});
  EXPECT_TENSOR_EQUAL(tensors.at("a.weight"), base);
  EXPECT_TENSOR_EQUAL(tensors.at("a.transposed"), base.t());
  EXPECT_TENSOR_EQUAL(tensors.at("a.slice"), base.narrow(0, 1, 2).narrow(1, 2, 2));
  EXPECT_EQ(tensors.at("b.bf16").scalar_type(), at::kBFloat16);
  EXPECT_TENSOR_EQUAL(tensors.at("b.bf16"), at::tensor({1.5, -2.25, 3.0}));
  EXPECT_EQ(tensors.at("b.half").scalar_type(), at::kHalf);
  EXPECT_EQ(tensors.at("b.long")[1][1].item<int64_t>(), -4);
  EXPECT_EQ(tensors.at("b.bool").scalar_type(), at::kBool);
  EXPECT_EQ(tensors.at("b.scalar").dim(), 0);
  EXPECT_EQ(tensors.at("b.empty").sizes(), at::IntArrayRef({0, 3}));
  EXPECT_TENSOR_EQUAL(tensors.at("c.param"), at::full({2, 2}, 0.5));
}

TEST(TorchFile, DictsInsideGiveDottedNamesAndPlainValuesAreLeftOut) {
  const auto tensors = read(torch_path("nested.pt"));
  EXPECT_EQ(tensors.size(), 10U);
  EXPECT_TRUE(tensors.contains("model.a.weight"));
}

TEST(TorchFile, WritingToATensorLeavesTheFileAlone) {
  read(torch_path("state_dict.pt")).at("a.weight").fill_(9.0);
  EXPECT_EQ(read(torch_path("state_dict.pt")).at("a.weight")[0][1].item<float>(), 1.0F);
}

TEST(TorchFile, AnyOtherClassOrFunctionIsAnErrorThatNamesIt) {
  for (const auto& [file, name] : {std::pair("evil.pt", "system"), std::pair("other_class.pt", "torch.Size")}) {
    try {
      read_torch_file(torch_path(file));
      FAIL() << file;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
  }
}

TEST(TorchFile, DamagedFilesAreRefusedWhereverTheyAreCutOrChanged) {
  const std::string whole = read_file(torch_path("state_dict.pt"));
  EXPECT_NE(error_of("").find("ZIP"), std::string::npos);
  EXPECT_NE(error_of("not an archive at all").find("ZIP"), std::string::npos);
  for (size_t size = 0; size < whole.size(); size += 97) {
    EXPECT_NE(error_of(whole.substr(0, size)), "none") << size;
  }
  for (size_t i = 0; i < whole.size(); i += 5) {  // must neither crash nor hang; some bytes are only values
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0xff);
    error_of(changed);
  }
}

}  // namespace
}  // namespace flexor
