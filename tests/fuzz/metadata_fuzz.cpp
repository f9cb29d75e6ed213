// The first byte chooses the file of meta/ that the rest stands for; the others are those of a dataset that is well.
#include <functional>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "data/dataset_info.h"
#include "data/dataset_tasks.h"
#include "data/episode_records.h"
#include "data/stats_check.h"
#include "schema/norm_stats.h"
#include "scratch_folder.h"

namespace {

using namespace flexor;  // NOLINT(google-build-using-namespace)

constexpr std::string_view kInfo = R"({"codebase_version": "v2.1", "fps": 10, "features": {
  "action": {"dtype": "float32", "shape": [2], "names": ["a", "b"]},
  "observation.images.top": {"dtype": "video", "shape": [96, 96, 3], "names": ["height", "width", "channels"]}},
  "total_episodes": 1, "total_frames": 2, "total_tasks": 1, "total_videos": 1, "total_chunks": 1, "chunks_size": 1000,
  "splits": {"train": "0:1"}, "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
  "video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"})";

const char* const kFiles[] = {"meta/info.json", "meta/tasks.jsonl", "meta/episodes.jsonl", "meta/episodes_stats.jsonl",
                              "meta/stats.json"};

void attempt(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error&) {
  }
}

/// Everything that opening and checking a dataset does with its metadata, both ways: the first error ends it, or all
/// are listed.
void read_metadata(const std::string& root, bool is_stats) {
  std::vector<data::Finding> findings, broken;
  data::DatasetInfo info = data::read_dataset_info(root, findings);
  data::add_index_features(info);
  attempt([&] { (void)data::read_tasks(info, findings); });
  const data::TaskTable tasks = data::read_tasks(info, findings, &broken);
  attempt([&] { (void)data::read_episode_records(info, findings); });
  const auto records = data::read_episode_records(info, findings, &broken);
  data::check_totals(info, records, static_cast<int64_t>(tasks.size()), 1, findings);
  data::check_episode_stats(info, {}, findings);
  if (is_stats) {
    const std::string path = root + "/meta/stats.json";
    const auto stats = schema::norm_stats_from_json(Json::read_file(path), path);
    data::check_stored_stats(info, stats, {}, findings);
  }
  for (const data::Finding& finding : findings) {
    (void)data::to_json(finding).dump();
  }
}

}  // namespace

namespace {

/// The dataset that is well but for one file; files are written only when they change.
class Metadata {
 public:
  Metadata() {
    for (size_t i = 0; i < std::size(kFiles); ++i) {
      restore(i);
    }
  }
  const std::string& root() const { return folder_.path(); }

  void replace(size_t which, const uint8_t* data, size_t size) {
    if (which != replaced_) {
      restore(replaced_);
    }
    replaced_ = which;
    folder_.write(kFiles[which], data, size);
  }

 private:
  void restore(size_t which) const {
    constexpr std::string_view kTexts[] = {kInfo, "{\"task_index\": 0, \"task\": \"go\"}\n",
                                           "{\"episode_index\": 0, \"tasks\": [\"go\"], \"length\": 2}\n", "", "{}"};
    folder_.write(kFiles[which], reinterpret_cast<const uint8_t*>(kTexts[which].data()), kTexts[which].size());
  }

  flexor::fuzz::ScratchFolder folder_;
  size_t replaced_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  static Metadata metadata;
  if (size == 0) {
    return 0;
  }
  const size_t which = input[0] % std::size(kFiles);
  metadata.replace(which, input + 1, size - 1);
  attempt([&] { read_metadata(metadata.root(), which == 4); });
  return 0;
}
