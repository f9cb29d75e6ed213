#include "curate/damage_fixture.h"

namespace flexor::curate {
namespace {

std::vector<Damage> data_files() {
  return {
      error("NoDataFile", "v21_h264", [](D d) { d.remove(parquet(3)); },
            {.code = "data_unreadable", .file = parquet(3), .episode = 3}),
      error("DataFileCut", "v21_h264", [](D d) { d.cut(parquet(1), 100); },
            {.code = "data_unreadable", .file = parquet(1), .episode = 1}),
      error("DataFileIsAPointer", "v21_h264", [](D d) { d.write(parquet(0), kPointer); },
            {.code = "lfs_pointer", .file = parquet(0), .episode = 0}),
      error("ColumnMissing", "v21_h264",
            [](D d) { d.edit_table(parquet(4), [](Columns& c) { DamagedDataset::drop(c, "action"); }); },
            {.code = "column_missing", .file = parquet(4), .episode = 4, .feature = "action"}),
      error("RewardMissing", "v21_h264",
            [](D d) { d.edit_table(parquet(4), [](Columns& c) { DamagedDataset::drop(c, "next.reward"); }); },
            {.code = "column_missing", .file = parquet(4), .episode = 4, .feature = "next.reward"}),
      error("ColumnType", "v21_h264",
            [](D d) { d.edit_json(kInfo, [](Json& j) { j["features"]["action"]["dtype"] = "float64"; }); },
            {.code = "column_type", .file = parquet(0), .feature = "action"}),
      error("ColumnThatIsAVideo", "v21_h264",
            [](D d) {
              d.edit_json(kInfo, [](Json& j) {
                j["features"]["observation.state"]["dtype"] = "video";
                j["features"]["observation.state"]["shape"] = Json::Array{48, 64, 3};
              });
            },
            {.code = "column_type", .file = parquet(0), .feature = "observation.state"}),
      error("ColumnThatIsAVideoInV30", "v30_small",
            [](D d) { d.edit_json(kInfo, [](Json& j) { j["features"]["observation.state"]["dtype"] = "video"; }); },
            {.code = "column_type", .file = kV3Data, .feature = "observation.state"}),
      error("ColumnWidth", "v21_h264",
            [](D d) {
              d.edit_table(parquet(2), [](Columns& c) {
                auto& action = DamagedDataset::find(c, "action");
                action.width = 6;
                std::get<std::vector<float>>(action.values).resize(60 * 6);
              });
            },
            {.code = "column_unreadable", .file = parquet(2), .episode = 2, .feature = "action"}),
      error("ColumnDamaged", "v21_h264",
            [](D d) {
              std::string bytes = read_file(d.path(parquet(2)));
              for (size_t i = 4; i < 30; ++i) {
                bytes[i] = static_cast<char>(~bytes[i]);
              }
              d.write(parquet(2), bytes);
            },
            {.code = "column_unreadable", .file = parquet(2), .episode = 2}),
      warning("NoFrameIndex", "v21_h264",
              [](D d) {
                for (int i = 0; i < 6; ++i) {
                  d.edit_table(parquet(i), [](Columns& c) { DamagedDataset::drop(c, "frame_index"); });
                }
              },
              {.code = "no_frame_index", .file = parquet(0), .feature = "frame_index"}),
      warning("UnlistedDataFile", "v21_h264", [](D d) { d.copy(parquet(0), parquet(7)); },
              {.code = "file_unlisted", .file = parquet(7)}),
      error("LengthTooLong", "v21_h264", [](D d) { d.replace(kEpisodes, "\"length\": 60", "\"length\": 61"); },
            {.code = "row_count", .file = parquet(2), .episode = 2}),
      error("RowsDisplaced", "v30_small", [](D d) { d.set<int64_t>(kV3Episodes, "data/file_index", 5, 0); },
            {.code = "rows_displaced", .file = kV3Data, .episode = 5}),
      error("RowsMissing", "v30_small",
            [](D d) {
              d.edit_table("data/chunk-000/file-001.parquet", [](Columns& c) {
                for (int64_t& e : DamagedDataset::values<int64_t>(c, "episode_index")) {
                  e = 9;
                }
              });
            },
            {.code = "rows_missing", .file = "data/chunk-000/file-001.parquet", .episode = 5}),
      error("RowsSplit", "v30_small", [](D d) { d.set<int64_t>(kV3Data, "episode_index", 40, 0); },
            {.code = "rows_split", .file = kV3Data, .episode = 1}),
  };
}

std::vector<Damage> rows() {
  return {
      error("WrongIndex", "v21_h264", [](D d) { d.set<int64_t>(parquet(1), "index", 5, 31); },
            {.code = "index", .file = parquet(1), .episode = 1, .frame = 5, .feature = "index"}),
      error("IndexJumps", "v21_h264",
            [](D d) {
              d.edit_table(parquet(1), [](Columns& c) {
                for (int64_t& i : DamagedDataset::values<int64_t>(c, "index")) {
                  i += 3;
                }
              });
            },
            {.code = "index", .file = parquet(1), .episode = 1, .frame = 0, .feature = "index"}),
      error("WrongFrameIndex", "v21_h264", [](D d) { d.set<int64_t>(parquet(1), "frame_index", 5, 6); },
            {.code = "frame_index", .file = parquet(1), .episode = 1, .frame = 5, .feature = "frame_index"}),
      error("WrongEpisodeIndex", "v21_h264", [](D d) { d.set<int64_t>(parquet(1), "episode_index", 44, 2); },
            {.code = "episode_index", .file = parquet(1), .episode = 1, .frame = 44, .feature = "episode_index"}),
      error("IrregularTimestamp", "v21_h264", [](D d) { d.set<float>(parquet(1), "timestamp", 20, 2.001f); },
            {.code = "timestamp", .file = parquet(1), .episode = 1, .frame = 20, .feature = "timestamp"}),
      warning("TimestampOffset", "v21_h264",
              [](D d) {
                d.edit_table(parquet(3), [](Columns& c) {
                  for (float& t : DamagedDataset::values<float>(c, "timestamp")) {
                    t += 0.1f;
                  }
                });
              },
              {.code = "timestamp_offset", .file = parquet(3), .episode = 3, .frame = 0, .feature = "timestamp"}),
      error("UnknownTask", "v21_h264", [](D d) { d.set<int64_t>(parquet(0), "task_index", 4, 9); },
            {.code = "task_index", .file = parquet(0), .episode = 0, .frame = 4, .feature = "task_index"}),
      error("UnlistedTask", "v21_h264", [](D d) { d.set<int64_t>(parquet(0), "task_index", 4, 1); },
            {.code = "episode_tasks", .file = parquet(0), .episode = 0, .feature = "task_index"}),
      error("NanInState", "v21_h264", [](D d) { d.set<float>(parquet(2), "observation.state", 8 * 17 + 3, kNan); },
            {.code = "not_finite", .file = parquet(2), .episode = 2, .frame = 17, .feature = "observation.state"}),
      error("NanInReward", "v21_h264", [](D d) { d.set<float>(parquet(2), "next.reward", 9, kNan); },
            {.code = "not_finite", .file = parquet(2), .episode = 2, .frame = 9, .feature = "next.reward"}),
      error("InfinityInAction", "v30_small",
            [](D d) { d.set<float>(kV3Data, "action", 7 * 100, std::numeric_limits<float>::infinity()); },
            {.code = "not_finite", .file = kV3Data, .episode = 2, .frame = 23, .feature = "action"}),
      warning("ConstantDimension", "v21_h264",
              [](D d) {
                for (int i = 0; i < 6; ++i) {
                  d.edit_table(parquet(i), [](Columns& c) {
                    auto& v = DamagedDataset::values<float>(c, "action");
                    for (size_t k = 0; k < v.size(); k += 7) {
                      v[k] = 0.25f;
                    }
                  });
                }
                d.remove(kEpisodeStats);
              },
              {.code = "constant_dimension", .file = "", .feature = "action"}),
      warning("NearlyConstantDimension", "v21_h264",
              [](D d) {
                for (int i = 0; i < 6; ++i) {
                  d.edit_table(parquet(i), [](Columns& c) {
                    auto& v = DamagedDataset::values<float>(c, "action");
                    for (size_t k = 0; k < v.size(); k += 7) {
                      v[k] = 0.25f + 1e-6f * v[k];
                    }
                  });
                }
                d.remove(kEpisodeStats);
              },
              {.code = "nearly_constant_dimension", .file = "", .feature = "action"}),
      warning("HugeValue", "v21_h264",
              [](D d) {
                d.set<float>(parquet(0), "action", 3, 3e6f);
                d.remove(kEpisodeStats);
              },
              {.code = "huge_value", .file = "", .feature = "action"}),
  };
}

class RowsDamage : public ::testing::TestWithParam<Damage> {};

TEST_P(RowsDamage, IsReportedWithItsPlaceAndTrainingDecidesAlike) {
  expect_reported(GetParam());
}

INSTANTIATE_TEST_SUITE_P(DataFiles, RowsDamage, ::testing::ValuesIn(data_files()),
                         [](const auto& damage) { return damage.param.name; });
INSTANTIATE_TEST_SUITE_P(Rows, RowsDamage, ::testing::ValuesIn(rows()),
                         [](const auto& damage) { return damage.param.name; });

}  // namespace
}  // namespace flexor::curate
