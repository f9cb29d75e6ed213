#include "media/video_index.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavcodec/packet.h>
}

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "media/mp4_samples.h"
#include "media/video_file.h"

namespace flexor::media {
namespace {

/// Sorts both lists by presentation time.
void sort_pictures(VideoIndex& index) {
  std::vector<size_t> order(index.pts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return index.pts[a] < index.pts[b]; });
  std::vector<int64_t> pts;
  std::vector<bool> is_key;
  pts.reserve(order.size());
  is_key.reserve(order.size());
  for (const size_t i : order) {
    pts.push_back(index.pts[i]);
    is_key.push_back(index.is_key[i]);
  }
  index.pts = std::move(pts);
  index.is_key = std::move(is_key);
}

void read_packets(VideoFile& file, VideoIndex& index) {
  const AvPtr<AVPacket> packet = make_packet();
  file.seek(index.info.start_pts);
  while (file.next(*packet)) {
    index.pts.push_back(packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts);
    index.is_key.push_back((packet->flags & AV_PKT_FLAG_KEY) != 0);
    av_packet_unref(packet.get());
  }
}

/// True if the tables were understood as FFmpeg understands them.
bool use_samples(const std::string& path, VideoIndex& index) {
  auto samples = read_mp4_samples(path);
  if (!samples || index.info.time_base.num != 1 || samples->timescale != index.info.time_base.den ||
      *std::min_element(samples->pts.begin(), samples->pts.end()) != index.info.start_pts) {
    return false;
  }
  index.pts = std::move(samples->pts);
  index.is_key = std::move(samples->is_key);
  return true;
}

}  // namespace

VideoIndex read_video_index(const std::string& path) {
  VideoFile file(path);
  if (avcodec_find_decoder(file.parameters().codec_id) == nullptr) {
    throw Error(ErrorKind::kData, str_cat("no decoder for codec ", file.info().codec), path,
                "install an FFmpeg that has it, or encode the video as h264");
  }
  VideoIndex index{file.info(), {}, {}};
  if (!use_samples(path, index)) {
    read_packets(file, index);
  }
  sort_pictures(index);
  return index;
}

}  // namespace flexor::media
