#include "train/metrics.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/file_errors.h"
#include "base/log.h"
#include "base/status_line.h"
#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::train {

namespace {

std::string formatted(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

/// Rows of a metrics file up to a step; a half-written last line goes too.
std::string rows_until(const std::string& path, int64_t last_step) {
  std::string kept;
  for (const std::string& line : split_text(read_file(path), '\n')) {
    if (line.empty()) {
      continue;
    }
    try {
      const Json row = Json::parse(line, path);
      if (row.at("step").as_int() > last_step) {
        continue;
      }
    } catch (const Error&) {
      continue;
    }
    kept += line + "\n";
  }
  return kept;
}

std::FILE* open_metrics(const std::string& path, int64_t first_step) {
  const bool exists = std::filesystem::exists(path);
  write_file_atomic(path, exists && first_step > 0 ? rows_until(path, first_step) : std::string());
  std::FILE* file = std::fopen(path.c_str(), "ab");
  if (file == nullptr) {
    throw_file_error("cannot write the file", path, errno);
  }
  return file;
}

}  // namespace

Json to_json(const LogRow& row) {
  Json json = Json::object({{"step", row.step},
                            {"samples", row.samples},
                            {"epoch", row.epoch},
                            {"loss", row.loss},
                            {"grad_norm", row.grad_norm},
                            {"lr", row.lr},
                            {"updt_s", row.update_s},
                            {"data_s", row.data_s},
                            {"samples_per_s", row.samples_per_s},
                            {"data_wait_share", row.data_wait_share}});
  if (row.world > 1) {
    json["comm_wait_s"] = row.comm_wait_s;
  }
  if (row.peak_memory_gib >= 0) {
    json["peak_memory_gib"] = row.peak_memory_gib;
  }
  return json;
}

std::string lerobot_line(const LogRow& row) {
  const double samples_per_s = row.update_s > 0 ? row.step_samples / row.update_s : 0.0;
  const auto big = [](double value) { return human_count(value); };
  return str_cat("step:", big(static_cast<double>(row.step)), " smpl:", big(static_cast<double>(row.samples)),
                 " ep:", big(row.episodes), " epch:", formatted("%.2f", row.epoch),
                 " loss:", formatted("%.3f", row.loss), " grdn:", formatted("%.3f", row.grad_norm),
                 " lr:", formatted("%0.1e", row.lr), " updt_s:", formatted("%.3f", row.update_s),
                 " data_s:", formatted("%.3f", row.data_s), " smp/s:", formatted("%.0f", samples_per_s));
}

std::string lerobot_log_line(const LogRow& row) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &local);
  return str_cat("INFO ", text.data(), " ot_train.py:000 ", lerobot_line(row));
}

void MetricsWindow::add(const StepRecord& record) {
  sum_.loss += record.loss;
  sum_.grad_norm += record.grad_norm;
  sum_.lr += record.lr;
  sum_.update_s += record.update_s;
  sum_.data_s += record.data_s;
  sum_.waited_s += record.waited_s;
  sum_.comm_wait_s += record.comm_wait_s;
  sum_.samples += record.samples;
  ++count_;
}

LogRow MetricsWindow::take(int64_t step, int64_t samples, const DataSize& data) {
  const double n = static_cast<double>(count_);
  const double seconds = sum_.update_s + sum_.data_s;
  LogRow row{.step = step,
             .samples = samples,
             .episodes = static_cast<double>(samples) * static_cast<double>(data.num_episodes) /
                         static_cast<double>(data.num_frames),
             .epoch = static_cast<double>(samples) / static_cast<double>(data.num_frames),
             .loss = sum_.loss / n,
             .grad_norm = sum_.grad_norm / n,
             .lr = sum_.lr / n,
             .update_s = sum_.update_s / n,
             .data_s = sum_.data_s / n,
             .samples_per_s = seconds > 0 ? static_cast<double>(sum_.samples) / seconds : 0.0,
             .data_wait_share = seconds > 0 ? sum_.waited_s / seconds : 0.0,
             .step_samples = static_cast<double>(sum_.samples) / n,
             .comm_wait_s = sum_.comm_wait_s / n};
  *this = MetricsWindow();
  return row;
}

MetricsLog::MetricsLog(const std::string& folder, const std::string& style, int64_t first_step)
    : path_(folder + "/metrics.jsonl"), style_(style), file_(nullptr, &std::fclose) {
  if (!folder.empty()) {
    file_.reset(open_metrics(path_, first_step));
    events_.emplace(folder, first_step);
  }
}

void MetricsLog::train_row(const LogRow& row, const Json& extra) {
  if (!file_) {
    return;
  }
  Json json = to_json(row);
  std::vector<std::pair<std::string, double>> further;
  for (const auto& [name, value] : extra.as_object()) {
    json[name] = value;
    if (value.is_number()) {
      further.emplace_back("train/" + name, value.as_double());
    }
  }
  append(json);
  if (!further.empty()) {
    events_->scalars(row.step, further);
  }
  events_->scalars(row.step, {{"train/loss", row.loss},
                              {"train/grad_norm", row.grad_norm},
                              {"train/lr", row.lr},
                              {"train/updt_s", row.update_s},
                              {"train/data_s", row.data_s},
                              {"train/samples_per_s", row.samples_per_s},
                              {"train/data_wait_share", row.data_wait_share}});
  if (style_ == "lerobot") {
    print_line(lerobot_log_line(row));
  } else {
    log_info(str_cat(lerobot_line(row), " wait:", formatted("%.1f%%", 100.0 * row.data_wait_share)));
  }
}

void MetricsLog::eval_row(int64_t step, double loss, int64_t samples, double seconds) {
  if (!file_) {
    return;
  }
  append(Json::object({{"step", step}, {"eval_loss", loss}, {"eval_samples", samples}, {"eval_s", seconds}}));
  events_->scalars(step, {{"eval/loss", loss}});
  log_info("held-out loss",
           {{"step", step}, {"eval_loss", loss}, {"samples", samples}, {"seconds", short_number(seconds, 3)}});
}

void MetricsLog::row(int64_t step, const Json& members) {
  if (!file_) {
    return;
  }
  Json json = Json::object({{"step", step}});
  std::vector<std::pair<std::string, double>> scalars;
  for (const auto& [name, value] : members.as_object()) {
    json[name] = value;
    if (value.is_number() && name.starts_with("eval/")) {
      scalars.emplace_back(name, value.as_double());
    }
  }
  append(json);
  events_->scalars(step, scalars);
}

void MetricsLog::append(const Json& row) {
  const std::string line = row.dump() + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size() || std::fflush(file_.get()) != 0) {
    throw_file_error("cannot write the file", path_, errno);
  }
}

}  // namespace flexor::train
