#include "recap/report_episodes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/shots.h"
#include "recap/report_assets.h"
#include "recap/report_episode_plots.h"
#include "report/data_uri.h"

namespace flexor::recap {
namespace {

using report::escape_html;

constexpr size_t kPictures = 10;
constexpr size_t kMostCameras = 2;
constexpr size_t kMostBytes = 3 << 20;   // of pictures in a page
constexpr size_t kMostLabelParts = 600;  // of the ribbon
/// Views of the chosen episodes, one after the other.
class EpisodeViews {
 public:
  EpisodeViews(report::HtmlPage& page, const JudgedRun& run, const ReportNumbers& numbers)
      : page_(page), run_(run), numbers_(numbers) {}

  void add(const ChosenEpisode& chosen) {
    const EpisodeNumbers& numbers = numbers_.episodes[chosen.row];
    dataset_ = &run_.datasets[numbers.dataset];
    episode_ = &dataset_->episodes[numbers.place];
    pictures_.reset();
    problem_.clear();
    open();
    std::string html =
        str_cat("<section class=\"episode\">\n<h3>", escape_html(to_utf8(dataset_->name)), ", episode ",
                episode_->episode_index, ": ", chosen.why, "</h3>\n<p>", escape_html(description(numbers)), "</p>\n");
    html += strips();
    html += labels();
    const EpisodeFrames frames{run_, *dataset_, *episode_, timed_fps()};
    html += episode_plots(frames);
    page_.markup(html + "<p class=\"read\"></p>\n</section>\n");
    data_.push_back(cursor_values(frames));
  }

  void finish() {
    page_.markup(
        str_cat("<script type=\"application/json\" id=\"episodes\">", report::json_for_script(data_), "</script>\n"));
    page_.add_script(kReportScript);
  }

 private:
  std::optional<double> timed_fps() const { return pictures_ ? std::optional(fps_) : std::nullopt; }

  /// The recorded episode; without it only the pictures are missing.
  void open() {
    fps_ = 1;
    try {
      data::DatasetOptions options;
      options.root = dataset_->root;
      options.episodes = std::vector{episode_->episode_index};
      pictures_ = data::Dataset::open(options);
      fps_ = pictures_->fps();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted || error.kind() == ErrorKind::kTerminated) {
        throw;
      }
      problem_ = str_cat("Pictures are not shown: ", to_utf8(error.what()), " (", to_utf8(error.where()), ").");
      log_warn("pictures not shown", {{"dataset", dataset_->root}, {"error", error.what()}, {"where", error.where()}});
    }
  }

  std::string description(const EpisodeNumbers& numbers) const {
    std::string text = str_cat(kind_singular(episode_->kind), ", ", episode_->length(), " frames");
    if (pictures_) {
      text += str_cat(", ", human_seconds(static_cast<double>(episode_->length()) / fps_));
    }
    if (std::isfinite(numbers.gap)) {
      text += str_cat(" · mean |V - return| ", short_number(numbers.gap, 3));
    }
    if (numbers.spearman) {
      text += str_cat(" · rank correlation of V and return ", short_number(*numbers.spearman, 3));
    }
    if (std::isfinite(numbers.disagreement)) {
      text += str_cat(" · variance of the members ", short_number(numbers.disagreement, 3));
    }
    text += str_cat(" · ", short_number(100 * numbers.positive_share, 3), " % of its frames are positive");
    const std::string task = dataset_->tasks.empty() ? "" : run_.tasks[static_cast<size_t>(task_number())];
    return task.empty() ? text : str_cat(text, " · task: ", to_utf8(task));
  }

  int32_t task_number() const { return dataset_->tasks[episode_->first]; }

  bool is_positive(size_t place) const { return dataset_->labels[episode_->first + place] != 0; }

  /// Frames in the middle of equal parts of the time axis, so that each picture stands above its moment.
  std::vector<size_t> places() const {
    const size_t n = std::min(kPictures, episode_->length());
    std::vector<size_t> result;
    for (size_t i = 0; i < n; ++i) {
      const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(n);
      result.push_back(static_cast<size_t>(std::lround(share * static_cast<double>(episode_->length() - 1))));
    }
    return result;
  }

  std::string strips() {
    if (!pictures_) {
      return str_cat("<p class=\"warn\">", escape_html(problem_), "</p>\n");
    }
    std::string html;
    for (size_t camera = 0; camera < std::min(kMostCameras, pictures_->cameras().size()); ++camera) {
      html += strip(camera);
    }
    if (pictures_->cameras().empty()) {
      html += "<p>The dataset has no camera with pictures.</p>\n";
    } else if (pictures_->cameras().size() > kMostCameras) {
      html += str_cat("<p>", pictures_->cameras().size() - kMostCameras, " more cameras are not shown.</p>\n");
    }
    return html;
  }

  std::string strip(size_t camera) {
    if (bytes_ > kMostBytes) {
      return "<p>No more pictures: the page would grow too large.</p>\n";
    }
    std::vector<size_t> shown;
    std::vector<int64_t> frames;
    for (const size_t place : places()) {
      const int64_t frame = dataset_->frame_index[episode_->first + place];
      if (frame >= 0 && frame < pictures_->num_frames()) {
        shown.push_back(place);
        frames.push_back(frame);
      }
    }
    const std::string name = escape_html(to_utf8(pictures_->cameras()[camera].name));
    std::string html = str_cat("<div class=\"shots\" title=\"", name, "\">\n");
    const auto shots =
        data::shots_of(*pictures_, static_cast<int64_t>(camera), 0, frames, {.width = 220, .quality = 80});
    for (size_t i = 0; i < shots.size(); ++i) {
      const data::Shot& shot = shots[i];
      bytes_ += shot.jpeg.size() * 4 / 3;
      const std::string picture = shot.error.empty()
                                      ? str_cat("<img alt=\"", name, ", frame ", shot.frame, "\" src=\"",
                                                report::data_uri("image/jpeg", shot.jpeg), "\">")
                                      : str_cat("<div class=\"broken\">", escape_html(to_utf8(shot.error)), "</div>");
      html += str_cat("<figure class=\"", is_positive(shown[i]) ? "positive" : "negative", "\" data-frame=\"",
                      shot.frame, "\">", picture, "<figcaption>", short_number(static_cast<double>(shown[i]) / fps_, 3),
                      " s</figcaption></figure>\n");
    }
    return html + "</div>\n";
  }

  /// The labels over time as a ribbon; of a long episode the more frequent one of each part.
  std::string labels() const {
    const size_t n = std::min(kMostLabelParts, episode_->length());
    std::vector<std::pair<bool, size_t>> runs;
    for (size_t i = 0; i < n; ++i) {
      const size_t first = i * episode_->length() / n, end = (i + 1) * episode_->length() / n;
      size_t positive = 0;
      for (size_t place = first; place < end; ++place) {
        positive += is_positive(place) ? 1 : 0;
      }
      const bool label = 2 * positive >= end - first;
      if (runs.empty() || runs.back().first != label) {
        runs.emplace_back(label, 0);
      }
      runs.back().second += end - first;
    }
    std::string html = "<div class=\"labels\">";
    for (const auto& [label, count] : runs) {
      html += str_cat("<span class=\"", label ? "positive" : "negative", "\" style=\"flex:", count, " 1 0\"></span>");
    }
    return html + "</div>\n";
  }

  report::HtmlPage& page_;
  const JudgedRun& run_;
  const ReportNumbers& numbers_;
  const JudgedDataset* dataset_ = nullptr;
  const JudgedEpisode* episode_ = nullptr;
  std::optional<data::Dataset> pictures_;
  std::string problem_;
  double fps_ = 1;
  size_t bytes_ = 0;
  Json data_ = Json::array();
};

}  // namespace

void add_episode_views(report::HtmlPage& page, const JudgedRun& run, const ReportNumbers& numbers,
                       const std::vector<ChosenEpisode>& chosen) {
  page.markup(
      "<p class=\"key\">Labels of the frames:<i class=\"positive\"></i>positive<i class=\"negative\"></i>negative. "
      "The mouse over a plot reads the values; a picture grows under it.</p>\n");
  if (run.has_values()) {
    page.paragraph(
        "A good value model rises to its best value towards the end of a success and falls where an attempt goes "
        "wrong; A is high where "
        "the next steps went better than V foresaw.");
  }
  EpisodeViews views(page, run, numbers);
  for (const ChosenEpisode& episode : chosen) {
    views.add(episode);
  }
  views.finish();
}

}  // namespace flexor::recap
