#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/batch_reader.h"
#include "data/dataset.h"
#include "data/raw_batch.h"
#include "dist/shared_work.h"
#include "recap/camera_slots.h"
#include "recap/labels.h"
#include "recap/recap_config.h"
#include "recap/returns.h"
#include "recap/sidecar.h"

namespace flexor::recap {

/// What says how good a frame is. Called from one thread.
class FrameJudge {
 public:
  virtual ~FrameJudge() = default;
  virtual data::BatchFormat format(const CameraSlots& slots) = 0;
  /// V of every frame of the batch.
  virtual std::vector<float> values(const data::RawBatch& batch, const CameraSlots& slots) = 0;
  /// Values of an interrupted run are taken over only if this is equal.
  virtual Json identity() const = 0;
};

struct AdvantagesResult {
  bool is_main = true;  ///< false on ranks that only helped: labels are the main one's
  ReturnRange range = {};
  double threshold = 0;
  std::map<std::string, double> by_task = {};
  std::vector<LabelReport> reports = {};
  int64_t judged = 0, resumed = 0;  ///< frames that the model saw, frames taken over from an interrupted run
  double seconds = 0;               ///< of judging
  double waited_s = 0;              ///< of that, this rank's model waited for pictures
  double model_s = 0;               ///< of that, this rank's model computed
  double samples_per_s() const { return seconds > 0 ? static_cast<double>(judged) / seconds : 0; }
};

/// Step 3. The constructor opens and checks all data before any model is needed; run() judges the frames, each once,
/// while the next ones are decoded, and writes META/advantages[_TAG].parquet and META/mixture_config.yaml. Values are
/// kept in META/advantages[_TAG].shards until then. Ranks share the batches in turns; the main one writes what a single
/// rank would write, so that an interrupted run goes on with any number of ranks.
class AdvantagesStepRun {
 public:
  /// @throws Error(kFile), Error(kData), Error(kConfig): unknown tags, returns that do not cover the data or are not
  ///         finite, no successful episode, cameras that are missing
  explicit AdvantagesStepRun(const RecapConfig& config, std::shared_ptr<dist::Group> group = dist::group_of_one());
  ~AdvantagesStepRun();

  const ReturnRange& range() const { return range_; }
  /// @throws Error(kRuntime) for a value that is not finite; Error(kInterrupted), Error(kTerminated) after a signal: a
  ///         later run goes on
  AdvantagesResult run(FrameJudge& judge);

 private:
  struct Part;
  void open_part(const DatasetEntry& entry, const ReturnsSidecar& returns);
  void judge_part(Part& part, FrameJudge& judge, AdvantagesResult& result) const;
  void write(const Json& judge, AdvantagesResult& result);

  RecapConfig config_;
  std::shared_ptr<dist::Group> group_;
  std::vector<std::unique_ptr<Part>> parts_;
  ReturnRange range_;
};

/// The value checkpoint of the configuration: advantage.value_checkpoint, else the best one of output_dir/value, else
/// its newest. @throws Error(kFile)
std::string value_checkpoint(const RecapConfig& config);

/// The value model behind a judge. Refuses one that was trained on returns of another tag or range.
/// @throws Error(kFile), Error(kCheckpoint), Error(kData)
std::unique_ptr<FrameJudge> open_value_judge(const RecapConfig& config, const ReturnRange& range);

/// Step 3 with the value model of the configuration. Data are checked before the model is read.
/// @param group  of meet_ranks(): the ranks that share the work
AdvantagesResult run_advantages(const RecapConfig& config,
                                const std::shared_ptr<dist::Group>& group = dist::group_of_one());

}  // namespace flexor::recap
