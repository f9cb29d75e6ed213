#include "tensor/file_pages.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "base/process_memory.h"
#include "tensor/large_buffer.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"

namespace flexor {
namespace {

TEST(FilePages, AreLetGoOfAndReadAgain) {
  const std::string path = (std::filesystem::temp_directory_path() / "flexor_file_pages.safetensors").string();
  constexpr int64_t kCount = 4 << 20;  // 16 MiB
  write_safetensors(path, std::vector<NamedTensor>{{"x", at::ones({kCount})}});
  const Tensor x = SafetensorsFile::open(path).get("x");
  std::filesystem::remove(path);
  EXPECT_EQ(x.sum().item<double>(), kCount);
  const int64_t before = resident_bytes();
  forget_file_pages(x);
  EXPECT_LT(resident_bytes(), before - (int64_t{12} << 20));
  EXPECT_EQ(x.sum().item<double>(), kCount);
}

TEST(FilePages, OfOtherTensorsStay) {
  const Tensor x = at::ones({1 << 20});
  forget_file_pages(x);
  forget_file_pages({});
  EXPECT_EQ(x.sum().item<double>(), 1 << 20);
}

TEST(LastingTensor, HasShapeDtypeAndValues) {
  for (const int64_t rows : {2, 2048}) {  // on the heap, and in memory of its own
    const Tensor source = at::full({rows, 512}, 1.5, at::kBFloat16);
    const Tensor zeros = lasting_zeros(source, at::kFloat), copy = lasting_copy(source, at::kFloat);
    EXPECT_EQ(zeros.sizes(), source.sizes());
    EXPECT_EQ(zeros.scalar_type(), at::kFloat);
    EXPECT_EQ(zeros.abs().sum().item<double>(), 0);
    EXPECT_TRUE(at::equal(copy, source.to(at::kFloat)));
  }
}

}  // namespace
}  // namespace flexor
