#include "curate/video_rewrite.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "media/video_copy.h"
#include "media/video_reencode.h"

namespace flexor::curate {
namespace {

struct VideoWork {
  const RewritePlan& plan;
  std::string root;
  bool reencode;
  VideoOutcome& outcome;
  std::function<void(int64_t)> on_frames;
};

/// Episodes that follow each other in one source file, and what is copied for them.
struct CopiedRun {
  media::VideoPart part;
  std::vector<size_t> episodes;
};

std::vector<CopiedRun> runs_of(const RewritePlan& plan, size_t camera, const std::vector<size_t>& episodes) {
  std::vector<CopiedRun> runs;
  for (const size_t number : episodes) {
    const SourceVideo& video = plan.video(number, camera);
    media::VideoPart* last = runs.empty() ? nullptr : &runs.back().part;
    if (last && last->num_frames >= 0 && video.num_frames >= 0 && last->path == video.path &&
        last->first_frame + last->num_frames == video.first_frame) {
      last->num_frames += video.num_frames;
    } else {
      runs.push_back({{video.path, video.first_frame, video.num_frames, plan.episode(number).length}, {}});
    }
    runs.back().episodes.push_back(number);
  }
  return runs;
}

/// One camera's file.
class FileRewrite {
 public:
  FileRewrite(const VideoWork& work, size_t camera, const OutputFile& file)
      : work_(work), camera_(camera), file_(file), runs_(runs_of(work.plan, camera, file.episodes)) {
    for (const CopiedRun& run : runs_) {
      parts_.push_back(run.part);
    }
  }

  void write(media::VideoCopier& copier) {
    const std::string path = work_.root + "/" + file_.path;
    media::CopyResult result = copier.copy(parts_, path);
    if (result.obstacle && !work_.reencode) {
      throw Error(ErrorKind::kData, str_cat("video packets cannot be copied: ", result.obstacle->what),
                  result.obstacle->where, "--reencode encodes just this video again");
    }
    if (result.obstacle) {
      log_info("video is encoded again", {{"file", file_.path}, {"reason", result.obstacle->what}});
      result.num_frames = media::reencode_parts(parts_, path, settings());
    }
    set_spans(result.num_frames);
    const std::lock_guard lock(work_.outcome.mutex);
    if (result.obstacle) {
      work_.outcome.reencoded.push_back(file_.path);
    } else {
      ++work_.outcome.copied;
    }
  }

 private:
  const data::FeatureInfo& camera() const { return work_.plan.model().cameras[camera_]; }

  media::EncodeSettings settings() const {
    media::EncodeSettings settings;
    const Json& info = camera().info;
    const auto text = [&](std::string_view key, std::string& value) {
      const Json* said = info.find(key);
      value = said && said->is_string() ? said->as_string() : value;
    };
    const auto whole = [&](std::string_view key, int& value) {
      const Json* said = info.find(key);
      value = said && said->is_number() ? static_cast<int>(said->as_double()) : value;
    };
    text("video.codec", settings.codec);
    text("video.pix_fmt", settings.pix_fmt);
    whole("video.g", settings.gop);
    whole("video.crf", settings.crf);
    settings.lossless = camera().is_depth;
    return settings;
  }

  void set_spans(const std::vector<int64_t>& num_frames) {
    const double fps = work_.plan.model().info.fps.value();
    double from_s = 0;
    for (size_t i = 0; i < runs_.size(); ++i) {
      for (const size_t number : runs_[i].episodes) {
        const int64_t planned = work_.plan.video(number, camera_).num_frames;
        const int64_t frames = planned >= 0 ? planned : num_frames.at(i);
        check_frames(number, frames);
        const double duration_s = static_cast<double>(frames) / fps;
        work_.outcome.spans[camera_][number] = {from_s, from_s + duration_s};
        from_s += duration_s;
        work_.on_frames(work_.plan.episode(number).length);
      }
    }
  }

  void check_frames(size_t number, int64_t frames) const {
    const SourceEpisode& episode = work_.plan.episode(number);
    if (frames < episode.length) {
      throw Error(ErrorKind::kData, str_cat("video has ", frames, " frames, the episode ", episode.length, " rows"),
                  str_cat(work_.plan.video(number, camera_).path, ", episode ", episode.episode_index),
                  "record the episode again, or leave it out: flexor dataset delete-episodes");
    }
  }

  const VideoWork& work_;
  size_t camera_;
  const OutputFile& file_;
  std::vector<CopiedRun> runs_;
  std::vector<media::VideoPart> parts_;
};

}  // namespace

std::vector<Job> video_jobs(const RewritePlan& plan, const FileLayout& layout, const std::string& root, bool reencode,
                            VideoOutcome& outcome, const std::function<void(int64_t)>& on_frames) {
  const auto work = std::make_shared<VideoWork>(VideoWork{plan, root, reencode, outcome, on_frames});
  outcome.spans.assign(layout.videos.size(), std::vector<VideoSpan>(plan.episodes.size()));
  std::vector<Job> jobs;
  for (size_t camera = 0; camera < layout.videos.size(); ++camera) {
    const std::vector<OutputFile>& files = layout.videos[camera];
    for (size_t first = 0; first < files.size();) {  // files out of one source file are written in one pass over it
      size_t last = first + 1;
      const auto source_of = [&](size_t file) -> const std::string& {
        return plan.video(files[file].episodes.front(), camera).path;
      };
      while (last < files.size() && source_of(last) == source_of(first)) {
        ++last;
      }
      jobs.emplace_back([work, camera, &files, first, last] {
        media::VideoCopier copier;
        for (size_t file = first; file < last; ++file) {
          check_interrupt();
          FileRewrite(*work, camera, files[file]).write(copier);
        }
      });
      first = last;
    }
  }
  return jobs;
}

}  // namespace flexor::curate
