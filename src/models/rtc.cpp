#include "models/rtc.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/str_cat.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace flexor::models {
namespace {

double schedule_weight(const std::string& schedule, double linear) {
  if (schedule == "ZEROS") {
    return 0.0;
  }
  if (schedule == "ONES") {
    return 1.0;
  }
  if (schedule == "LINEAR") {
    return linear;
  }
  if (schedule == "EXP") {
    return linear * std::expm1(linear) / std::expm1(1.0);
  }
  throw Error(ErrorKind::kConfig, "unknown schedule '" + schedule + "'", "rtc_config.prefix_attention_schedule",
              "ZEROS, ONES, LINEAR or EXP");
}

}  // namespace

std::vector<double> rtc_prefix_weights(const std::string& schedule, int64_t delay, int64_t horizon, int64_t total) {
  delay = std::min(delay, horizon);
  std::vector<double> weights;
  weights.reserve(total);
  for (int64_t i = 0; i < total; ++i) {
    const double linear = 1.0 - static_cast<double>(i - delay + 1) / static_cast<double>(horizon - delay + 1);
    const double falling = schedule_weight(schedule, linear);
    weights.push_back(i < delay ? 1.0 : i < horizon ? falling : 0.0);
  }
  return weights;
}

RtcGuide::RtcGuide(const RtcArguments& arguments, const Tensor& actions)
    : max_guidance_weight_(arguments.config.max_guidance_weight) {
  const Tensor& left_over = arguments.prev_chunk_left_over;
  const int64_t B = actions.size(0), T = actions.size(1), A = actions.size(2);
  if (left_over.dim() != 3 || left_over.size(0) != B || left_over.size(1) > T || left_over.size(2) > A) {
    throw Error(ErrorKind::kData,
                str_cat("the previous chunk has shape ", shape_text(left_over.sizes()), ", expected up to ",
                        shape_text({B, T, A})),
                "prev_chunk_left_over");
  }
  const int64_t horizon =
      std::min(arguments.execution_horizon.value_or(arguments.config.execution_horizon), left_over.size(1));
  if (arguments.inference_delay < 0 || horizon < 0) {
    throw Error(
        ErrorKind::kConfig,
        str_cat("inference_delay ", arguments.inference_delay, " or execution_horizon ", horizon, " is negative"),
        "rtc_config");
  }
  previous_ = at::zeros_like(actions);
  previous_.narrow(1, 0, left_over.size(1)).narrow(2, 0, left_over.size(2)).copy_(left_over);
  const auto weights =
      rtc_prefix_weights(arguments.config.prefix_attention_schedule, arguments.inference_delay, horizon, T);
  weights_ = at::tensor(weights, actions.options().dtype(at::kDouble)).to(at::kFloat).unsqueeze(1);
}

Tensor RtcGuide::operator()(const Tensor& x, const Tensor& v, double time) const {
  const double tau = 1.0 - time, squared = time * time;
  const double variance = (squared + tau * tau) / squared;
  const double c = tau > 0 ? time / tau : max_guidance_weight_;
  const double guidance = std::min(c * variance, max_guidance_weight_);
  return v - guidance * ((previous_ - (x - time * v)) * weights_);
}

}  // namespace flexor::models
