#include "tensor/safetensors.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "tensor/tensor.h"

namespace flexor {
namespace {

using ::testing::HasSubstr;
using ::testing::TempDir;

std::string temp_path(const std::string& name) {
  const std::string folder = TempDir() + "flexor_safetensors";
  std::filesystem::create_directories(folder);
  return folder + "/" + name;
}

/// A file with the given header text and `data_bytes` zero bytes behind it.
std::string write_raw(const std::string& name, const std::string& header, size_t data_bytes) {
  const std::string path = temp_path(name);
  std::ofstream out(path, std::ios::binary);
  const uint64_t length = header.size();
  out.write(reinterpret_cast<const char*>(&length), 8);
  out << header << std::string(data_bytes, '\0');
  return path;
}

std::string open_error(const std::string& path) {
  try {
    (void)SafetensorsFile::open(path);
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::kCheckpoint || error.kind() == ErrorKind::kData ||
                error.kind() == ErrorKind::kFile);
    return error.what();
  }
  return "no error";
}

TEST(Safetensors, WhatIsWrittenReadsBackEqualInEveryDtype) {
  std::vector<NamedTensor> tensors;
  for (const at::ScalarType dtype :
       {at::kBool, at::kByte, at::kShort, at::kInt, at::kLong, at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    tensors.emplace_back(c10::toString(dtype), at::arange(6).view({2, 3}).to(dtype));
  }
  tensors.emplace_back("scalar", at::full({}, 2.5));
  tensors.emplace_back("empty", at::empty({0, 4}));
  tensors.emplace_back("transposed", at::arange(6).view({2, 3}).t());
  const std::string path = temp_path("round_trip.safetensors");
  write_safetensors(path, tensors, {{"format", "pt"}, {"note", "a \"quoted\" word"}});

  const SafetensorsFile file = SafetensorsFile::open(path);
  EXPECT_EQ(file.entries().size(), tensors.size());
  EXPECT_EQ(file.metadata().at("note"), "a \"quoted\" word");
  for (const auto& [name, tensor] : tensors) {
    const Tensor read = file.get(name);
    EXPECT_EQ(read.scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(at::equal(read, tensor)) << name;
  }
}

TEST(Safetensors, TensorsOutliveTheFileObjectAndWritingToThemLeavesTheFileAlone) {
  const std::string path = temp_path("private.safetensors");
  write_safetensors(path, std::vector<NamedTensor>{{"w", at::ones({3})}});
  Tensor w = SafetensorsFile::open(path).get("w");
  w.fill_(7);
  EXPECT_EQ(w.sum().item<float>(), 21);
  EXPECT_EQ(SafetensorsFile::open(path).get("w").sum().item<float>(), 3);
}

TEST(Safetensors, ShardsOfAnIndexAreOneFile) {
  write_safetensors(temp_path("model-1-of-2.safetensors"), std::vector<NamedTensor>{{"a", at::ones({2})}});
  write_safetensors(temp_path("model-2-of-2.safetensors"), std::vector<NamedTensor>{{"b", at::zeros({2})}});
  const std::string index = temp_path("model.safetensors.index.json");
  write_file_atomic(index, R"({"weight_map": {"a": "model-1-of-2.safetensors", "b": "model-2-of-2.safetensors"}})");
  const SafetensorsFile file = SafetensorsFile::open(index);
  EXPECT_TRUE(file.contains("a") && file.contains("b"));
  EXPECT_EQ(file.read_all().size(), 2);
}

TEST(Safetensors, AnUnknownNameIsAnErrorThatNamesTheNearest) {
  const std::string path = temp_path("names.safetensors");
  write_safetensors(path, std::vector<NamedTensor>{{"action_in_proj.weight", at::ones({1})}});
  try {
    (void)SafetensorsFile::open(path).get("action_in_prj.weight");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.hint(), HasSubstr("action_in_proj.weight"));
  }
  try {
    (void)SafetensorsFile::open(path).get("observation.language.tokens");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.hint(), "is it the right file? it holds action_in_proj.weight");
  }
}

TEST(Safetensors, ATruncatedOrForeignFileIsRefused) {
  const std::string entry = R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})";
  EXPECT_THAT(open_error(write_raw("cut.safetensors", entry, 12)), HasSubstr("truncated"));
  EXPECT_THAT(
      open_error(write_raw("size.safetensors", R"({"w":{"dtype":"F32","shape":[5],"data_offsets":[0,16]}})", 16)),
      HasSubstr("does not fill"));
  EXPECT_THAT(
      open_error(write_raw("dtype.safetensors", R"({"w":{"dtype":"F33","shape":[4],"data_offsets":[0,16]}})", 16)),
      HasSubstr("F33"));
  EXPECT_THAT(
      open_error(write_raw(
          "overlap.safetensors",
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
          8)),
      HasSubstr("overlap"));
  EXPECT_THAT(
      open_error(write_raw("huge.safetensors",
                           R"({"w":{"dtype":"F64","shape":[4611686018427387904,4],"data_offsets":[0,16]}})", 16)),
      HasSubstr("does not fill"));
  EXPECT_NE(open_error(write_raw("list.safetensors", "[1, 2]", 0)), "no error");
  const std::string header = write_raw("header.safetensors", entry, 0);
  std::filesystem::resize_file(header, 40);
  EXPECT_EQ(open_error(header),
            str_cat("file is truncated: the header ends at byte ", 8 + entry.size(), ", the file has 40"));
  const std::string tiny = temp_path("tiny.safetensors");
  write_file_atomic(tiny, "abc");
  EXPECT_THAT(open_error(tiny), HasSubstr("too short"));
  const std::string text = temp_path("text.safetensors");
  write_file_atomic(text, "this is a text file, not weights");
  EXPECT_THAT(open_error(text), HasSubstr("not a safetensors file"));
  EXPECT_THAT(open_error(temp_path("missing.safetensors")), HasSubstr("no such file"));
}

TEST(Safetensors, BytesThatBelongToNoTensorAreRefused) {
  const std::string entry = R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})";
  EXPECT_EQ(open_error(write_raw("whole.safetensors", entry, 16)), "no error");
  EXPECT_EQ(open_error(write_raw("trailing.safetensors", entry, 18)),
            "the last tensor ends at byte 16 of the data, the file has 18");
  EXPECT_EQ(open_error(write_raw("none.safetensors", "{}", 1)),
            "the last tensor ends at byte 0 of the data, the file has 1");
  EXPECT_EQ(
      open_error(write_raw(
          "gap.safetensors",
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[6,10]}})",
          10)),
      "bytes 4 to 6 of the data, before tensor 'b', belong to no tensor");
}

TEST(Safetensors, AFailedWriteLeavesNothingBehind) {
  EXPECT_THROW(write_safetensors("/proc/flexor/x.safetensors", std::vector<NamedTensor>{{"a", at::ones({1})}}), Error);
}

}  // namespace
}  // namespace flexor
