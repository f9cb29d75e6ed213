#include "data/picture_source.h"

#include <cstring>
#include <gtest/gtest.h>
#include <string>

#include "base/json.h"
#include "data/picture_fit.h"
#include "tensor/tensor.h"
#include "testing/golden.h"

namespace flexor::data {
namespace {

// libswscale has its own SIMD code on every architecture; the reference's bytes come from x86-64.
#if defined(__x86_64__)
constexpr double kRgbTolerance = 0;
#else
constexpr double kRgbTolerance = 2;
#endif

Tensor tensor_of(const media::Picture& picture) {  // [H, W, 3]
  const Tensor out = at::empty({picture.height, picture.width, 3}, at::TensorOptions().dtype(at::kByte));
  std::memcpy(out.data_ptr<uint8_t>(), picture.rgb.data(), picture.rgb.size());
  return out;
}

media::Picture picture_of(const Tensor& planar) {  // uint8 [3, H, W]
  const Tensor rows = planar.permute({1, 2, 0}).contiguous();
  media::Picture picture;
  picture.resize(static_cast<int>(rows.size(1)), static_cast<int>(rows.size(0)));
  std::memcpy(picture.rgb.data(), rows.data_ptr<uint8_t>(), picture.rgb.size());
  return picture;
}

void expect_reference_pictures(const std::string& dataset_name, const std::string& frames) {
  SCOPED_TRACE(dataset_name);
  DatasetOptions options;
  options.root = testing::tests_path("data/datasets/" + dataset_name);
  const Dataset dataset = Dataset::open(options);
  const SafetensorsFile golden = testing::golden("video_frames/" + frames + ".safetensors");
  const Tensor index = golden.get("index");
  PictureSource source;
  ASSERT_EQ(dataset.cameras().size(), 2U);
  for (int64_t camera = 0; camera < 2; ++camera) {
    const Tensor expected = golden.get(dataset.cameras()[static_cast<size_t>(camera)].name);
    for (int64_t k = index.size(0) - 1; k >= 0; --k) {
      const int64_t position = index[k].item<int64_t>();
      const media::Picture& picture = source.read(dataset.picture(camera, position));
      SCOPED_TRACE(::testing::Message() << "camera " << camera << " index " << position);
      EXPECT_TENSOR_NEAR(tensor_of(picture), expected[k], 0.0, kRgbTolerance);
    }
  }
}

TEST(PictureSource, H264PicturesAreTheReferencesBytes) {
  expect_reference_pictures("v21_h264", "frames_h264");
  expect_reference_pictures("v30_small", "frames_h264");
  expect_reference_pictures("v30_from_v21", "frames_h264");
}

TEST(PictureSource, Av1PicturesAreTheReferencesBytes) {
  expect_reference_pictures("v30_av1", "frames_v30_av1");
}

TEST(PictureSource, ImagesInParquetAreTheReferencesBytes) {
  expect_reference_pictures("v30_images", "frames_v30_images");
}

class ResizeGolden : public ::testing::TestWithParam<int> {
 protected:
  Tensor get(const std::string& name) const {
    static const SafetensorsFile file = testing::golden("preprocess/preprocess.safetensors");
    return file.get("resize." + std::to_string(GetParam()) + "." + name)[0];
  }
};

TEST_P(ResizeGolden, BytesAreTheReferences) {
  const Tensor expected = get("out_u8");
  const Tensor out = at::empty_like(expected);
  PictureFit fit(ImageTransforms::kNone, static_cast<int>(expected.size(1)), static_cast<int>(expected.size(2)));
  fit.to_uint8(picture_of(get("in_u8")), false, 0, {out.data_ptr<uint8_t>(), static_cast<size_t>(out.numel())});
  EXPECT_TENSOR_EQUAL(out, expected);
}

TEST_P(ResizeGolden, FloatsAreTheReferences) {
  const Tensor input = get("in_f32").contiguous(), expected = get("out_f32");
  const Tensor out = at::empty_like(expected);
  media::ResizeWithPad resize(static_cast<int>(input.size(2)), static_cast<int>(input.size(1)),
                              static_cast<int>(expected.size(2)), static_cast<int>(expected.size(1)));
  resize.to_float(std::span<const float>(input.data_ptr<float>(), static_cast<size_t>(input.numel())),
                  {out.data_ptr<float>(), static_cast<size_t>(out.numel())});
  EXPECT_TENSOR_NEAR(out, expected, 1e-5, 1e-5);
}

TEST_P(ResizeGolden, BytesToModelInputIsTheReferences) {
  const Tensor expected = get("model_input_from_u8");
  const Tensor out = at::empty_like(expected);
  PictureFit fit(ImageTransforms::kNone, static_cast<int>(expected.size(1)), static_cast<int>(expected.size(2)));
  fit.to_float(picture_of(get("in_u8")), false, 0, {out.data_ptr<float>(), static_cast<size_t>(out.numel())});
  EXPECT_TENSOR_NEAR(out * 2.0 - 1.0, expected, 1e-5, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(AllSizes, ResizeGolden, ::testing::Range(0, 7));

}  // namespace
}  // namespace flexor::data
