#include "base/progress.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/status_line.h"
#include "base/str_cat.h"
#include "base/text.h"

namespace flexor {

struct Progress::State {
  std::string title, unit, note;
  int64_t total = 0, done = 0;
  double start = 0.0, last_shown = 0.0;
  bool shown = false;
  std::mutex mutex;

  std::string line_locked(double now, bool with_bar) const;
  void show_locked(double now, bool at_end);
};

std::string Progress::State::line_locked(double now, bool with_bar) const {
  const double seconds = std::max(now - start, 1e-9);
  const double rate = static_cast<double>(done) / seconds;
  std::string line = title;
  if (total > 0) {
    const double share = std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
    if (with_bar) {
      constexpr size_t kWidth = 24;
      const auto full = static_cast<size_t>(share * kWidth);
      line += " [" + std::string(full, '#') + std::string(kWidth - full, '.') + ']';
    }
    line += str_cat(' ', done, '/', total, ' ', unit, ", ", static_cast<int>(share * 100.0), " %");
  } else {
    line += str_cat(' ', done, ' ', unit);
  }
  line += str_cat(", ", short_number(rate, 3), ' ', unit, "/s");
  if (total > done && done > 0) {
    line += ", " + human_seconds(static_cast<double>(total - done) / rate) + " left";
  } else if (total > 0 && done >= total) {
    line += ", " + human_seconds(seconds);
  }
  return note.empty() ? line : line + ", " + note;
}

void Progress::State::show_locked(double now, bool at_end) {
  constexpr double kFirst = 1.0, kBarEvery = 0.1, kLineEvery = 5.0;
  const bool terminal = stderr_is_terminal();
  const bool due = now - start >= kFirst && now - last_shown >= (terminal ? kBarEvery : kLineEvery);
  if ((!due && !(at_end && shown)) || log_is_off()) {
    return;
  }
  if (terminal && !at_end) {
    show_bar(line_locked(now, /*with_bar=*/true));
  } else {
    if (terminal) {
      show_bar("");
    }
    print_line(line_locked(now, /*with_bar=*/false));
  }
  shown = true;
  last_shown = now;
}

Progress::Progress(std::string title, int64_t total, std::string unit) : state_(std::make_unique<State>()) {
  state_->title = std::move(title);
  state_->total = total;
  state_->unit = std::move(unit);
  state_->start = wall_seconds();
  state_->last_shown = state_->start;
}

Progress::~Progress() {
  const std::lock_guard lock(state_->mutex);
  if (state_->shown) {
    state_->show_locked(wall_seconds(), /*at_end=*/true);
  }
}

void Progress::advance(int64_t items) {
  const std::lock_guard lock(state_->mutex);
  state_->done += items;
  state_->show_locked(wall_seconds(), /*at_end=*/false);
}

void Progress::note(std::string text) {
  const std::lock_guard lock(state_->mutex);
  state_->note = std::move(text);
}

}  // namespace flexor
