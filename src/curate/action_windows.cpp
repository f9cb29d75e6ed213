#include "curate/action_windows.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "curate/episode_values.h"
#include "schema/policy_feature.h"

namespace flexor::curate {
namespace {

const data::FeatureInfo* find_feature(const StatsSource& source, std::string_view name) {
  std::vector<std::string> known;
  for (const data::FeatureInfo& feature : source.numeric) {
    if (feature.recorded_name == name) {
      return &feature;
    }
    known.push_back(feature.recorded_name);
  }
  throw Error(ErrorKind::kData, str_cat("norm_stats need ", name, ", the dataset has ", join_text(known, ", ")),
              source.info.info_path);
}

}  // namespace

ActionWindows::ActionWindows(const StatsSource& source, WindowOptions options)
    : source_(source),
      options_(std::move(options)),
      scan_(source),
      state_(find_feature(source, schema::kStateKey)),
      action_(find_feature(source, schema::kActionKey)) {
  const auto& mask = options_.delta_mask;
  const auto last = static_cast<int64_t>(mask.rend() - std::find(mask.rbegin(), mask.rend(), true));
  if (static_cast<int64_t>(mask.size()) > action_dim() || last > state_dim()) {
    throw Error(
        ErrorKind::kData,
        str_cat("the delta mask covers ", mask.size(), " dims, ", last,
                " of them up to the last relative one; action has ", action_dim(), ", observation.state ", state_dim()),
        source.info.info_path, "--delta-mask 6,-1 makes the first six dims relative");
  }
}

void ActionWindows::append_window(const std::vector<float>& actions, const float* state, int64_t frame,
                                  std::vector<float>& out) const {
  const int64_t width = action_dim(), frames = static_cast<int64_t>(actions.size()) / width;
  for (int64_t t = 0; t < options_.horizon; ++t) {
    const float* action = actions.data() + std::min(frame + t, frames - 1) * width;
    for (int64_t d = 0; d < width; ++d) {
      const bool is_delta =
          d < static_cast<int64_t>(options_.delta_mask.size()) && options_.delta_mask[static_cast<size_t>(d)];
      out.push_back(is_delta ? action[d] - state[d] : action[d]);
    }
  }
}

void ActionWindows::run(const Body& body) const {
  std::vector<float> states, windows;
  const auto full = static_cast<size_t>(options_.batch_size * state_dim());
  for_each_episode(source_, scan_, {state_, action_}, [&](size_t, const std::vector<NumericValues>& values) {
    const auto state = values_as<float>(values[0]), actions = values_as<float>(values[1]);
    const int64_t frames = static_cast<int64_t>(state.size()) / state_dim();
    for (int64_t frame = 0; frame < frames; ++frame) {
      const float* row = state.data() + frame * state_dim();
      states.insert(states.end(), row, row + state_dim());
      append_window(actions, row, frame, windows);
      if (states.size() == full) {
        body(states, windows);
        states.clear();
        windows.clear();
      }
    }
  });
  if (!states.empty()) {
    body(states, windows);
  }
}

}  // namespace flexor::curate
