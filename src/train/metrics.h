#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "train/tensorboard.h"

namespace flexor::train {

/// What one optimizer step measured.
struct StepRecord {
  double loss = 0, grad_norm = 0;  ///< the norm before clipping
  double lr = 0;                   ///< of the next step, which is what LeRobot logs
  double update_s = 0;             ///< forward, backward and optimizer
  double data_s = 0;               ///< from asking for the batch to having it on the device
  double waited_s = 0;             ///< part of data_s in which decoding was waited for
  double comm_wait_s = 0;          ///< part of update_s in which other ranks were waited for
  int64_t samples = 0;             ///< over all ranks
};

/// Where a run stands in its data.
struct DataSize {
  int64_t num_frames = 1, num_episodes = 1;
};

/// Averages since the last log line, and the position at its end.
struct LogRow {
  int64_t step = 0, samples = 0;  ///< samples since the start of the run, over all ranks
  double episodes = 0, epoch = 0;
  double loss = 0, grad_norm = 0, lr = 0, update_s = 0, data_s = 0;
  double samples_per_s = 0, data_wait_share = 0;
  double step_samples = 0;  ///< samples a step, over all ranks
  double comm_wait_s = 0;   ///< of a step: communication that no computation hid; a member of the row with ranks
  int64_t world = 1;
  double peak_memory_gib = -1;  ///< of the device since the start, by this process; a member of the row on a device
};
Json to_json(const LogRow& row);  ///< a row of metrics.jsonl

/// "step:20 smpl:1K ep:3 epch:0.53 loss:1.949 grdn:0.987 lr:7.9e-07 updt_s:1.180 data_s:0.420 smp/s:12", LeRobot 0.6.1,
/// whose smp/s leaves out data_s.
std::string lerobot_line(const LogRow& row);
/// The line above as LeRobot's logger prints it: "INFO 2025-03-01 10:00:00 ot_train.py:000 step:20 ...".
std::string lerobot_log_line(const LogRow& row);

/// Collects steps and says their averages.
class MetricsWindow {
 public:
  void add(const StepRecord& record);
  bool empty() const { return count_ == 0; }
  /// Averages of what was added; starts the next window.
  LogRow take(int64_t step, int64_t samples, const DataSize& data);

 private:
  StepRecord sum_;
  int64_t count_ = 0;
};

/// The metrics of a run's folder: metrics.jsonl and TensorBoard events, and the lines on stderr.
class MetricsLog {
 public:
  /// @param folder  "" on ranks that keep no log: all calls then do nothing
  /// @param first_step  rows of metrics.jsonl beyond this step are removed: an interrupted run wrote them
  /// @throws Error(kFile)
  MetricsLog(const std::string& folder, const std::string& style, int64_t first_step);
  /// @param extra  further numbers, flat; members of the row behind its own
  void train_row(const LogRow& row, const Json& extra = Json::object());
  void eval_row(int64_t step, double loss, int64_t samples, double seconds);
  /// Any other row of numbers; members "eval/..." go to TensorBoard under their names.
  void row(int64_t step, const Json& members);

 private:
  void append(const Json& row);

  std::string path_, style_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::optional<TensorBoardWriter> events_;
};

}  // namespace flexor::train
