#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <string>
#include <vector>

#include "models/policy_model.h"

namespace flexor::models {

/// How much each step of the horizon follows the previous chunk (real-time chunking, arXiv:2506.07339): 1 for i <
/// delay, falling by the schedule (ZEROS, ONES, LINEAR, EXP) for delay <= i < horizon, 0 beyond.
/// @throws Error(kConfig) for an unknown schedule
std::vector<double> rtc_prefix_weights(const std::string& schedule, int64_t delay, int64_t horizon, int64_t total);

/// Guides velocities towards the rest of the previous chunk, in LeRobot's form without Jacobian.
class RtcGuide {
 public:
  /// @param actions  [B, T, A], whose shape and device are used
  /// @throws Error(kData) if the previous chunk does not fit, Error(kConfig)
  RtcGuide(const RtcArguments& arguments, const at::Tensor& actions);
  /// v' = v - g (P - (x - t v)) w, with g from the time. @param time  1 is noise, 0 is data
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& v, double time) const;

 private:
  at::Tensor previous_;  ///< P, [B, T, A]
  at::Tensor weights_;   ///< w, [T, 1]
  double max_guidance_weight_;
};

}  // namespace flexor::models
