#include "curate/damage_fixture.h"

namespace flexor::curate {
namespace {

std::vector<Damage> pictures() {
  return {
      warning("CameraWithoutFiles", "v21_h264", [](D d) { d.remove("videos/chunk-000/observation.images.top"); },
              {.code = "camera_without_files", .file = "", .feature = kTop}),
      error("VideoPathLeadsNowhere", "v21_h264",
            [](D d) {
              d.edit_json(kInfo, [](Json& j) { j["video_path"] = "v99.0/{video_key}/{episode_index:06d}.mp4"; });
            },
            {.code = "camera_misplaced", .file = kInfo, .feature = kTop}),
      error("VideoPathLeadsNowhereInV30", "v30_small",
            [](D d) {
              d.edit_json(kInfo, [](Json& j) {
                j["video_path"] = "v99.0/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4";
              });
            },
            {.code = "camera_misplaced", .file = kInfo, .feature = kTop}),
      error("CameraOfAnotherName", "v21_h264",
            [](D d) { d.replace(kInfo, "\"observation.images.top\"", "\"observation.images.front\""); },
            {.code = "camera_misplaced", .file = kInfo, .feature = "observation.images.front"}),
      warning("CameraWithoutFilesBesideVideosOfMoreEpisodes", "v21_h264",
              [](D d) {
                d.remove("videos/chunk-000/observation.images.top");
                d.copy(wrist(0), wrist(7));
              },
              {.code = "camera_without_files", .file = "", .feature = kTop}),
      error("CameraMissing", "v21_h264", [](D d) { d.remove(top(2)); },
            {.code = "camera_missing", .file = top(2), .episode = 2, .feature = kTop}),
      error("VideoIsAPointer", "v21_h264", [](D d) { d.write(top(5), kPointer); },
            {.code = "lfs_pointer", .file = top(5), .episode = 5, .feature = kTop}),
      error("VideoCut", "v21_h264", [](D d) { d.cut(top(1), 100); },
            {.code = "video_truncated", .file = top(1), .episode = 1, .feature = kTop}),
      error("VideoIsNone", "v21_h264", [](D d) { d.write(top(1), std::string(5000, 'x')); },
            {.code = "video_unreadable", .file = top(1), .episode = 1, .feature = kTop}),
      error("VideoTooShort", "v21_h264", [](D d) { d.copy(top(3), top(2)); },
            {.code = "video_too_short", .file = top(2), .episode = 2, .frame = 25, .feature = kTop}),
      warning("VideoTooLong", "v21_h264", [](D d) { d.copy(top(2), top(3)); },
              {.code = "video_too_long", .file = top(3), .episode = 3, .feature = kTop}),
      error("VideoOfAnotherCamera", "v21_h264", [](D d) { d.copy(wrist(0), top(0)); },
            {.code = "video_size", .file = top(0), .episode = 0, .feature = kTop}),
      error("VideoCodec", "v21_h264",
            [](D d) { d.edit_json(kInfo, [](Json& j) { j["features"][kTop]["info"]["video.codec"] = "av1"; }); },
            {.code = "video_format", .file = top(0), .episode = 0, .feature = kTop}),
      error("VideoOffGrid", "v30_small",
            [](D d) { d.set<double>(kV3Episodes, "videos/observation.images.top/from_timestamp", 1, 3.23); },
            {.code = "video_off_grid", .file = kV3Top, .episode = 1, .feature = kTop}),
      error("VideoOverlap", "v30_small",
            [](D d) { d.set<double>(kV3Episodes, "videos/observation.images.top/from_timestamp", 1, 3.0); },
            {.code = "video_overlap", .file = kV3Top, .episode = 1, .feature = kTop}),
      error("VideoRange", "v30_small",
            [](D d) { d.set<double>(kV3Episodes, "videos/observation.images.top/to_timestamp", 0, 3.0); },
            {.code = "video_range", .file = kV3Top, .episode = 0, .feature = kTop}),
      error("WrongVideoFile", "v30_small",
            [](D d) { d.set<int64_t>(kV3Episodes, "videos/observation.images.top/file_index", 5, 1); },
            {.code = "camera_missing",
             .file = "videos/observation.images.top/chunk-001/file-001.mp4",
             .episode = 5,
             .feature = kTop}),
      error("ImageDamaged", "v30_images",
            [](D d) {
              d.edit_table(kV3Data,
                           [](Columns& c) { DamagedDataset::values<table::ImageCell>(c, kTop)[0].bytes.resize(60); });
            },
            {.code = "image_unreadable", .file = kV3Data, .episode = 0, .frame = 0, .feature = kTop}),
      error("ImageSize", "v30_images",
            [](D d) { d.edit_json(kInfo, [](Json& j) { j["features"][kTop]["shape"] = Json::Array{64, 64, 3}; }); },
            {.code = "image_size", .file = kV3Data, .episode = 0, .frame = 0, .feature = kTop}),
  };
}

std::vector<Damage> statistics() {
  return {
      warning("NoStatistics", "v30_small", [](D d) { d.remove("meta/stats.json"); },
              {.code = "stats_missing", .file = "meta/stats.json"}),
      error("StatisticsAreNoJson", "v30_small", [](D d) { d.cut("meta/stats.json", 10); },
            {.code = "stats_unreadable", .file = "meta/stats.json"}),
      error("BrokenStatisticsLine", "v21_h264",
            [](D d) { d.replace(kEpisodeStats, "\"episode_index\": 3,", "\"episode_index\" 3,"); },
            {.code = "stats_unreadable", .file = kEpisodeStats}),
      error("StatisticsOfOtherData", "v30_from_v21",
            [](D d) { d.edit_json("meta/stats.json", [](Json& j) { j["action"]["mean"].as_array()[2] = 0.9; }); },
            {.code = "stats_mismatch", .file = "meta/stats.json", .feature = "action"}),
      error("StatisticsOfAnotherEpisode", "v21_h264",
            [](D d) {
              std::string text = read_file(d.path(kEpisodeStats));
              const std::string two = "{\"episode_index\": 2,", five = "{\"episode_index\": 5,";
              text.replace(text.find(two), two.size(), "{\"episode_index\": 9,");
              text.replace(text.find(five), five.size(), two);
              text.replace(text.find("{\"episode_index\": 9,"), two.size(), five);
              d.write(kEpisodeStats, text);
            },
            {.code = "stats_mismatch", .file = kEpisodeStats, .episode = 2, .feature = "action"}),
      error("StatisticsShape", "v30_from_v21",
            [](D d) {
              d.edit_json("meta/stats.json", [](Json& j) {
                for (const auto* stat : {"min", "max", "mean", "std"}) {
                  j["action"][stat].as_array().pop_back();
                }
              });
            },
            {.code = "stats_shape", .file = "meta/stats.json", .feature = "action"}),
      error("StatisticsNan", "v30_from_v21",
            [](D d) {
              d.edit_json("meta/stats.json",
                          [](Json& j) { j["action"]["std"].as_array()[0] = std::numeric_limits<double>::quiet_NaN(); });
            },
            {.code = "stats_not_finite", .file = "meta/stats.json", .feature = "action"}),
      error("StatisticsOrder", "v30_small",
            [](D d) { d.edit_json("meta/stats.json", [](Json& j) { j["action"]["q01"].as_array()[0] = 50.0; }); },
            {.code = "stats_order", .file = "meta/stats.json", .feature = "action"}),
      warning("StatisticsCount", "v30_small",
              [](D d) { d.edit_json("meta/stats.json", [](Json& j) { j["action"]["count"].as_array()[0] = 250; }); },
              {.code = "stats_count", .file = "meta/stats.json", .feature = "action"}),
  };
}

class PicturesDamage : public ::testing::TestWithParam<Damage> {};

TEST_P(PicturesDamage, IsReportedWithItsPlaceAndTrainingDecidesAlike) {
  expect_reported(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Pictures, PicturesDamage, ::testing::ValuesIn(pictures()),
                         [](const auto& damage) { return damage.param.name; });
INSTANTIATE_TEST_SUITE_P(Statistics, PicturesDamage, ::testing::ValuesIn(statistics()),
                         [](const auto& damage) { return damage.param.name; });

}  // namespace
}  // namespace flexor::curate
