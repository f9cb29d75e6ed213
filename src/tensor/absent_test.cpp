#include "tensor/absent.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"

namespace flexor {
namespace {

TEST(Absent, TensorHasItsShapeAndBringsItsValuesWhenRead) {
  int fetched = 0;
  const Tensor tensor = absent_tensor({2, 3}, at::kFloat, [&](int64_t first, int64_t count) {
    ++fetched;
    return at::arange(first, first + count, at::kFloat);
  });
  EXPECT_TRUE(is_absent(tensor));
  EXPECT_TRUE(is_absent(tensor.detach()));
  EXPECT_EQ(tensor.sizes(), at::IntArrayRef({2, 3}));
  EXPECT_EQ(fetched, 0);
  EXPECT_TRUE(at::equal(present(tensor), at::arange(6, at::kFloat).view({2, 3})));
  EXPECT_EQ(fetched, 1);
}

TEST(Absent, ReleasedTensorLosesItsMemoryWithAllItsViewsAndGetsItBack) {
  const Tensor flat = at::arange(8, at::kFloat), view = flat.narrow(0, 2, 4).view({2, 2}), kept = flat.clone();
  release_storage(flat, [&](int64_t first, int64_t count) { return kept.narrow(0, first, count); });
  EXPECT_TRUE(is_absent(view));
  EXPECT_EQ(flat.storage().nbytes(), 0U);
  EXPECT_TRUE(at::equal(present(view), kept.narrow(0, 2, 4).view({2, 2})));
  allocate_storage(flat);
  EXPECT_FALSE(is_absent(view));
  flat.copy_(kept);
  EXPECT_TRUE(at::equal(view, kept.narrow(0, 2, 4).view({2, 2})));
  EXPECT_EQ(present(view).data_ptr(), view.data_ptr());
}

TEST(Absent, TensorsThatAreThereOrEmptyAreNot) {
  EXPECT_FALSE(is_absent(at::ones({3})));
  EXPECT_FALSE(is_absent(at::empty({0})));
  EXPECT_FALSE(is_absent(Tensor()));
}

TEST(Absent, FilesAreWrittenFromAbsentTensorsOneAtATime) {
  const std::string path = ::testing::TempDir() + "absent.safetensors";
  int alive = 0, most = 0;
  const auto fetch = [&](int64_t, int64_t count) {
    most = std::max(most, ++alive);
    const Tensor values = at::arange(count, at::kFloat);
    return at::from_blob(values.data_ptr(), {count}, [&alive, values](void*) { --alive; }, at::kFloat);
  };
  write_safetensors(path, std::vector<NamedTensor>{{"a", absent_tensor({4}, at::kFloat, fetch)},
                                                   {"b", absent_tensor({2, 2}, at::kFloat, fetch)}});
  const SafetensorsFile file = SafetensorsFile::open(path);
  EXPECT_TRUE(at::equal(file.get("a"), at::arange(4, at::kFloat)));
  EXPECT_TRUE(at::equal(file.get("b"), at::arange(4, at::kFloat).view({2, 2})));
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace flexor
