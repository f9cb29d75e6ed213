#include "media/packet_reader.h"

extern "C" {
#include <libavcodec/packet.h>
#include <libavformat/avformat.h>
}

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <unistd.h>
#include <utility>

#include "base/error.h"
#include "base/file_errors.h"
#include "base/str_cat.h"
#include "media/mp4_samples.h"
#include "media/video_file.h"

namespace flexor::media {
namespace {

constexpr int64_t kBlockBytes = 1 << 20;

struct Sample {
  int64_t position = 0, size = 0;  ///< in the file, bytes
  int64_t pts = 0, dts = 0;        ///< ticks
  bool is_key = false;
};

/// The samples by FFmpeg's index and the file's own tables; nothing unless both agree with each other and with the
/// first packet that FFmpeg reads.
std::optional<std::vector<Sample>> find_samples(VideoFile& file) {
  const VideoInfo& info = file.info();
  const auto tables = read_mp4_samples(file.path());
  auto* stream = const_cast<AVStream*>(&file.stream());  // the index is only read, by functions without const
  const int count = avformat_index_get_entries_count(stream);
  if (!tables || count <= 0 || tables->pts.size() != static_cast<size_t>(count) || info.time_base.num != 1 ||
      tables->timescale != info.time_base.den) {
    return std::nullopt;
  }
  std::vector<Sample> samples;
  samples.reserve(tables->pts.size());
  for (int i = 0; i < count; ++i) {
    const AVIndexEntry* entry = avformat_index_get_entry(stream, i);
    const auto place = static_cast<size_t>(i);
    const bool is_hidden = (entry->flags & AVINDEX_DISCARD_FRAME) != 0;
    const bool is_key = (entry->flags & AVINDEX_KEYFRAME) != 0;
    if (is_hidden || is_key != tables->is_key[place] || entry->timestamp > tables->pts[place] || entry->size <= 0) {
      return std::nullopt;
    }
    samples.push_back({entry->pos, entry->size, tables->pts[place], entry->timestamp, is_key});
  }
  const AvPtr<AVPacket> first = make_packet();
  file.seek(info.start_pts);
  const bool agrees = file.next(*first) && first->pts == samples[0].pts && first->dts == samples[0].dts &&
                      first->pos == samples[0].position && first->size == samples[0].size;
  return agrees ? std::optional(std::move(samples)) : std::nullopt;
}

}  // namespace

/// The samples and the part of the file that is in memory.
struct PacketReader::Samples {
  std::string path;
  std::vector<Sample> all;
  size_t next = 0;
  int descriptor = -1;
  std::vector<uint8_t> block = {};
  int64_t block_start = 0, block_size = 0;

  ~Samples() {
    if (descriptor >= 0) {
      ::close(descriptor);
    }
  }

  void open() {
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
      throw_file_error("cannot read the file", path, errno);
    }
  }

  /// The sample's bytes, followed by the room that FFmpeg wants behind them.
  uint8_t* load(const Sample& sample) {
    if (sample.position < block_start || sample.position + sample.size > block_start + block_size) {
      const int64_t wanted = std::max(kBlockBytes, sample.size);
      block.resize(static_cast<size_t>(wanted) + AV_INPUT_BUFFER_PADDING_SIZE);
      block_start = sample.position;
      block_size = 0;
      while (block_size < wanted) {
        const ssize_t got = ::pread(descriptor, block.data() + block_size, static_cast<size_t>(wanted - block_size),
                                    block_start + block_size);
        if (got < 0 && errno != EINTR) {
          throw_file_error("cannot read the file", path, errno);
        }
        if (got == 0) {
          break;
        }
        block_size += std::max<ssize_t>(got, 0);
      }
    }
    if (sample.size > block_size) {
      throw Error(ErrorKind::kData, str_cat("the file ends within a picture, at byte ", block_start + block_size), path,
                  "copy the file again");
    }
    return block.data() + (sample.position - block_start);
  }
};

PacketReader::PacketReader(VideoFile& file) : file_(file) {
  if (auto samples = find_samples(file)) {
    samples_.reset(new Samples{.path = file.path(), .all = std::move(*samples)});
    samples_->open();
  }
}
PacketReader::~PacketReader() = default;

void PacketReader::seek(int64_t pts) {
  if (!samples_) {
    file_.seek(pts);
    return;
  }
  const std::vector<Sample>& all = samples_->all;
  const auto found = std::find_if(all.rbegin(), all.rend(),
                                  [pts](const Sample& sample) { return sample.is_key && sample.pts <= pts; });
  samples_->next = found == all.rend() ? 0 : static_cast<size_t>(all.rend() - found) - 1;
}

bool PacketReader::next(AVPacket& packet) {
  if (!samples_) {
    return file_.next(packet);
  }
  av_packet_unref(&packet);
  if (samples_->next >= samples_->all.size()) {
    return false;
  }
  const Sample& sample = samples_->all[samples_->next++];
  packet.data = samples_->load(sample);
  packet.size = static_cast<int>(sample.size);
  packet.pts = sample.pts;
  packet.dts = sample.dts;
  packet.flags = sample.is_key ? AV_PKT_FLAG_KEY : 0;
  packet.pos = sample.position;
  return true;
}

}  // namespace flexor::media
