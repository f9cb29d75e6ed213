#include "curate/episode_pictures.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "data/picture_source.h"
#include "media/shrink.h"
#include "media/video_reader.h"
#include "media/video_writer.h"

namespace flexor::curate {
namespace {

namespace fs = std::filesystem;

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

std::vector<data::Shot> strip_of(const data::Dataset& dataset, int64_t camera, int64_t count) {
  const int64_t length = dataset.episode(0).length, n = std::min(length, std::max<int64_t>(1, count));
  std::vector<int64_t> frames;
  for (int64_t i = 0; i < n; ++i) {
    frames.push_back(n == 1 ? 0 : (i * (length - 1) + (n - 1) / 2) / (n - 1));
  }
  return data::shots_of(dataset, camera, 0, frames, {.width = 320, .quality = 85});
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
    media::shrink(picture, media::shrink_factor(picture.width, kWidth), /*multiple=*/2, small);
    writer = writer ? std::move(writer) : make_writer(file, small, dataset.info().fps);
    writer->write(small);
    progress.advance();
  }
  writer->finish();
  return {bytes_of(file), false};
}

}  // namespace flexor::curate
