#include "recap/guidance_routing.h"

#include "base/str_cat.h"
#include "tensor/rng.h"
#include "tensor/tensor.h"

namespace flexor::recap {
namespace {

constexpr uint64_t kRoutingStream = 21;

}  // namespace

data::AdvantageLabel route(bool is_positive, float u, const RoutingRule& rule) {
  const bool is_kept = u > static_cast<float>(rule.unconditional_prob) && (is_positive || !rule.positive_only);
  if (!is_kept) {
    return data::AdvantageLabel::kNone;
  }
  return is_positive ? data::AdvantageLabel::kPositive : data::AdvantageLabel::kNegative;
}

std::vector<float> draw_routing(uint64_t seed, int64_t step, int64_t first, int64_t size) {
  std::vector<float> values;
  const Tensor drawn = at::empty({1}, at::kFloat);
  for (int64_t i = 0; i < size; ++i) {
    at::Generator generator = make_generator(
        stream_seed(seed, kRoutingStream, static_cast<uint64_t>(step), static_cast<uint64_t>(first + i)));
    drawn.uniform_(0.0, 1.0, generator);
    values.push_back(drawn.const_data_ptr<float>()[0]);
  }
  return values;
}

std::vector<double> RoutingMetrics::packed() const {
  std::vector<double> numbers;
  for (const auto& row : cells_) {
    for (const Cell& cell : row) {
      numbers.insert(numbers.end(), {static_cast<double>(cell.count), cell.loss});
    }
  }
  return numbers;
}

RoutingMetrics RoutingMetrics::unpacked(std::span<const double> numbers) {
  RoutingMetrics metrics;
  size_t next = 0;
  for (auto& row : metrics.cells_) {
    for (Cell& cell : row) {
      cell = {.count = static_cast<int64_t>(numbers[next]), .loss = numbers[next + 1]};
      next += 2;
    }
  }
  return metrics;
}

void RoutingMetrics::add(std::span<const uint8_t> labels, std::span<const data::AdvantageLabel> routes,
                         std::span<const double> losses) {
  for (size_t i = 0; i < labels.size(); ++i) {
    Cell& cell = cells_[labels[i] != 0 ? 1 : 0][routes[i] != data::AdvantageLabel::kNone ? 1 : 0];
    ++cell.count;
    cell.loss += losses[i];
  }
}

int64_t RoutingMetrics::samples() const {
  return cells_[0][0].count + cells_[0][1].count + cells_[1][0].count + cells_[1][1].count;
}

std::map<std::string, double> RoutingMetrics::metrics() const {
  std::map<std::string, double> result;
  const auto share = [&result](const std::string& name, double part, int64_t whole) {
    if (whole > 0) {
      result[name] = part / static_cast<double>(whole);
    }
  };
  const int64_t total = samples();
  for (const int conditional : {0, 1}) {
    const std::string kind = conditional != 0 ? "conditional" : "unconditional";
    const Cell &negative = cells_[0][conditional], &positive = cells_[1][conditional];
    const int64_t count = negative.count + positive.count;
    share(kind + "_ratio", static_cast<double>(count), total);
    share(kind + "_loss", negative.loss + positive.loss, count);
  }
  for (const int label : {0, 1}) {
    const std::string name = label != 0 ? "positive" : "negative";
    const int64_t of_label = cells_[label][0].count + cells_[label][1].count;
    share(name + "_label_ratio", static_cast<double>(of_label), total);
    for (const int conditional : {0, 1}) {
      const std::string kind = conditional != 0 ? "conditional" : "unconditional";
      const Cell& cell = cells_[label][conditional];
      share(str_cat(name, "_", kind, "_ratio"), static_cast<double>(cell.count), total);
      share(str_cat(name, "_effective_", kind, "_ratio"), static_cast<double>(cell.count), of_label);
      share(str_cat(name, "_", kind, "_loss"), cell.loss, cell.count);
    }
  }
  return result;
}

}  // namespace flexor::recap
