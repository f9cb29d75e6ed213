// The files and lines that other programs read: TensorBoard events, log lines, generator states.
#include <cstring>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "testing/golden.h"
#include "train/closing.h"
#include "train/lerobot_train_config.h"
#include "train/metrics.h"
#include "train/python_rng.h"
#include "train/tensorboard.h"

namespace flexor::train {
namespace {

namespace fs = std::filesystem;
using flexor::testing::tests_path;

TEST(TensorBoard, ChecksumsAreTheOnesOfTheStandard) {
  const auto unmask = [](uint32_t masked) {
    const uint32_t rotated = masked - 0xA282EAD8U;
    return (rotated >> 17) | (rotated << 15);
  };
  EXPECT_EQ(unmask(masked_crc32c("123456789")), 0xE3069283U);            // check value of CRC-32C
  EXPECT_EQ(unmask(masked_crc32c(std::string(32, '\0'))), 0x8A9136AAU);  // RFC 3720, B.4
}

TEST(TensorBoard, ARecordHoldsLengthChecksumsAndBytes) {
  const std::string record = tf_record("abc");
  ASSERT_EQ(record.size(), 8u + 4u + 3u + 4u);
  EXPECT_EQ(record.substr(0, 8), std::string("\3\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(record.substr(12, 3), "abc");
  uint32_t checksum = 0;
  std::memcpy(&checksum, record.data() + 15, 4);
  EXPECT_EQ(checksum, masked_crc32c("abc"));
}

TEST(TensorBoard, AnEventIsWhatProtocolBuffersWrite) {
  const std::string expected("\x09\0\0\0\0\0\0\xF8\x3F\x10\xAC\x02\x2A\x0A\x0A\x08\x0A\x01x\x15\0\0\0\x40", 24);
  EXPECT_EQ(scalar_event(1.5, 300, {{"x", 2.0}}), expected);
}

class LogLine : public ::testing::TestWithParam<std::string> {};

TEST_P(LogLine, IsLeRobotsWordForWord) {
  const std::string folder = tests_path("golden/" + GetParam() + "_tiny_run/");
  const Json golden = Json::read_file(folder + "log_line.json");
  const SafetensorsFile expected =
      SafetensorsFile::open(tests_path("golden/" + GetParam() + "_tiny/expected.safetensors"));
  MetricsWindow window;
  for (int64_t k = 0; k < 3; ++k) {
    const auto value = [&](const char* name) {
      return expected.get(std::string("train_hot.") + name)[k].item<double>();
    };
    window.add({.loss = value("loss"),
                .grad_norm = value("grad_norm"),
                .lr = value("lr_after_step"),
                .update_s = 0.25,
                .data_s = 0.125,
                .samples = 2});
  }
  const LogRow row = window.take(3, 6, {golden.at("num_frames").as_int(), golden.at("num_episodes").as_int()});
  EXPECT_EQ(lerobot_line(row), golden.at("log_line").as_string());
  EXPECT_TRUE(window.empty());
  EXPECT_NE(lerobot_log_line(row).find(" ot_train.py:000 step:3 smpl:6 "), std::string::npos);
}
INSTANTIATE_TEST_SUITE_P(Policies, LogLine, ::testing::Values("pi05", "pi0"),
                         [](const auto& test) { return test.param; });

TEST(MetricsWindow, SharesTheTimeBetweenWaitingAndWork) {
  MetricsWindow window;
  window.add({.update_s = 3.0, .data_s = 1.0, .waited_s = 0.5, .samples = 8});
  window.add({.update_s = 3.0, .data_s = 1.0, .waited_s = 0.5, .samples = 8});
  const LogRow row = window.take(2, 16, {32, 4});
  EXPECT_DOUBLE_EQ(row.data_wait_share, 0.125);
  EXPECT_DOUBLE_EQ(row.samples_per_s, 2.0);
  EXPECT_DOUBLE_EQ(row.epoch, 0.5);
  EXPECT_DOUBLE_EQ(row.episodes, 2.0);
}

TEST(MetricsLog, DropsRowsThatAnInterruptedRunWroteAfterItsCheckpoint) {
  const std::string folder = ::testing::TempDir() + "metrics_log";
  fs::remove_all(folder);
  fs::create_directories(folder);
  write_file_atomic(folder + "/metrics.jsonl", "{\"step\": 1}\n{\"step\": 2}\n{\"step\": 3}\n{\"st");
  {
    const MetricsLog log(folder, "flexor", 2);
  }
  EXPECT_EQ(read_file(folder + "/metrics.jsonl"), "{\"step\": 1}\n{\"step\": 2}\n");
  {
    const MetricsLog log(folder, "flexor", 0);
  }
  EXPECT_EQ(read_file(folder + "/metrics.jsonl"), "");
  fs::remove_all(folder);
}

TEST(Throughput, LeavesOutTheFirstTenthOrTwentySteps) {
  Throughput few(100), many(0);
  for (int i = 0; i < 50; ++i) {
    few.add(8, i < 5 ? 100.0 : 2.0);
  }
  for (int i = 0; i < 1000; ++i) {
    many.add(8, i < 20 ? 100.0 : 4.0);
  }
  Closing closing;
  few.fill(closing);
  EXPECT_DOUBLE_EQ(closing.samples_per_s, 4.0);
  EXPECT_EQ(closing.first_step, 106);
  EXPECT_EQ(closing.last_step, 150);
  many.fill(closing);
  EXPECT_DOUBLE_EQ(closing.samples_per_s, 2.0);
}

TEST(RngState, HasLeRobotsTensors) {
  const std::string path = ::testing::TempDir() + "rng_state.safetensors";
  write_rng_state(5489, path);
  const SafetensorsFile ours = SafetensorsFile::open(path);
  const SafetensorsFile golden =
      SafetensorsFile::open(tests_path("golden/pi05_tiny_run/checkpoints/000003/training_state/rng_state.safetensors"));
  ASSERT_EQ(ours.entries().size(), golden.entries().size());
  for (const SafetensorsFile::Entry& entry : golden.entries()) {
    const SafetensorsFile::Entry* own = ours.find(entry.name);
    ASSERT_NE(own, nullptr) << entry.name;
    EXPECT_EQ(own->dtype, entry.dtype) << entry.name;
    EXPECT_EQ(own->shape, entry.shape) << entry.name;
  }
  // First words of the state after numpy.random.seed(5489), and after random.seed(5489).
  EXPECT_EQ(ours.get("np_rng_state_values")[1].item<int64_t>(), 1301868182);
  EXPECT_EQ(ours.get("py_rng_state")[0].item<int64_t>(), 0x80000000);
  EXPECT_EQ(ours.get("py_rng_state")[1].item<int64_t>(), 2040007649);
  fs::remove(path);
}

TEST(LeRobotTrainConfig, HasTheKeysOfTheReferenceInTheirOrder) {
  const std::string path = tests_path("golden/pi05_tiny_run/checkpoints/000003/pretrained_model/train_config.json");
  const Json golden = Json::read_file(path);
  TrainConfig config;
  take_lerobot_train_config(config, golden, path);
  EXPECT_EQ(config.batch_size, 2);
  EXPECT_EQ(config.scheduler.decay_steps, 8);
  EXPECT_DOUBLE_EQ(config.optimizer.lr, 1e-3);
  config.output_dir = "outputs/tiny";
  config.num_workers = 0;
  EXPECT_EQ(lerobot_train_config(config, golden.at("policy"), golden).dump(4), golden.dump(4));  // nothing is lost
  const Json fresh = lerobot_train_config(config, golden.at("policy"), Json());
  ASSERT_EQ(fresh.as_object().size(), golden.as_object().size());
  for (size_t i = 0; i < golden.as_object().size(); ++i) {
    EXPECT_EQ(fresh.as_object()[i].first, golden.as_object()[i].first);
  }
}

TEST(LeRobotTrainConfig, WithWrongValuesIsRefusedWithItsPlace) {
  const std::string path = tests_path("golden/pi05_tiny_run/checkpoints/000003/pretrained_model/train_config.json");
  const Json golden = Json::read_file(path);
  const auto error_of = [&](const std::function<void(Json&)>& change) {
    Json json = golden;
    change(json);
    try {
      TrainConfig config;
      take_lerobot_train_config(config, json, path);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
      EXPECT_FALSE(error.hint().empty()) << error.what();
      return str_cat(error.what(), " ", error.where());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error_of([](Json&) {}), "no error");
  for (const Json& betas : {Json(), Json(0.9), Json(Json::Array{Json(0.9)}), Json("x"), Json::array()}) {
    EXPECT_NE(error_of([&](Json& json) { json["optimizer"]["betas"] = betas; }), "no error") << betas.dump();
  }
  EXPECT_NE(error_of([](Json& json) { json["batch_size"] = Json(0); }).find("'batch_size': expected 1 to"),
            std::string::npos);
  EXPECT_NE(error_of([](Json& json) { json["optimizer"]["lr"] = Json(-1.0); }).find("'optimizer.lr'"),
            std::string::npos);
  EXPECT_NE(error_of([](Json& json) { json["steps"] = Json(-5); }).find("'steps'"), std::string::npos);
  for (const char* key : {"dataset", "optimizer", "scheduler", "batch_size", "steps", "seed"}) {
    EXPECT_NE(error_of([&](Json& json) { json.erase(key); }).find(key), std::string::npos) << key;
    EXPECT_NE(error_of([&](Json& json) { json[key] = Json("x"); }).find(path), std::string::npos) << key;
  }
}

}  // namespace
}  // namespace flexor::train
