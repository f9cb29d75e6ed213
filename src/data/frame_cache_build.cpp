#include "data/frame_cache_build.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/content_hash.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/str_cat.h"
#include "base/thread_pool.h"
#include "data/frame_cache_key.h"
#include "data/frame_cache_writer.h"
#include "data/picture_fit.h"
#include "data/picture_source.h"
#include "media/image_codec.h"
#include "media/library_versions.h"

namespace flexor::data {
namespace {

/// Consecutive pictures of one camera in one episode, decoded by one thread one after the other.
struct Piece {
  int64_t camera, number;  ///< of the dataset: camera, episode
  int64_t begin, end;      ///< frames of the episode
};

/// Pieces in the order of the files. Long episodes are cut, so that all threads have work to the end.
std::vector<Piece> cut(const Dataset& dataset) {
  constexpr int64_t kLongest = 2000;
  std::vector<Piece> pieces;
  for (int64_t camera = 0; camera < static_cast<int64_t>(dataset.cameras().size()); ++camera) {
    for (int64_t number = 0; number < dataset.num_episodes(); ++number) {
      const int64_t length = dataset.episode(number).length;
      for (int64_t begin = 0; begin < length; begin += kLongest) {
        pieces.push_back({camera, number, begin, std::min(length, begin + kLongest)});
      }
    }
  }
  return pieces;
}

/// Sums of the differences between pictures before and after JPEG.
struct Differences {
  double squares = 0, sum = 0;
  int64_t values = 0, largest = 0, pictures = 0;

  void add(const media::Picture& a, const media::Picture& b) {
    int64_t squares_here = 0, sum_here = 0;
    for (size_t i = 0; i < a.rgb.size(); ++i) {
      const int64_t difference = std::abs(static_cast<int>(a.rgb[i]) - static_cast<int>(b.rgb[i]));
      squares_here += difference * difference;
      sum_here += difference;
      largest = std::max(largest, difference);
    }
    squares += static_cast<double>(squares_here);
    sum += static_cast<double>(sum_here);
    values += static_cast<int64_t>(a.rgb.size());
    ++pictures;
  }

  void add(const Differences& other) {
    squares += other.squares;
    sum += other.sum;
    values += other.values;
    pictures += other.pictures;
    largest = std::max(largest, other.largest);
  }

  Json to_json() const {
    constexpr double kPeak = 255.0;
    const double n = static_cast<double>(std::max<int64_t>(1, values));
    const double psnr = squares > 0 ? 10.0 * std::log10(kPeak * kPeak * n / squares) : HUGE_VAL;
    return Json::object({{"psnr_db", std::isfinite(psnr) ? Json(psnr) : Json()},
                         {"mean_abs", sum / n},
                         {"max_abs", largest},
                         {"pictures", pictures}});
  }
};

/// Three planes to rows of RGB pixels.
void join_planes(std::span<const uint8_t> planes, int64_t height, int64_t width, media::Picture& out) {
  out.resize(static_cast<int>(width), static_cast<int>(height));
  const size_t n = planes.size() / 3;
  for (size_t i = 0; i < n; ++i) {
    out.rgb[3 * i] = planes[i];
    out.rgb[3 * i + 1] = planes[n + i];
    out.rgb[3 * i + 2] = planes[2 * n + i];
  }
}

/// What one thread needs.
class Worker {
 public:
  Worker(const Dataset& dataset, const FrameCacheHeader& header, FrameCacheWriter& writer)
      : dataset_(dataset),
        header_(header),
        writer_(writer),
        source_(/*max_open_files=*/8),
        fit_(ImageTransforms::kNone, static_cast<int>(header.height), static_cast<int>(header.width)),
        planes_(static_cast<size_t>(header.picture_bytes())) {}

  void work(const Piece& piece, const std::atomic<bool>& stop, Progress& progress) {
    const int64_t first = header_.episodes[static_cast<size_t>(piece.number)].first_frame;
    for (int64_t frame = piece.begin; frame < piece.end && !stop; ++frame) {
      check_interrupt();
      try {
        const PictureRef ref = dataset_.picture(piece.camera, dataset_.first_position(piece.number) + frame);
        fit_.to_uint8(source_.read(ref), /*is_wrist=*/false, /*seed=*/0, planes_);
      } catch (const Error& error) {
        const std::string place = str_cat("episode ", dataset_.episode(piece.number).episode_index, ", frame ", frame,
                                          ", ", dataset_.cameras()[static_cast<size_t>(piece.camera)].name);
        throw Error(error.kind(), error.what(),
                    str_cat(error.where().empty() ? dataset_.root() : error.where(), ", ", place), error.hint());
      }
      write(header_.picture_number(first + frame, piece.camera));
      progress.advance();
    }
  }

  const Differences& differences() const { return differences_; }

 private:
  void write(int64_t number) {
    if (!header_.is_jpeg) {
      writer_.write(number, planes_);
      return;
    }
    join_planes(planes_, header_.height, header_.width, picture_);
    const std::vector<uint8_t> jpeg =
        media::encode_jpeg(picture_, static_cast<int>(header_.quality), /*full_colour=*/true);
    writer_.write(number, jpeg);
    media::decode_image(jpeg, "", decoded_);
    differences_.add(picture_, decoded_);
  }

  const Dataset& dataset_;
  const FrameCacheHeader& header_;
  FrameCacheWriter& writer_;
  PictureSource source_;
  PictureFit fit_;
  std::vector<uint8_t> planes_;
  media::Picture picture_, decoded_;
  Differences differences_;
};

/// @return  what JPEG changed
Differences decode_all(const Dataset& dataset, const FrameCacheHeader& header, FrameCacheWriter& writer,
                       ThreadPool& pool) {
  const std::vector<Piece> pieces = cut(dataset);
  std::vector<Differences> differences(static_cast<size_t>(pool.size()));
  std::atomic<size_t> next{0};
  std::atomic<bool> stop{false};
  Progress progress("decoding", header.num_pictures(), "pictures");
  pool.parallel_for(pool.size(), [&](int64_t thread) {
    Worker worker(dataset, header, writer);
    try {
      for (size_t i = next++; i < pieces.size() && !stop; i = next++) {
        worker.work(pieces[i], stop, progress);
      }
    } catch (...) {
      stop = true;
      throw;
    }
    differences[static_cast<size_t>(thread)] = worker.differences();
  });
  Differences all;
  for (const Differences& part : differences) {
    all.add(part);
  }
  return all;
}

void hash_sources(const Dataset& dataset, FrameCacheHeader& header, ThreadPool& pool) {
  pool.parallel_for(static_cast<int64_t>(header.sources.size()), [&](int64_t i) {
    FrameCacheHeader::Source& source = header.sources[static_cast<size_t>(i)];
    source.hash = hash_file(str_cat(dataset.root(), "/", source.path));
  });
  const FrameCacheHeader now = describe_frames(dataset);
  for (size_t i = 0; i < header.sources.size(); ++i) {
    if (now.sources[i].size != header.sources[i].size || now.sources[i].mtime_ns != header.sources[i].mtime_ns) {
      throw Error(ErrorKind::kFile, "the file changed while the cache was made",
                  str_cat(dataset.root(), "/", header.sources[i].path), "run the command again");
    }
  }
}

}  // namespace

FrameCacheSummary make_frame_cache(const Dataset& dataset, const FrameCacheOptions& options) {
  const double start = wall_seconds();
  if (dataset.cameras().empty()) {
    throw Error(ErrorKind::kData, "the dataset has no camera with pictures", dataset.root());
  }
  FrameCacheHeader header = describe_frames(dataset);
  header.is_jpeg = options.is_jpeg;
  header.height = options.height;
  header.width = options.width;
  header.quality = options.is_jpeg ? options.quality : 0;
  header.decoder = media::library_versions();
  FrameCacheWriter writer(options.path, header);
  ThreadPool pool(std::max(1, options.num_threads));
  const Differences differences = decode_all(dataset, header, writer, pool);
  header.jpeg_error = options.is_jpeg ? differences.to_json() : Json();
  hash_sources(dataset, header, pool);
  check_interrupt();
  FrameCacheSummary summary{.pictures = header.num_pictures(), .jpeg_error = header.jpeg_error};
  summary.bytes = writer.finish(header);
  summary.seconds = wall_seconds() - start;
  return summary;
}

}  // namespace flexor::data
