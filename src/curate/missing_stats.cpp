#include "curate/missing_stats.h"

#include <map>
#include <memory>

#include "curate/episode_stats.h"
#include "data/image_store.h"
#include "data/picture_source.h"
#include "table/row_copy.h"

namespace flexor::curate {

struct MissingStats::State {
  const RewritePlan& plan;
  const std::vector<TableColumn>& columns;
  EpisodeRows rows;
  data::PictureSource pictures = data::PictureSource(4);
  std::map<std::string, std::unique_ptr<data::ImageStore>> images = {};  ///< by root

  data::ImageStore& image_store(const std::string& root) {
    constexpr size_t kCacheBytes = 64 << 20;
    auto& store = images[root];
    if (!store) {
      store = std::make_unique<data::ImageStore>(root, kCacheBytes);
    }
    return *store;
  }

  CameraEpisode camera_episode(size_t number) const {
    const SourceEpisode& episode = plan.episode(number);
    CameraEpisode camera;
    camera.fps = plan.model().info.fps.value();
    camera.data_file = episode.data_file;
    camera.first_row = episode.first_row;
    camera.length = episode.length;
    camera.episode_index = episode.episode_index;
    return camera;
  }

  void add_columns(size_t number, const table::Rows& episode, schema::NormStats& stats) {
    const EpisodePlace place{{}, episode.path(), plan.episode(number).episode_index};
    for (const TableColumn& column : columns) {
      const data::FeatureInfo& feature = column.feature;
      if (feature.is_numeric()) {
        const table::NumericColumn values = episode.numeric(column.form.name);
        EpisodePlace here = place;
        here.feature = column.form.name;
        schema::FeatureStats of_feature = numeric_episode_stats(values.values, values.width, 0, values.rows, here);
        of_feature.shape = feature.shape.empty() ? std::vector<int64_t>{1} : feature.shape;
        stats[column.form.name] = std::move(of_feature);
      } else if (feature.dtype == "image" && !feature.is_depth) {
        CameraEpisode camera = camera_episode(number);
        camera.column = column.form.name;
        const std::string& root = plan.sources[plan.episodes[number].source]->info.root;
        stats[column.form.name] = camera_episode_stats(pictures, image_store(root), camera);
      }
    }
  }

  void add_videos(size_t number, schema::NormStats& stats) {
    const auto& cameras = plan.model().cameras;
    for (size_t i = 0; i < cameras.size(); ++i) {
      if (!cameras[i].is_depth) {
        const SourceVideo& video = plan.video(number, i);
        CameraEpisode camera = camera_episode(number);
        camera.video_path = video.path;
        camera.column = cameras[i].recorded_name;
        camera.from_s = static_cast<double>(video.first_frame) / camera.fps;
        const std::string& root = plan.sources[plan.episodes[number].source]->info.root;
        stats[cameras[i].recorded_name] = camera_episode_stats(pictures, image_store(root), camera);
      }
    }
  }
};

MissingStats::MissingStats(const RewritePlan& plan, const std::vector<TableColumn>& columns)
    : state_(new State{.plan = plan, .columns = columns, .rows = EpisodeRows(plan, columns)}) {}
MissingStats::~MissingStats() = default;

schema::NormStats MissingStats::compute(size_t number) {
  RowChanges ignored;
  schema::NormStats stats;
  const table::Rows episode = state_->rows.read(number, ignored);
  if (episode.num_rows() > 0) {
    state_->add_columns(number, episode, stats);
    state_->add_videos(number, stats);
  }
  return stats;
}

}  // namespace flexor::curate
