#include <numeric>

#include "recap/mixture_sampler.h"
#include "recap/recap_fixture.h"
#include "recap/steam.h"
#include "recap/threshold.h"
#include "recap/value_metrics.h"
#include "tensor/tensor.h"

namespace flexor::recap {
namespace {

TEST(Threshold, EqualsTheReferenceBitForBit) {
  const Json golden = golden_json("threshold_and_shards.json");
  for (const Json& item : golden.at("thresholds").as_array()) {
    const std::vector<double> scores = item.at("scores").as_numbers();
    const double threshold = positive_threshold(scores, item.at("positive_fraction").as_double());
    EXPECT_NEAR(threshold, item.at("threshold").as_double(), 1e-12);
    std::vector<uint8_t> inclusive;
    for (const double score : scores) {
      inclusive.push_back(score >= threshold ? 1 : 0);
    }
    EXPECT_EQ(inclusive, truths(item.at("inclusive")));
    EXPECT_EQ(steam_labels(scores, threshold), truths(item.at("exclusive")));
  }
  EXPECT_TRUE(throws_error(ErrorKind::kData, "no frame has a score", [] { positive_threshold({}, 0.3); }));
}

TEST(ShardRange, EqualsTheReference) {
  const Json golden = golden_json("threshold_and_shards.json");
  for (const Json& item : golden.at("shards").as_array()) {
    const int64_t world = item.at("world_size").as_int();
    for (int64_t rank = 0; rank < world; ++rank) {
      const auto expected = integers(item.at("shards").as_array()[static_cast<size_t>(rank)]);
      EXPECT_EQ(shard_range(item.at("total").as_int(), world, rank), std::pair(expected[0], expected[1]));
    }
  }
}

TEST(ShardRange, CoversEveryFrameOnce) {
  for (int64_t total = 0; total < 30; ++total) {
    for (int64_t world = 1; world < 9; ++world) {
      int64_t next = 0;
      for (int64_t rank = 0; rank < world; ++rank) {
        const auto [first, end] = shard_range(total, world, rank);
        EXPECT_EQ(first, next);
        EXPECT_LE(end - first, total / world + 1);
        next = end;
      }
      EXPECT_EQ(next, total);
    }
  }
}

std::string hex(std::string_view text) {
  std::string result;
  for (const uint8_t byte : sha256(text)) {
    result += str_cat("0123456789abcdef"[byte / 16], "0123456789abcdef"[byte % 16]);
  }
  return result;
}

TEST(Sha256, EqualsTheStandardsExamples) {
  EXPECT_EQ(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(std::string(1000, 'a')), "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

/// Decimal digits of a 128-bit number.
std::string decimal(Wide value) {
  std::string digits;
  while (value.high != 0 || value.low != 0) {
    uint64_t remainder = 0;
    Wide quotient;
    for (int bit = 127; bit >= 0; --bit) {
      uint64_t& word = bit >= 64 ? value.high : value.low;
      remainder = remainder * 2 + (word >> static_cast<unsigned>(bit % 64) & 1U);
      if (remainder >= 10) {
        remainder -= 10;
        (bit >= 64 ? quotient.high : quotient.low) |= 1ULL << static_cast<unsigned>(bit % 64);
      }
    }
    digits.insert(digits.begin(), static_cast<char>('0' + remainder));
    value = quotient;
  }
  return digits;
}

TEST(MixtureSampler, DrawsAsTheReference) {
  const Json golden = golden_json("mixture_sampling.json");
  for (const Json& item : golden.at("safe_hash").as_array()) {
    const auto numbers = integers(item.at("tuple"));
    EXPECT_EQ(decimal(sample_seed(numbers[0], numbers[1], numbers[2])), item.at("hash").as_string());
  }
  for (const Json& item : golden.at("mixtures").as_array()) {
    const std::vector<int64_t> lengths = integers(item.at("lengths"));
    const MixtureSampler sampler(lengths, item.at("weights").as_numbers(), item.at("balance").as_bool(),
                                 item.at("seed").as_int());
    EXPECT_EQ(sampler.shares(), floats(item.at("sampling_weights")));
    EXPECT_EQ(sampler.length(), item.at("len").as_int());
    std::vector<int64_t> numbers;  // the reference counts the datasets that have frames
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] > 0) {
        numbers.push_back(static_cast<int64_t>(i));
      }
    }
    const bool is_train = item.at("mode").as_string() == "train";
    for (const Json& sample : item.at("samples").as_array()) {
      const int64_t index = sample.at("index").as_int();
      const auto drawn = is_train ? sampler.item(sample.at("epoch").as_int(), index) : sampler.fixed_item(index);
      EXPECT_EQ(drawn.dataset, numbers[static_cast<size_t>(sample.at("dataset").as_int())]);
      EXPECT_EQ(drawn.sample, sample.at("sample").as_int());
    }
  }
}

TEST(MixtureSampler, RanksShareAnEpoch) {
  const MixtureSampler sampler({20, 11}, {1, 1}, true, 42);
  std::vector<int64_t> all;
  for (int64_t rank = 0; rank < 4; ++rank) {
    const auto own = sampler.order(3, rank, 4);
    EXPECT_EQ(own.size(), static_cast<size_t>(sampler.length() / 4));
    all.insert(all.end(), own.begin(), own.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  EXPECT_LT(all.back(), sampler.length());
  EXPECT_NE(sampler.order(0, 0, 4), sampler.order(1, 0, 4));
}

TEST(MixtureSampler, RefusesWhatCannotBeDrawnFrom) {
  EXPECT_TRUE(throws_error(ErrorKind::kData, "no dataset has frames", [] { MixtureSampler({0}, {1}, true, 0); }));
  EXPECT_TRUE(
      throws_error(ErrorKind::kConfig, "weight of dataset 0 is -1", [] { MixtureSampler({1}, {-1}, true, 0); }));
  EXPECT_EQ(MixtureSampler({4, 4}, {0, 0}, true, 0).shares(), (std::vector<float>{0.5, 0.5}));
}

TEST(Spearman, EqualsTheReference) {
  const Json golden = golden_json("spearman.json");
  for (const Json& item : golden.as_array()) {
    const std::vector<float> a = floats(item.at("a")), b = floats(item.at("b"));
    EXPECT_NEAR(value_spearman(a, b), item.at("value_spearman").as_double(), 1e-9);
    const Json& tied = item.at("standard_tie_averaged_spearman");
    const std::optional<double> found = value_spearman_tied(a, b);
    EXPECT_EQ(found.has_value(), !tied.is_null());
    if (found) {
      EXPECT_NEAR(*found, tied.as_double(), 1e-9);
    }
  }
}

at::Tensor golden_tensor(const Json& json) {
  std::vector<int64_t> shape;
  for (const Json* part = &json; part->is_array(); part = &part->as_array()[0]) {
    shape.push_back(static_cast<int64_t>(part->size()));
  }
  return at::tensor(json.as_numbers(), at::kDouble).view(shape).to(at::kFloat);
}

/// Cross-entropy to the two bins beside each target, written out.
ValueMetrics batch_of(const Json& item, double v_min, double v_max) {
  const at::Tensor logits = golden_tensor(item.at("logits")), targets = golden_tensor(item.at("target_values"));
  const int64_t bins = logits.size(1);
  const at::Tensor log_probs = logits.log_softmax(-1);
  std::vector<float> losses;
  for (int64_t i = 0; i < logits.size(0); ++i) {
    const double y = std::clamp(targets[i].item<double>(), v_min, v_max);
    const double b = (y - v_min) / (v_max - v_min) * static_cast<double>(bins - 1);
    double loss = 0;
    for (int64_t k = 0; k < bins; ++k) {
      loss -= std::max(0.0, 1 - std::abs(static_cast<double>(k) - b)) * log_probs[i][k].item<double>();
    }
    losses.push_back(static_cast<float>(loss));
  }
  std::vector<float> atoms;
  for (int64_t k = 0; k < bins; ++k) {
    atoms.push_back(
        static_cast<float>(v_min + (v_max - v_min) * static_cast<double>(k) / static_cast<double>(bins - 1)));
  }
  ValueMetrics metrics;
  metrics.add({.logits = logits,
               .targets = targets,
               .values = (logits.softmax(-1) * at::tensor(atoms)).sum(-1),
               .losses = at::tensor(losses),
               .v_min = v_min,
               .v_max = v_max});
  return metrics;
}

void expect_metrics(const std::map<std::string, double>& found, const Json& expected, const std::string& prefix) {
  for (const auto& [name, value] : found) {
    if (const Json* wanted = expected.find(prefix + name)) {
      EXPECT_NEAR(value, wanted->as_double(), 1e-5) << prefix << name;
    } else {
      EXPECT_EQ(name, "value_mae");
    }
  }
}

TEST(ValueMetrics, MeansOfBatchesEqualTheReferences) {
  const Json golden = golden_json("value_step_metrics.json");
  const double v_min = golden.at("v_min").as_double(), v_max = golden.at("v_max").as_double();
  std::vector<ValueMetrics> batches;
  for (const Json& item : golden.at("train_batches").as_array()) {
    batches.push_back(batch_of(item, v_min, v_max));
  }
  const auto train = mean_batch_metrics(batches);
  EXPECT_EQ(train.size(), 10U);
  expect_metrics(train, golden.at("train_metrics"), "");
  std::map<std::string, double> over_datasets;
  for (const auto& [name, items] : golden.at("eval").as_object()) {
    batches.clear();
    ValueMetrics all;
    for (const Json& item : items.as_array()) {
      batches.push_back(batch_of(item, v_min, v_max));
      all.add(batches.back());
    }
    auto metrics = mean_batch_metrics(batches);
    metrics["value_spearman"] = all.metrics().at("value_spearman");  // of all predictions, not a mean
    expect_metrics(metrics, golden.at("eval_metrics"), name + "/");
    for (const auto& [metric, value] : metrics) {
      over_datasets[metric] += value / static_cast<double>(golden.at("eval").size());
    }
  }
  expect_metrics(over_datasets, golden.at("eval_metrics"), "");
}

TEST(ValueMetrics, DoNotDependOnTheBatches) {
  const Json golden = golden_json("value_step_metrics.json");
  const Json& batches = golden.at("eval").at("eval_a");
  ValueMetrics whole, merged;
  for (const Json& item : batches.as_array()) {
    const ValueMetrics batch = batch_of(item, -1, 0);
    merged.add(batch);
    merged.add(ValueMetrics());
    whole.add(batch);
  }
  EXPECT_EQ(whole.metrics(), merged.metrics());
  EXPECT_EQ(whole.count(), 11);
  ValueMetrics single;
  const at::Tensor one = at::zeros({1});
  single.add({.logits = at::zeros({1, 11}), .targets = one, .values = one, .losses = one});
  const auto metrics = single.metrics();
  EXPECT_EQ(metrics.count("predicted_value_std"), 0U);
  EXPECT_EQ(metrics.at("value_spearman"), 0);
  EXPECT_TRUE(std::isnan(mean_batch_metrics(std::vector{single}).at("predicted_value_std")));
  EXPECT_TRUE(ValueMetrics().metrics().empty());
}

TEST(Steam, BinsEqualTheReference) {
  const Json golden = golden_json("steam.json");
  const auto bins_of = [](const Json& item) { return StrideBins{item.at("K").as_int(), item.at("num_bins").as_int()}; };
  for (const Json& item : golden.at("bins").as_array()) {
    std::vector<int64_t> found;
    for (const int64_t stride : integers(item.at("strides"))) {
      found.push_back(bins_of(item).bin(stride));
    }
    EXPECT_EQ(found, integers(item.at("bin")));
  }
  for (const Json& item : golden.at("scaled").as_array()) {
    std::vector<int64_t> found;
    for (const double stride : item.at("scaled").as_numbers()) {
      found.push_back(bins_of(item).scaled_bin(stride));
    }
    EXPECT_EQ(found, integers(item.at("bin")));
  }
  for (const Json& item : golden.at("centers").as_array()) {
    EXPECT_EQ(bins_of(item).centers(), item.at("centers").as_numbers());
  }
  EXPECT_TRUE(throws_error(ErrorKind::kConfig, "divides 2 * k = 14", [] { StrideBins{7, 8}.check(); }));
}

TEST(Steam, ScoresAndLossEqualTheReference) {
  const Json golden = golden_json("steam.json");
  for (const Json& item : golden.at("ensemble").as_array()) {
    const StrideBins bins{item.at("K").as_int(), item.at("num_bins").as_int()};
    const SteamScores scores = steam_scores(golden_tensor(item.at("member_logits")), bins);
    const auto expect = [&](const at::Tensor& found, const char* name) {
      EXPECT_TENSOR_NEAR(found, golden_tensor(item.at(name)), 0, 1e-6) << name;
    };
    expect(scores.member_values, "member_values");
    expect(scores.min, "aggregated");
    expect(scores.min, "min");
    expect(scores.mean, "mean");
    expect(scores.variance, "variance");
    expect(scores.worst_probs, "aggregated_probs");
    expect(scores.expected_stride_normalized, "expected_stride_normalized");
    expect(scores.entropy, "entropy");
  }
  for (const Json& item : golden.at("loss").as_array()) {
    const at::Tensor loss = smoothed_cross_entropy(golden_tensor(item.at("logits")), golden_tensor(item.at("labels")),
                                                   item.at("label_smoothing").as_double());
    EXPECT_TENSOR_NEAR(loss, golden_tensor(item.at("loss")), 0, 1e-6);
    const BinHits hits = bin_hits(golden_tensor(item.at("logits")), golden_tensor(item.at("labels")).to(at::kLong));
    const auto n = static_cast<double>(item.at("labels").size());
    EXPECT_NEAR(hits.best / n, item.at("acc_best").as_double(), 1e-6);
    EXPECT_NEAR(hits.neighbor / n, item.at("acc_neighbor").as_double(), 1e-6);
  }
}

TEST(Steam, PoolsHaveThresholdsOfTheirOwn) {
  const std::vector<double> rollout = {0, 1, 2, 3}, sft = {5, 6, 7, 8};
  const SteamThresholds free = steam_thresholds(rollout, sft, {.rollout_quantile = 0.5});
  EXPECT_EQ(steam_labels(rollout, free.rollout), (std::vector<uint8_t>{0, 0, 1, 1}));
  EXPECT_EQ(steam_labels(sft, free.sft), (std::vector<uint8_t>{1, 1, 1, 1}));
  const SteamThresholds both = steam_thresholds(rollout, sft, {.rollout_quantile = 0.5, .expert_quantile = 0.25});
  EXPECT_EQ(steam_labels(sft, both.sft), (std::vector<uint8_t>{0, 0, 0, 1}));
  const SteamThresholds given = steam_thresholds(rollout, sft, {.label_mode = "threshold", .positive_threshold = 1});
  EXPECT_EQ(steam_labels(rollout, given.rollout), (std::vector<uint8_t>{0, 0, 1, 1}));
  EXPECT_FALSE(given.sft.has_value());
  EXPECT_TRUE(throws_error(ErrorKind::kData, "not a finite number", [] { steam_thresholds({std::nan("")}, {}, {}); }));
}

}  // namespace
}  // namespace flexor::recap
