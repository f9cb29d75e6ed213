#include "curate/episode_pictures.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/str_cat.h"
#include "data/picture_source.h"
#include "media/image_codec.h"
#include "media/video_reader.h"
#include "media/video_writer.h"

namespace flexor::curate {
namespace {

namespace fs = std::filesystem;

/// Means of factor x factor pixels; what is left over at the right and the bottom is dropped.
/// @param multiple  of the sides of `out`
void shrink(const media::Picture& picture, int factor, int multiple, media::Picture& out) {
  const auto side = [&](int size) { return std::max(1, size / factor / multiple * multiple); };
  out.resize(side(picture.width), side(picture.height));
  const int rows = std::min(factor, picture.height), columns = std::min(factor, picture.width);
  const int count = rows * columns;
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      for (int c = 0; c < 3; ++c) {
        int sum = count / 2;
        for (int dy = 0; dy < rows; ++dy) {
          for (int dx = 0; dx < columns; ++dx) {
            const int64_t pixel = int64_t{y * factor + dy} * picture.width + x * factor + dx;
            sum += picture.rgb[static_cast<size_t>(pixel * 3 + c)];
          }
        }
        out.rgb[static_cast<size_t>((int64_t{y} * out.width + x) * 3 + c)] = static_cast<uint8_t>(sum / count);
      }
    }
  }
}

int factor_for(int width, int wanted) {
  return std::max(1, static_cast<int>(std::lround(static_cast<double>(width) / wanted)));
}

/// A folder that goes away with this object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "flexor_show_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw Error(ErrorKind::kFile, "cannot make a temporary folder", fs::temp_directory_path().string(),
                  "set TMPDIR to a folder that can be written");
    }
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::vector<uint8_t> bytes_of(const std::string& path) {
  const std::string content = read_file(path);
  return {content.begin(), content.end()};
}

/// The recorded file can stand for the episode: nothing else is in it, and browsers play it.
bool is_playable(const media::VideoInfo& info, int64_t length) {
  return info.num_frames == length && (info.codec == "h264" || info.codec == "av1");
}

/// H.264, which every browser plays, by whichever encoder there is.
std::unique_ptr<media::VideoWriter> make_writer(const std::string& file, const media::Picture& picture,
                                                const data::FrameRate& fps) {
  media::VideoWriterOptions options{
      .width = picture.width, .height = picture.height, .fps_num = fps.num, .fps_den = fps.den, .codec = "libx264"};
  options.gop = 15;
  options.crf = 26;
  try {
    return std::make_unique<media::VideoWriter>(file, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kRuntime) {
      throw;
    }
  }
  options.codec = "libopenh264";
  return std::make_unique<media::VideoWriter>(file, options);
}

}  // namespace

std::vector<Shot> strip_of(const data::Dataset& dataset, int64_t camera, int64_t count) {
  constexpr int kWidth = 320, kQuality = 85;
  const int64_t length = dataset.episode(0).length, n = std::min(length, std::max<int64_t>(1, count));
  data::PictureSource source;
  media::Picture small;
  std::vector<Shot> shots;
  for (int64_t i = 0; i < n; ++i) {
    check_interrupt();
    Shot shot{n == 1 ? 0 : (i * (length - 1) + (n - 1) / 2) / (n - 1), {}, {}};
    try {
      const media::Picture& picture = source.read(dataset.picture(camera, shot.frame));
      shrink(picture, factor_for(picture.width, kWidth), /*multiple=*/1, small);
      shot.jpeg = media::encode_jpeg(small, kQuality);
    } catch (const Error& error) {
      shot.error = error.what();
      log_warn(str_cat("picture not shown: ", error.what()), {{"where", error.where()}, {"frame", shot.frame}});
    }
    shots.push_back(std::move(shot));
  }
  return shots;
}

EpisodeVideo video_of(const data::Dataset& dataset, int64_t camera) {
  const data::Episode& episode = dataset.episode(0);
  const std::string& path = episode.videos[static_cast<size_t>(camera)].path;
  if (!path.empty() && is_playable(media::probe_video(path), episode.length)) {
    return {bytes_of(path), true};
  }
  constexpr int kWidth = 480;
  const TemporaryFolder folder;
  const std::string file = folder.file("episode.mp4");
  data::PictureSource source;
  media::Picture small;
  std::unique_ptr<media::VideoWriter> writer;
  Progress progress("encoding", episode.length, "frames");
  for (int64_t frame = 0; frame < episode.length; ++frame) {
    check_interrupt();
    const media::Picture& picture = source.read(dataset.picture(camera, frame));
    shrink(picture, factor_for(picture.width, kWidth), /*multiple=*/2, small);
    writer = writer ? std::move(writer) : make_writer(file, small, dataset.info().fps);
    writer->write(small);
    progress.advance();
  }
  writer->finish();
  return {bytes_of(file), false};
}

}  // namespace flexor::curate
