#include "curate/damage_fixture.h"

namespace flexor::curate {
namespace {

std::vector<Damage> info_json() {
  return {
      error("NoInfo", "v21_h264", [](D d) { d.remove(kInfo); }, {.code = "info_missing", .file = ""}),
      error("InfoIsNoJson", "v21_h264", [](D d) { d.cut(kInfo, 20); }, {.code = "info_unreadable", .file = kInfo}),
      error("NoFps", "v30_small", [](D d) { d.edit_json(kInfo, [](Json& j) { j.erase("fps"); }); },
            {.code = "info_unreadable", .file = kInfo}),
      error("FractionOfAFrame", "v21_h264", [](D d) { d.edit_json(kInfo, [](Json& j) { j["total_frames"] = 1.5; }); },
            {.code = "info_unreadable", .file = kInfo}),
      error("FramesBeyond64Bits", "v30_small",
            [](D d) { d.replace(kInfo, "\"total_frames\": 251", "\"total_frames\": 9223372036854775808"); },
            {.code = "info_unreadable", .file = kInfo}),
      error("FractionOfADimension", "v21_h264",
            [](D d) { d.edit_json(kInfo, [](Json& j) { j["features"]["action"]["shape"] = Json::Array{1.5}; }); },
            {.code = "info_unreadable", .file = kInfo}),
      warning("FractionOfAVideo", "v21_h264", [](D d) { d.edit_json(kInfo, [](Json& j) { j["total_videos"] = 1.5; }); },
              {.code = "totals", .file = kInfo}),
      error("UnknownDtype", "v21_h264",
            [](D d) { d.edit_json(kInfo, [](Json& j) { j["features"]["action"]["dtype"] = "quaternion"; }); },
            {.code = "info_unreadable", .file = kInfo}),
      error("BadTemplate", "v21_h264",
            [](D d) { d.edit_json(kInfo, [](Json& j) { j["data_path"] = "data/{episode}.parquet"; }); },
            {.code = "info_unreadable", .file = kInfo}),
      warning("InfoBesideMeta", "v21_h264",
              [](D d) {
                d.copy(kInfo, "info.json");
                d.remove(kInfo);
              },
              {.code = "info_beside_meta", .file = "info.json"}),
      warning("FloatFps", "v21_h264", [](D d) { d.edit_json(kInfo, [](Json& j) { j["fps"] = 10.0; }); },
              {.code = "float_fps", .file = kInfo}),
      warning("NewerVersion", "v30_small",
              [](D d) { d.edit_json(kInfo, [](Json& j) { j["codebase_version"] = "v3.1"; }); },
              {.code = "newer_version", .file = kInfo}),
      warning("WrongTotal", "v21_h264", [](D d) { d.edit_json(kInfo, [](Json& j) { j["total_frames"] = 999; }); },
              {.code = "totals", .file = kInfo}),
      warning("WrongVideoTotal", "v21_h264", [](D d) { d.edit_json(kInfo, [](Json& j) { j["total_videos"] = 7; }); },
              {.code = "totals", .file = kInfo}),
      warning("WrongSplit", "v30_small",
              [](D d) { d.edit_json(kInfo, [](Json& j) { j["splits"]["train"] = "0:100"; }); },
              {.code = "splits", .file = kInfo}),
      error("WrongFps", "v21_h264", [](D d) { d.edit_json(kInfo, [](Json& j) { j["fps"] = 20; }); },
            {.code = "timestamp", .file = parquet(0), .episode = 0, .frame = 1, .feature = "timestamp"}),
  };
}

std::vector<Damage> tasks_and_episodes() {
  return {
      error("NoTasks", "v21_h264", [](D d) { d.remove(kTasks); }, {.code = "tasks_unreadable", .file = kTasks}),
      error("BrokenTaskLine", "v21_h264", [](D d) { d.replace(kTasks, "\"task_index\": 1", "\"task_index\" 1"); },
            {.code = "tasks_unreadable", .file = kTasks}),
      error("TaskTwice", "v21_h264", [](D d) { d.replace(kTasks, "\"task_index\": 1", "\"task_index\": 0"); },
            {.code = "task_duplicate", .file = kTasks}),
      error("TasksParquetCut", "v30_small", [](D d) { d.cut("meta/tasks.parquet", 30); },
            {.code = "tasks_unreadable", .file = "meta/tasks.parquet"}),
      warning("TasksInAnotherOrder", "v30_small",
              [](D d) {
                d.edit_table("meta/tasks.parquet", [](Columns& c) {
                  std::swap(DamagedDataset::values<int64_t>(c, "task_index")[0],
                            DamagedDataset::values<int64_t>(c, "task_index")[1]);
                  std::vector<std::string>* texts = nullptr;
                  for (auto& column : c) {
                    texts = std::holds_alternative<std::vector<std::string>>(column.values)
                                ? &std::get<std::vector<std::string>>(column.values)
                                : texts;
                  }
                  std::swap((*texts)[0], (*texts)[1]);
                });
              },
              {.code = "task_order", .file = "meta/tasks.parquet"}),
      warning("Latin1Task", "v21_h264",
              [](D d) {
                d.replace(kTasks, "\"reach the red", "\"erreiche das gr\xFCne");
                for (int i = 0; i < 3; ++i) {
                  d.replace(kEpisodes, "\"reach the red", "\"erreiche das gr\xFCne");
                }
              },
              {.code = "not_utf8", .file = kTasks}),
      warning("TaskTextTwice", "v21_h264",
              [](D d) {
                d.write(kTasks,
                        read_file(d.path(kTasks)) + "{\"task_index\": 2, \"task\": \"reach the red target\"}\n");
                d.edit_json(kInfo, [](Json& j) { j["total_tasks"] = 3; });
              },
              {.code = "task_repeated", .file = kTasks}),
      warning("EmptyTask", "v21_h264",
              [](D d) {
                d.write(kTasks, read_file(d.path(kTasks)) + "{\"task_index\": 2, \"task\": \" \"}\n");
                d.edit_json(kInfo, [](Json& j) { j["total_tasks"] = 3; });
              },
              {.code = "task_empty", .file = kTasks}),
      error("NoEpisodes", "v21_h264", [](D d) { d.write(kEpisodes, ""); }, {.code = "no_episodes", .file = "meta"}),
      error("BrokenEpisodeLine", "v21_h264", [](D d) { d.replace(kEpisodes, "\"length\": 60", "\"length\": "); },
            {.code = "episodes_unreadable", .file = kEpisodes}),
      error("EpisodesParquetCut", "v30_small", [](D d) { d.cut(kV3Episodes, 8); },
            {.code = "episodes_unreadable", .file = kV3Episodes}),
      error("EpisodeTwice", "v21_h264",
            [](D d) { d.replace(kEpisodes, "{\"episode_index\": 2", "{\"episode_index\": 1"); },
            {.code = "episode_duplicate", .file = kEpisodes, .episode = 1}),
      error("EpisodeMissing", "v21_h264",
            [](D d) {
              d.replace(kEpisodes,
                        "{\"episode_index\": 2, \"tasks\": [\"reach the blue target and close the gripper\"], "
                        "\"length\": 60}\n",
                        "");
            },
            {.code = "episode_numbers", .file = kEpisodes, .episode = 3}),
      error("NegativeLength", "v30_small", [](D d) { d.set<int64_t>(kV3Episodes, "length", 3, -1); },
            {.code = "empty_episode", .file = kV3Episodes, .episode = 3}),
      error("WrongIndexRange", "v30_small", [](D d) { d.set<int64_t>(kV3Episodes, "dataset_from_index", 2, 78); },
            {.code = "index_range", .file = kV3Episodes, .episode = 2}),
  };
}

class MetadataDamage : public ::testing::TestWithParam<Damage> {};

TEST_P(MetadataDamage, IsReportedWithItsPlaceAndTrainingDecidesAlike) {
  expect_reported(GetParam());
}

INSTANTIATE_TEST_SUITE_P(InfoJson, MetadataDamage, ::testing::ValuesIn(info_json()),
                         [](const auto& damage) { return damage.param.name; });
INSTANTIATE_TEST_SUITE_P(TasksAndEpisodes, MetadataDamage, ::testing::ValuesIn(tasks_and_episodes()),
                         [](const auto& damage) { return damage.param.name; });

}  // namespace
}  // namespace flexor::curate
