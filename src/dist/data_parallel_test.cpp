#include "dist/data_parallel.h"

#include <ATen/ops/tanh.h>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "dist/ranks_fixture.h"
#include "tensor/tensor.h"

namespace flexor::dist {
namespace {

using ::testing::HasSubstr;
using Named = std::vector<std::pair<std::string, Tensor>>;

constexpr int64_t kWidth = 24, kLayers = 5, kRows = 12;

at::Tensor ramp(int64_t rows, int64_t columns, double step) {
  return at::sin(at::arange(rows * columns, at::TensorOptions().dtype(at::kFloat)) * step).reshape({rows, columns});
}

/// A small network; layer l is `layers[l]`.
Named make_params(at::ScalarType dtype) {
  Named params;
  for (int64_t l = 0; l < kLayers; ++l) {
    params.emplace_back("layer" + std::to_string(l),
                        (ramp(kWidth, kWidth, 0.7 + static_cast<double>(l)) * 0.2).to(dtype));
    params.back().second.set_requires_grad(true);
  }
  return params;
}

/// Mean loss over rows through the layers that `uses` names.
Tensor loss_of(const Named& params, const Tensor& rows, const std::vector<int64_t>& uses) {
  Tensor x = rows.to(params[0].second.scalar_type());
  for (const int64_t l : uses) {
    x = at::tanh(at::linear(x, params[static_cast<size_t>(l)].second)) + x;
  }
  return x.to(at::kFloat).pow(2).mean();
}

/// What a step trains: rows of this rank in micro batches, and the layers that each uses.
struct Step {
  int64_t branch = 0;
  std::vector<std::pair<Tensor, std::vector<int64_t>>> micro;
};

/// Gradients of one step as a trainer takes them; `sums` in float32 where `masters`.
std::vector<Tensor> reduced(DataParallel& reduce, const Named& params, const Step& step, bool masters) {
  std::vector<Tensor> sums(params.size());
  const auto count = step.micro.size();
  for (size_t m = 0; m < count; ++m) {
    if (m + 1 == count) {
      reduce.begin(step.branch, sums, masters && count > 1);
    }
    (loss_of(params, step.micro[m].first, step.micro[m].second) / static_cast<double>(count)).backward();
    for (size_t i = 0; i < params.size() && masters && m + 1 < count; ++i) {
      Tensor& grad = params[i].second.mutable_grad();
      if (grad.defined()) {
        sums[i] = sums[i].defined() ? sums[i] + grad : grad.to(at::kFloat);
        grad.reset();
      }
    }
  }
  std::vector<Tensor> means = reduce.finish();
  for (const auto& [name, param] : params) {
    param.mutable_grad().reset();
  }
  return means;
}

/// The same in one process: the mean over all ranks' losses.
std::vector<Tensor> expected(const Named& params, const std::vector<Step>& ranks) {
  for (const Step& step : ranks) {
    for (const auto& [rows, uses] : step.micro) {
      (loss_of(params, rows, uses) / static_cast<double>(step.micro.size() * ranks.size())).backward();
    }
  }
  std::vector<Tensor> grads;
  for (const auto& [name, param] : params) {
    grads.push_back(param.grad().defined() ? param.grad().clone() : Tensor());
    param.mutable_grad().reset();
  }
  return grads;
}

void expect_near(const std::vector<Tensor>& found, const std::vector<Tensor>& wanted, double tolerance, int step) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].defined(), wanted[i].defined()) << "step " << step << ", parameter " << i;
    if (found[i].defined()) {
      const Tensor a = found[i].to(at::kDouble), b = wanted[i].to(at::kDouble);
      EXPECT_LE((a - b).abs().max().item<double>(), tolerance * b.abs().max().item<double>())
          << "step " << step << ", parameter " << i;
    }
  }
}

/// @param uses  layers that a rank's micro batch uses in a step
using Uses = std::function<std::vector<int64_t>(int step, int64_t rank, int64_t micro)>;

using Ranked = std::shared_ptr<Group>;

void run(
    const Ranked& group, at::ScalarType dtype, int64_t micro_batches, bool masters, double tolerance, const Uses& uses,
    const std::function<int64_t(int)>& branch = [](int) { return 0; }) {
  const Named params = make_params(dtype), alone = make_params(dtype);
  DataParallel reduce(group, params, {.bucket_bytes = 3000, .first_bucket_bytes = 1000});
  const auto size = static_cast<size_t>(group->world());
  for (int step = 0; step < 5; ++step) {
    std::vector<Step> steps(size);
    for (size_t r = 0; r < size; ++r) {
      steps[r].branch = branch(step);
      for (int64_t m = 0; m < micro_batches; ++m) {
        const auto rank = static_cast<int64_t>(r);
        steps[r].micro.emplace_back(ramp(kRows, kWidth, 0.1 * (step + 1) + static_cast<double>(rank * 7 + m)),
                                    uses(step, rank, m));
      }
    }
    const std::vector<Tensor> means = reduced(reduce, params, steps[static_cast<size_t>(group->rank())], masters);
    expect_near(means, expected(alone, steps), tolerance, step);
  }
}

const Uses kAll = [](int, int64_t, int64_t) { return std::vector<int64_t>{0, 1, 2, 3, 4}; };
constexpr double kFloatTolerance = 1e-5, kHalfTolerance = 2e-2;

void float32(const Ranked& group) {
  run(group, at::kFloat, 1, true, kFloatTolerance, kAll);
}
void float32_accumulated(const Ranked& group) {
  run(group, at::kFloat, 3, true, kFloatTolerance, kAll);
}
void bfloat16(const Ranked& group) {
  run(group, at::kBFloat16, 1, true, kHalfTolerance, kAll);
}
void bfloat16_accumulated(const Ranked& group) {
  run(group, at::kBFloat16, 3, true, kHalfTolerance, kAll);
}
void bfloat16_alone_accumulated(const Ranked& group) {
  run(group, at::kBFloat16, 2, false, kHalfTolerance, kAll);
}
void unused_everywhere(const Ranked& group) {
  run(group, at::kFloat, 2, true, kFloatTolerance, [](int, int64_t, int64_t) { return std::vector<int64_t>{0, 2, 4}; });
}
/// Layer 1 comes in step 2, layer 3 is not used by rank 1 in odd steps, layer 4 by nobody in step 3.
void used_by_some(const Ranked& group) {
  for (const int64_t micro_batches : {1, 2}) {
    run(group, at::kFloat, micro_batches, false, kFloatTolerance, [](int step, int64_t rank, int64_t micro) {
      std::vector<int64_t> layers = {0, 2};
      if (step >= 2 && micro == 0) {
        layers.push_back(1);
      }
      if (rank == 0 || step % 2 == 0) {
        layers.push_back(3);
      }
      if (step != 3) {
        layers.push_back(4);
      }
      return layers;
    });
  }
}
void branches(const Ranked& group) {
  run(
      group, at::kFloat, 1, true, kFloatTolerance,
      [](int step, int64_t, int64_t) {
        return step % 2 == 0 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0, 3, 4};
      },
      [](int step) { return step % 2; });
}
void other_weights(const Ranked& group) {
  Named params = make_params(at::kFloat);
  if (group->rank() == 1) {
    const at::NoGradGuard no_graph;
    params[3].second.add_(1e-6);
  }
  try {
    DataParallel reduce(group, params);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 1 starts from other weights than rank 0: parameter 3 is 'layer3"));
  }
}

TEST(ReduceBody, DISABLED_reduce) {
  const auto group = join_group(resolve_launch(process_env()), {.timeout_s = 30});
  const std::vector<std::pair<const char*, void (*)(const Ranked&)>> bodies = {
      {"float32", float32},
      {"float32_accumulated", float32_accumulated},
      {"bfloat16", bfloat16},
      {"bfloat16_accumulated", bfloat16_accumulated},
      {"bfloat16_alone_accumulated", bfloat16_alone_accumulated},
      {"unused_everywhere", unused_everywhere},
      {"used_by_some", used_by_some},
      {"branches", branches},
      {"other_weights", other_weights}};
  for (const auto& [name, body] : bodies) {
    SCOPED_TRACE(name);
    body(group);
  }
  group->close();
}

// All in one start of two processes.
TEST(DataParallel, EqualsOneProcess) {
  for (const RankEnd& end : Ranks("reduce", 2).wait_all()) {
    EXPECT_EQ(end.code, 0) << end.output;
  }
}

}  // namespace
}  // namespace flexor::dist
