#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/augment.h"
#include "data/mixture.h"
#include "data/raw_batch.h"

namespace flexor::data {

/// What a batch holds and in which form.
struct BatchFormat {
  bool float_pictures = false;  ///< dataset.resize: false = uint8 (rounded), true = float32 0..1 (LeRobot's arithmetic)
  int64_t height = 224, width = 224;  ///< of the pictures; 0, 0 = as recorded
  int64_t action_horizon = 50;        ///< steps of the action window from the sample's frame on; 0 = no actions
  ImageTransforms image_transforms = ImageTransforms::kNone;
  uint64_t seed = 1000;  ///< of the image augmentation
  bool pictures = true;  ///< false: numeric columns only
  /// Cameras to read (names after the rename map); those that the data lack are left out. Empty: all there are.
  std::vector<std::string> cameras = {};
  /// Decoded pictures on disk: "auto", "off", or a path (see frame_cache_find.h). Only for uint8 pictures that are
  /// resized and not augmented before that; a path is refused with anything else.
  std::string frame_cache = "auto";
};

/// Reads batches on the calling thread, with open video files of its own. One per thread.
class BatchReader {
 public:
  /// @param max_open_files  open videos kept
  BatchReader(std::shared_ptr<const Mixture> mixture, const BatchFormat& format, size_t max_open_files = 64);
  ~BatchReader();
  BatchReader(const BatchReader&) = delete;
  BatchReader& operator=(const BatchReader&) = delete;

  /// @param positions    global positions of the mixture, at least one
  /// @param epoch, first_index  place of the batch in the training order, which decides the augmentation with the seed
  /// @throws Error(kData), Error(kFile) naming dataset file, episode, frame and camera
  RawBatch read(std::span<const int64_t> positions, int64_t epoch = 0, int64_t first_index = 0);

  /// Makes a running read() of another thread end soon with Error(kInterrupted).
  void cancel();

  int64_t num_decoded() const;  ///< video pictures decoded so far, those out of a frame cache not counted

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flexor::data
