#include "curate/verify.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/str_cat.h"
#include "curate/damage_fixture.h"
#include "data/dataset.h"
#include "data/dataset_check.h"
#include "data/finding_codes.h"

namespace flexor::curate {
namespace {

using data::Finding;
using data::Severity;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

VerifyReport verify(const DamagedDataset& dataset, bool decode = false) {
  return verify_dataset({.root = dataset.root(), .decode = decode});
}

class VerifyIntact : public ::testing::TestWithParam<const char*> {};

TEST_P(VerifyIntact, HasNoErrorsEvenWhenEveryPictureIsDecoded) {
  const std::string root = testing::tests_path(std::string("data/datasets/") + GetParam());
  const VerifyReport report = verify_dataset({.root = root, .decode = true});
  EXPECT_TRUE(report.ok()) << text_of(report.findings);
  EXPECT_EQ(report.episodes, 6);
  EXPECT_EQ(report.frames, 251);
}

INSTANTIATE_TEST_SUITE_P(Datasets, VerifyIntact,
                         ::testing::Values("v21_h264", "v21_av1", "v30_av1", "v30_images", "v30_small", "v30_from_v21"),
                         [](const auto& format) { return std::string(format.param); });

TEST(Verify, ListsEveryFindingNotOnlyTheFirst) {
  const DamagedDataset d("v21_h264");
  d.replace("meta/tasks.jsonl", "\"task_index\": 1", "\"task_index\" 1");
  d.replace("meta/episodes.jsonl", "\"length\": 25", "\"length\": ");
  d.set<float>(parquet(0), "observation.state", 0, kNan);
  d.set<float>(parquet(0), "timestamp", 7, 9.0f);
  d.cut(parquet(1), 100);
  d.set<int64_t>(parquet(2), "frame_index", 1, 7);
  d.remove(top(4));
  d.cut(wrist(5), 50);
  const VerifyReport report = verify(d);
  std::vector<std::string> errors;
  for (const Finding& finding : report.findings) {
    if (finding.severity == Severity::kError) {
      errors.push_back(finding.code);
    }
  }
  EXPECT_THAT(errors, ::testing::UnorderedElementsAre("tasks_unreadable", "episodes_unreadable", "episode_numbers",
                                                      "not_finite", "timestamp", "data_unreadable", "frame_index",
                                                      "camera_missing", "video_truncated"))
      << text_of(report.findings);
}

TEST(Verify, NamesTheLineAndCountsTheFrames) {
  const DamagedDataset d("v21_h264");
  d.replace("meta/episodes.jsonl", "\"length\": 60", "\"length\": ");
  d.edit_json(kInfo, [](Json& info) { info["fps"] = 20; });
  const VerifyReport report = verify(d);
  const auto find = [&](const std::string& code) {
    const auto found = std::find_if(report.findings.begin(), report.findings.end(),
                                    [&](const Finding& finding) { return finding.code == code; });
    return found == report.findings.end() ? Finding{} : *found;
  };
  EXPECT_THAT(find("episodes_unreadable").message, HasSubstr("line 3"));
  EXPECT_THAT(find("timestamp").message, HasSubstr("in 31 frames"));
}

TEST(Verify, DecodingFindsDamageThatTheContainerHides) {
  const DamagedDataset d("v21_h264");
  std::string bytes = read_file(d.path(top(2)));
  const size_t data = bytes.find("mdat");
  ASSERT_NE(data, std::string::npos);
  for (size_t i = bytes.size() / 2; i < bytes.size() / 2 + 1500; ++i) {
    bytes[i] = static_cast<char>(bytes[i] ^ 0x5A);
  }
  d.write(top(2), bytes);
  EXPECT_TRUE(verify(d).ok());
  const VerifyReport report = verify(d, /*decode=*/true);
  ASSERT_FALSE(report.ok());
  for (const Finding& finding : report.findings) {
    if (finding.severity == Severity::kError) {
      EXPECT_EQ(finding.code, "video_damaged");
      EXPECT_EQ(finding.file, top(2));
      EXPECT_EQ(finding.episode, 2);
      EXPECT_TRUE(finding.frame);
    }
  }
}

TEST(Verify, DecodingLooksAtEveryImage) {
  const DamagedDataset d("v30_images");
  d.edit_table(kV3Data, [](Columns& columns) {
    DamagedDataset::values<table::ImageCell>(columns, kTop)[40].bytes.resize(60);
    DamagedDataset::values<table::ImageCell>(columns, kTop)[41].bytes = "no picture";
  });
  EXPECT_TRUE(verify(d).ok());
  const VerifyReport report = verify(d, /*decode=*/true);
  std::vector<int64_t> frames;
  for (const Finding& finding : report.findings) {
    if (finding.code == "image_unreadable") {
      EXPECT_EQ(finding.episode, 1);
      frames.push_back(finding.frame.value_or(-1));
    }
  }
  EXPECT_THAT(frames, ::testing::ElementsAre(8, 9));
}

TEST(Verify, WritesNothing) {
  const DamagedDataset d("v30_small");
  const auto snapshot = [&] {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(d.root())) {
      files.push_back(entry.path().string() + std::to_string(entry.last_write_time().time_since_epoch().count()));
    }
    std::sort(files.begin(), files.end());
    return files;
  };
  const auto before = snapshot();
  EXPECT_TRUE(verify(d, /*decode=*/true).ok());
  EXPECT_EQ(snapshot(), before);
}

TEST(Verify, SymbolicLinksAreFollowed) {
  const DamagedDataset d("v30_small");
  for (const auto* folder : {"data/chunk-000", "videos/observation.images.top/chunk-001", "meta/episodes/chunk-000"}) {
    const std::string place = d.path("elsewhere-" + std::to_string(std::hash<std::string>()(folder)));
    std::filesystem::rename(d.path(folder), place);
    std::filesystem::create_directory_symlink(place, d.path(folder));
  }
  const VerifyReport report = verify(d);
  EXPECT_TRUE(report.ok()) << text_of(report.findings);
  EXPECT_EQ(train_error(d.root()), "");
}

TEST(Verify, ReadsTasksInAnyScript) {
  const DamagedDataset d("v21_h264");
  for (const auto* file : {"meta/tasks.jsonl", "meta/episodes.jsonl", "meta/episodes.jsonl", "meta/episodes.jsonl"}) {
    d.replace(file, "reach the red target", "赤い目標に手を伸ばす 🎯");
  }
  EXPECT_TRUE(verify(d).ok());
  const auto dataset = data::Dataset::open({.root = d.root(), .episodes = {}, .rename_map = {}, .columns = {}});
  EXPECT_EQ(dataset.task(0), "赤い目標に手を伸ばす 🎯");
}

TEST(Verify, TextsThatAreNotUtf8AreTakenAsLatin1) {
  const DamagedDataset d("v30_small");
  const auto rename = [](std::string& text) {
    if (text == "reach the red target") {
      text =
          "atteindre la cible cach\xE9"
          "e";
    }
  };
  d.edit_table("meta/tasks.parquet", [&](Columns& columns) {
    for (table::WriteColumn& column : columns) {
      if (auto* texts = std::get_if<std::vector<std::string>>(&column.values)) {
        std::for_each(texts->begin(), texts->end(), rename);
      }
    }
  });
  d.edit_table(kV3Episodes, [&](Columns& columns) {
    for (auto& tasks : DamagedDataset::values<std::vector<std::string>>(columns, "tasks")) {
      std::for_each(tasks.begin(), tasks.end(), rename);
    }
  });
  const VerifyReport report = verify(d);
  EXPECT_TRUE(report.ok()) << text_of(report.findings);
  const auto dataset = data::Dataset::open({.root = d.root(), .episodes = {}, .rename_map = {}, .columns = {}});
  EXPECT_EQ(dataset.task(0), "atteindre la cible cachée");
}

TEST(FindingCodes, TheDocumentationListsThem) {
  const std::string page = read_file(testing::tests_path("../docs/verify.md"));
  EXPECT_THAT(page, HasSubstr(data::finding_codes_markdown()));
}

/// Codes in the sources, written as .code = "x" or as the first argument of the functions that make findings.
TEST(FindingCodes, TheSourcesUseNoOther) {
  std::vector<std::string> known;
  for (const data::FindingCode& code : data::finding_codes()) {
    known.emplace_back(code.code);
  }
  int found = 0;
  for (const auto* area : {"data", "curate"}) {
    for (const auto& entry : std::filesystem::directory_iterator(testing::tests_path(std::string("../src/") + area))) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".cpp") || name.ends_with("_test.cpp")) {
        continue;
      }
      const std::string text = read_file(entry.path().string());
      for (const std::string start : {".code = \"", "finding.code = \"", "attempt(\"", "Severity::kError, \"",
                                      "Severity::kWarning, \"", "note(\"", "finding_of(error, \""}) {
        for (size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
          const size_t begin = at + start.size();
          EXPECT_THAT(known, ::testing::Contains(text.substr(begin, text.find('"', begin) - begin))) << name;
          ++found;
        }
      }
    }
  }
  EXPECT_GT(found, 50);
}

}  // namespace
}  // namespace flexor::curate
