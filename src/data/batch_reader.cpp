#include "data/batch_reader.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "data/cached_pictures.h"
#include "data/picture_fit.h"
#include "data/picture_source.h"
#include "data/tensor_pool.h"
#include "schema/policy_feature.h"
#include "tensor/tensor.h"

namespace flexor::data {
namespace {

/// One picture of a batch.
struct PictureTask {
  int64_t sample, camera;  ///< camera: place in RawBatch::cameras
  PictureRef ref;
  CachedPicture cached = {};  ///< instead of `ref`
};

// Indices into mixture.cameras() of the wanted ones.
std::vector<int64_t> select_cameras(const Mixture& mixture, const BatchFormat& format) {
  std::vector<int64_t> selected;
  for (size_t i = 0; format.pictures && i < mixture.cameras().size(); ++i) {
    const auto& names = format.cameras;
    if (names.empty() || std::find(names.begin(), names.end(), mixture.cameras()[i].name) != names.end()) {
      selected.push_back(static_cast<int64_t>(i));
    }
  }
  return selected;
}

// Pictures of one file together and forwards, so that each group of pictures is decoded once.
bool in_file_order(const PictureTask& a, const PictureTask& b) {
  if (a.ref.video_path != b.ref.video_path) {
    if (!a.ref.video_path || !b.ref.video_path) {
      return !a.ref.video_path;
    }
    return *a.ref.video_path < *b.ref.video_path;
  }
  return a.ref.video_path && a.ref.frame_number < b.ref.frame_number;
}

}  // namespace

struct BatchReader::State {
  State(std::shared_ptr<const Mixture> m, const BatchFormat& f, size_t max_open_files)
      : mixture(std::move(m)),
        format(f),
        source(max_open_files),
        cameras(select_cameras(*mixture, f)),
        cached(cameras.empty() ? CachedPictures() : CachedPictures(*mixture, f)),
        fits(cameras.size()),
        offsets(static_cast<size_t>(f.action_horizon)) {
    std::iota(offsets.begin(), offsets.end(), 0);
  }

  std::shared_ptr<const Mixture> mixture;
  BatchFormat format;
  PictureSource source;
  std::vector<int64_t> cameras;  // those to read, as indices into mixture->cameras()
  CachedPictures cached;
  media::Picture scratch;
  std::vector<std::unique_ptr<PictureFit>> fits;  // one for each
  TensorPool pool;
  std::vector<int64_t> offsets;  // of the action window: 0..T-1
  std::atomic<bool> cancelled{false};

  const FeatureInfo& camera_info(int64_t camera) const {
    return mixture->cameras()[static_cast<size_t>(cameras[static_cast<size_t>(camera)])];
  }

  const Dataset& dataset(const Mixture::Place& place) const { return mixture->dataset(place.part); }

  // "episode 3, frame 7, observation.images.top", after the file that the error names itself.
  Error with_place(const Error& error, const Mixture::Place& place, int64_t camera) const {
    const auto id = dataset(place).frame_id(place.position);
    const std::string where =
        str_cat("episode ", id.episode_index, ", frame ", id.frame_index, ", ", camera_info(camera).name);
    const std::string file = error.where().empty() ? dataset(place).root() : error.where();
    return {error.kind(), error.what(), str_cat(file, ", ", where), error.hint()};
  }

  void read_identity(std::span<const Mixture::Place> places, RawBatch& batch) const {
    for (const auto& place : places) {
      const auto id = dataset(place).frame_id(place.position);
      batch.episodes.push_back(id.episode_index);
      batch.frames.push_back(id.frame_index);
      batch.tasks.push_back(dataset(place).task(place.position));
    }
  }

  void read_state(std::span<const Mixture::Place> places, RawBatch& batch) {
    if (!dataset(places[0]).has_column(schema::kStateKey)) {
      return;
    }
    const int64_t width = dataset(places[0]).width(schema::kStateKey);
    batch.state = pool.get({static_cast<int64_t>(places.size()), width}, at::kFloat);
    const std::span<float> out(batch.state.mutable_data_ptr<float>(), static_cast<size_t>(batch.state.numel()));
    constexpr int64_t kNow[] = {0};
    for (size_t i = 0; i < places.size(); ++i) {
      const auto n = static_cast<size_t>(width);
      dataset(places[i]).read_window(schema::kStateKey, places[i].position, kNow, out.subspan(i * n, n));
    }
  }

  void read_actions(std::span<const Mixture::Place> places, RawBatch& batch) {
    if (offsets.empty()) {
      return;
    }
    dataset(places[0]).feature(schema::kActionKey);  // names what there is, if there is no action
    const auto size = static_cast<int64_t>(places.size()), steps = static_cast<int64_t>(offsets.size());
    const int64_t width = dataset(places[0]).width(schema::kActionKey);
    batch.action = pool.get({size, steps, width}, at::kFloat);
    batch.action_is_pad = pool.get({size, steps}, at::kBool);
    const auto values = static_cast<size_t>(steps * width), pads = static_cast<size_t>(steps);
    for (size_t i = 0; i < places.size(); ++i) {
      dataset(places[i]).read_window(schema::kActionKey, places[i].position, offsets,
                                     std::span(batch.action.mutable_data_ptr<float>() + i * values, values),
                                     std::span(batch.action_is_pad.mutable_data_ptr<bool>() + i * pads, pads));
    }
  }

  std::vector<PictureTask> list_pictures(std::span<const Mixture::Place> places) const {
    std::vector<size_t> samples(places.size());
    std::iota(samples.begin(), samples.end(), size_t{0});
    std::sort(samples.begin(), samples.end(), [&](size_t a, size_t b) {  // encoded images come by row group
      return std::pair(places[a].part, places[a].position) < std::pair(places[b].part, places[b].position);
    });
    std::vector<PictureTask> tasks;
    for (const size_t i : samples) {
      for (int64_t camera = 0; camera < static_cast<int64_t>(cameras.size()); ++camera) {
        try {
          const int64_t own = mixture->camera_index(places[i].part, cameras[static_cast<size_t>(camera)]);
          if (const CachedPicture found = cached.find(places[i].part, own, places[i].position); found.cache) {
            tasks.push_back({static_cast<int64_t>(i), camera, {}, found});
            continue;
          }
          tasks.push_back({static_cast<int64_t>(i), camera, dataset(places[i]).picture(own, places[i].position)});
        } catch (const Error& error) {
          throw with_place(error, places[i], camera);
        }
      }
    }
    std::stable_sort(tasks.begin(), tasks.end(), in_file_order);
    return tasks;
  }

  // Memory for one camera's pictures, once their size is known.
  void make_room(int64_t picture_height, int64_t picture_width, int64_t batch_size, int64_t camera,
                 at::Tensor& pixels) {
    const bool as_recorded = format.height == 0;
    const int64_t height = as_recorded ? picture_height : format.height;
    const int64_t width = as_recorded ? picture_width : format.width;
    if (!pixels.defined()) {
      pixels = pool.get({batch_size, 3, height, width}, format.float_pictures ? at::kFloat : at::kByte);
      auto& fit = fits[static_cast<size_t>(camera)];
      if (!fit || as_recorded) {
        fit = std::make_unique<PictureFit>(format.image_transforms, static_cast<int>(height), static_cast<int>(width));
      }
    }
    if (pixels.size(2) != height || pixels.size(3) != width) {
      throw Error(ErrorKind::kData, str_cat("picture of ", width, "x", height, " among pictures of ", pixels.size(3),
                                            "x", pixels.size(2)));
    }
  }

  // Out of a frame cache. True if `task` has its picture there.
  bool read_cached(const PictureTask& task, uint64_t seed, int64_t batch_size, schema::CameraBatch& camera) {
    if (!task.cached.cache) {
      return false;
    }
    make_room(format.height, format.width, batch_size, task.camera, camera.pixels);
    const auto n = static_cast<size_t>(camera.pixels.numel() / batch_size);
    const std::span<uint8_t> out(camera.pixels.mutable_data_ptr<uint8_t>() + n * static_cast<size_t>(task.sample), n);
    task.cached.cache->read(task.cached.number, scratch, out);
    fits[static_cast<size_t>(task.camera)]->augment_resized(is_wrist(camera.name), seed, out);
    return true;
  }

  static bool is_wrist(const std::string& camera) { return camera.find("wrist") != std::string::npos; }

  void read_picture(const PictureTask& task, uint64_t seed, int64_t batch_size, schema::CameraBatch& camera) {
    if (read_cached(task, seed, batch_size, camera)) {
      return;
    }
    const media::Picture& picture = source.read(task.ref);
    make_room(picture.height, picture.width, batch_size, task.camera, camera.pixels);
    PictureFit& fit = *fits[static_cast<size_t>(task.camera)];
    const auto n = static_cast<size_t>(camera.pixels.numel() / batch_size);
    const size_t begin = n * static_cast<size_t>(task.sample);
    if (format.float_pictures) {
      fit.to_float(picture, is_wrist(camera.name), seed, std::span(camera.pixels.mutable_data_ptr<float>() + begin, n));
    } else {
      fit.to_uint8(picture, is_wrist(camera.name), seed,
                   std::span(camera.pixels.mutable_data_ptr<uint8_t>() + begin, n));
    }
  }

  void read_pictures(std::span<const Mixture::Place> places, int64_t epoch, int64_t first_index, RawBatch& batch) {
    for (size_t camera = 0; camera < cameras.size(); ++camera) {
      batch.cameras.push_back({camera_info(static_cast<int64_t>(camera)).name, {}});
    }
    for (const PictureTask& task : list_pictures(places)) {
      if (cancelled) {
        throw Error(ErrorKind::kInterrupted, "reading a batch was cancelled");
      }
      const uint64_t seed =
          augmentation_seed(format.seed, epoch, first_index + task.sample, cameras[static_cast<size_t>(task.camera)]);
      try {
        read_picture(task, seed, static_cast<int64_t>(places.size()), batch.cameras[static_cast<size_t>(task.camera)]);
      } catch (const Error& error) {
        throw with_place(error, places[static_cast<size_t>(task.sample)], task.camera);
      }
    }
  }
};

BatchReader::BatchReader(std::shared_ptr<const Mixture> mixture, const BatchFormat& format, size_t max_open_files)
    : state_(std::make_unique<State>(std::move(mixture), format, max_open_files)) {}

BatchReader::~BatchReader() = default;

RawBatch BatchReader::read(std::span<const int64_t> positions, int64_t epoch, int64_t first_index) {
  State& s = *state_;
  std::vector<Mixture::Place> places;
  for (const int64_t position : positions) {
    places.push_back(s.mixture->locate(position));
  }
  if (places.empty()) {
    throw Error(ErrorKind::kData, "a batch without samples");
  }
  RawBatch batch;
  s.read_identity(places, batch);
  s.read_state(places, batch);
  s.read_actions(places, batch);
  s.read_pictures(places, epoch, first_index, batch);
  return batch;
}

void BatchReader::cancel() {
  state_->cancelled = true;
}

int64_t BatchReader::num_decoded() const {
  return state_->source.num_decoded();
}

}  // namespace flexor::data
