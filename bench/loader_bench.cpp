// How much the loader adds to decoding. One JSON line a case, pictures per CPU second:
//   plain   libavcodec alone: seek, decode up to the wanted picture, convert to RGB24; files opened once
//   reader  data::BatchReader on one thread: the same, plus resize_with_pad to uint8 224x224 and 50-step action windows
// and, by the wall clock, pictures per second of data::Loader with two workers. The cases take turns.
//
//   loader_bench [DATASET [ROUNDS [PICTURES]]]     default: the project's small example
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>
}

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "data/loader.h"
#include "media/av_handle.h"

namespace {

using namespace flexor;
using namespace flexor::data;

constexpr int64_t kBatchSize = 8;

/// A video as a program opens it that knows libavcodec only.
struct PlainVideo {
  media::AvPtr<AVFormatContext> file;
  media::AvPtr<AVCodecContext> decoder;
  media::AvPtr<SwsContext> scaler;
  int stream = 0;
  int64_t frames = 0, tick = 0;
};

PlainVideo open_plain(const std::string& path) {
  PlainVideo video;
  AVFormatContext* raw = nullptr;
  if (avformat_open_input(&raw, path.c_str(), nullptr, nullptr) < 0) {
    throw Error(ErrorKind::kFile, "cannot open", path);
  }
  video.file.reset(raw);
  avformat_find_stream_info(raw, nullptr);
  const AVCodec* codec = nullptr;
  video.stream = av_find_best_stream(raw, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
  const AVStream& stream = *raw->streams[video.stream];
  video.decoder.reset(avcodec_alloc_context3(codec));
  avcodec_parameters_to_context(video.decoder.get(), stream.codecpar);
  video.decoder->thread_count = 1;
  avcodec_open2(video.decoder.get(), codec, nullptr);
  video.frames = stream.nb_frames;
  video.tick = av_rescale_q(1, av_inv_q(stream.avg_frame_rate), stream.time_base);
  return video;
}

void read_plain(PlainVideo& video, int64_t pts, AVPacket& packet, AVFrame& frame, std::vector<uint8_t>& rgb) {
  av_seek_frame(video.file.get(), video.stream, pts, AVSEEK_FLAG_BACKWARD);
  avcodec_flush_buffers(video.decoder.get());
  bool drained = false;
  while (true) {
    const int rc = avcodec_receive_frame(video.decoder.get(), &frame);
    if (rc >= 0 && frame.pts >= pts) {
      break;
    }
    if (rc == AVERROR_EOF) {
      throw Error(ErrorKind::kData, "no such picture");
    }
    if (rc == AVERROR(EAGAIN) && !drained) {
      drained = av_read_frame(video.file.get(), &packet) < 0;
      avcodec_send_packet(video.decoder.get(), drained ? nullptr : &packet);
      av_packet_unref(&packet);
    }
  }
  if (!video.scaler) {
    video.scaler.reset(sws_getContext(frame.width, frame.height, static_cast<AVPixelFormat>(frame.format), frame.width,
                                      frame.height, AV_PIX_FMT_RGB24, SWS_BILINEAR, nullptr, nullptr, nullptr));
  }
  rgb.resize(static_cast<size_t>(frame.width) * static_cast<size_t>(frame.height) * 3 + 64);
  uint8_t* const planes[4] = {rgb.data(), nullptr, nullptr, nullptr};
  const int strides[4] = {frame.width * 3, 0, 0, 0};
  sws_scale(video.scaler.get(), frame.data, frame.linesize, 0, frame.height, planes, strides);
}

class Plain {
 public:
  explicit Plain(const std::string& root) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() == ".mp4") {
        videos_.push_back(open_plain(entry.path().string()));
      }
    }
  }

  double pictures_per_cpu_s(int64_t count) {
    const double start = process_cpu_seconds();
    for (int64_t i = 0; i < count; ++i) {
      PlainVideo& video = videos_[random_() % videos_.size()];
      const auto number = static_cast<int64_t>(random_() % static_cast<uint64_t>(video.frames));
      read_plain(video, number * video.tick, *packet_, *frame_, rgb_);
    }
    return static_cast<double>(count) / (process_cpu_seconds() - start);
  }

 private:
  std::vector<PlainVideo> videos_;
  media::AvPtr<AVPacket> packet_ = media::make_packet();
  media::AvPtr<AVFrame> frame_ = media::make_frame();
  std::vector<uint8_t> rgb_;
  std::mt19937_64 random_{1};
};

LoaderConfig loader_config(int num_workers) {
  LoaderConfig config;
  config.num_workers = num_workers;
  config.sampler.batch_size = kBatchSize;
  return config;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void print(const char* name, const char* unit, const std::string& dataset, const std::vector<double>& values) {
  std::printf(
      "{\"bench\": \"loader\", \"case\": \"%s\", \"dataset\": \"%s\", \"unit\": \"%s\", \"median\": %.5g, "
      "\"min\": %.5g, \"max\": %.5g, \"n\": %zu}\n",
      name, dataset.c_str(), unit, median(values), *std::min_element(values.begin(), values.end()),
      *std::max_element(values.begin(), values.end()), values.size());
}

void measure(const std::string& root, int rounds, int64_t pictures) {
  DatasetOptions options;
  options.root = root;
  const auto mixture = std::make_shared<const Mixture>(Dataset::open(options));
  const int64_t per_batch = kBatchSize * static_cast<int64_t>(mixture->cameras().size());
  const int64_t batches = std::max<int64_t>(1, pictures / per_batch);
  Plain plain(root);
  Loader alone(mixture, loader_config(0));
  plain.pictures_per_cpu_s(pictures / 2);
  for (int64_t i = 0; i < batches; ++i) {
    alone.next();  // opens the files, as `plain` has done
  }
  std::vector<double> plain_rate, reader_rate, ratio, wall_rate;
  for (int round = 0; round < rounds; ++round) {
    plain_rate.push_back(plain.pictures_per_cpu_s(pictures));
    const double cpu = process_cpu_seconds();
    for (int64_t i = 0; i < batches; ++i) {
      alone.next();
    }
    reader_rate.push_back(static_cast<double>(batches * per_batch) / (process_cpu_seconds() - cpu));
    ratio.push_back(reader_rate.back() / plain_rate.back());
  }
  {
    Loader loader(mixture, loader_config(2));
    for (int round = -1; round < rounds; ++round) {
      const double start = wall_seconds();
      for (int64_t i = 0; i < batches; ++i) {
        loader.next();
      }
      if (round >= 0) {
        wall_rate.push_back(static_cast<double>(batches * per_batch) / (wall_seconds() - start));
      }
    }
  }
  print("plain", "pictures per CPU second", root, plain_rate);
  print("reader", "pictures per CPU second", root, reader_rate);
  print("reader / plain", "1", root, ratio);
  print("loader, 2 workers", "pictures per second", root, wall_rate);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    media::quiet_av_log();
    measure(argc > 1 ? argv[1] : FLEXOR_BENCH_DATASET, argc > 2 ? std::atoi(argv[2]) : 5,
            argc > 3 ? std::atoll(argv[3]) : 320);
  } catch (const std::exception& exception) {
    std::fputs(format_error(to_error(exception)).c_str(), stderr);
    return 1;
  }
  return 0;
}
