#include "curate/episode_page.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "curate/episode_curves.h"
#include "curate/episode_page_assets.h"
#include "curate/episode_pictures.h"
#include "data/dataset.h"
#include "report/data_uri.h"
#include "report/html_page.h"
#include "report/svg_plot.h"

namespace flexor::curate {
namespace {

using report::escape_html;

/// Values a curve that the page keeps to show under the cursor.
constexpr int64_t kMostValues = 2000;

struct TaskSpan {
  int64_t begin = 0, end = 0;
  std::string text;
};

class EpisodePage {
 public:
  explicit EpisodePage(const EpisodePageOptions& options)
      : options_(options),
        dataset_(data::Dataset::open(
            {.root = options.root, .episodes = std::vector{options.episode}, .rename_map = {}, .columns = {"*"}})),
        length_(dataset_.episode(0).length),
        step_((length_ + kMostValues - 1) / kMostValues),
        page_(str_cat(name(), ", episode ", options.episode)) {}

  std::string run() {
    if (data::has_errors(dataset_.findings())) {
      data::report_findings(dataset_.findings(), options_.root);
    }
    if (length_ == 0) {
      throw Error(ErrorKind::kData, "the episode has no frames",
                  str_cat(options_.root, ", episode ", options_.episode));
    }
    page_.add_style(kEpisodePageStyle);
    head();
    find_tasks();
    find_strips();
    viewer();
    strips();
    for (const CurveGroup& group : episode_curves(dataset_)) {
      curves(group);
    }
    table_of_statistics();
    script();
    return page_.str();
  }

 private:
  std::string name() const {
    std::error_code code;
    const std::filesystem::path path = std::filesystem::weakly_canonical(options_.root, code);
    const std::string last = path.filename().string();
    return to_utf8(code || last.empty() ? options_.root : last);
  }

  std::string seconds(int64_t frame) const {
    constexpr double kHundredth = 0.01;
    return short_number(std::round(static_cast<double>(frame) / dataset_.fps() / kHundredth) * kHundredth, 6) + " s";
  }

  void head() {
    const data::DatasetInfo& info = dataset_.info();
    page_.paragraph(to_utf8(options_.root));
    page_.figures({{"frames", str_cat(length_)},
                   {"duration", human_seconds(static_cast<double>(length_) / dataset_.fps())},
                   {"frames per second", short_number(dataset_.fps(), 6)},
                   {"cameras", str_cat(dataset_.cameras().size())},
                   {"robot", info.robot_type.empty() ? "unknown" : to_utf8(info.robot_type)},
                   {"format", str_cat("LeRobot ", info.version)}});
    for (const data::Finding& finding : dataset_.findings()) {
      page_.markup(str_cat("<p class=\"warn\">", escape_html(to_utf8(finding.message)), " (",
                           escape_html(to_utf8(finding.where())), ")</p>\n"));
    }
  }

  void find_tasks() {
    for (int64_t frame = 0; frame < length_; ++frame) {
      const std::string& text = dataset_.task(frame);
      if (tasks_.empty() || tasks_.back().text != text) {
        tasks_.push_back({frame, frame, text});
      }
      tasks_.back().end = frame + 1;
    }
    for (TaskSpan& task : tasks_) {
      task.text = to_utf8(task.text);
    }
  }

  void find_strips() {
    for (size_t camera = 0; camera < dataset_.cameras().size(); ++camera) {
      strips_.push_back(strip_of(dataset_, static_cast<int64_t>(camera), options_.num_pictures));
    }
  }

  std::string ribbon() const {
    std::vector<std::string> texts;
    std::string html = "<div class=\"ribbon\">";
    for (const TaskSpan& task : tasks_) {
      const auto known = std::find(texts.begin(), texts.end(), task.text);
      const auto place = known - texts.begin();
      if (known == texts.end()) {
        texts.push_back(task.text);
      }
      const std::string text = escape_html(task.text);
      html += str_cat("<span class=\"t", place % 6, "\" style=\"flex:", task.end - task.begin, " 1 0\" title=\"", text,
                      "&#10;frames ", task.begin, " to ", task.end - 1, "\">", text, "</span>");
    }
    return html + "<i id=\"mark\"></i></div>\n";
  }

  /// The part that stays on screen: one picture a camera, and the time.
  void viewer() {
    std::string html = "<section class=\"viewer\"><div class=\"views\">\n";
    for (const data::FeatureInfo& camera : dataset_.cameras()) {
      const std::string name = escape_html(to_utf8(camera.name));
      html += str_cat("<figure><img alt=\"", name, "\"><figcaption>", name, " · <span></span></figcaption></figure>\n");
    }
    html += str_cat("</div>\n<div class=\"bar\"><button id=\"play\" type=\"button\">▶ play</button>",
                    "<input id=\"seek\" type=\"range\" min=\"0\" max=\"", length_ - 1,
                    "\" value=\"0\" aria-label=\"frame\"><output id=\"now\"></output>");
    if (has_statistics("std")) {
      html += "<label><input id=\"band-std\" type=\"checkbox\" checked> mean ± std</label>";
    }
    if (has_statistics("q01")) {
      html += "<label><input id=\"band-q\" type=\"checkbox\" checked> q01 to q99</label>";
    }
    page_.markup(html + "</div>\n" + ribbon() + "</section>\n");
    if (tasks_.size() == 1) {  // the ribbon says it, but not without script and on paper
      page_.markup(str_cat("<p class=\"task\">Task: ", escape_html(tasks_[0].text), "</p>\n"));
      return;
    }
    page_.heading("Tasks over time");
    std::vector<std::vector<std::string>> rows;
    for (const TaskSpan& task : tasks_) {
      rows.push_back({str_cat(task.begin, " to ", task.end - 1),
                      str_cat(seconds(task.begin), " to ", seconds(task.end - 1)), task.text});
    }
    page_.table({"frames", "time", "task"}, rows);
  }

  bool has_statistics(std::string_view stat) const {
    return std::ranges::any_of(dataset_.stats(), [&](const auto& entry) {
      const data::FeatureInfo* feature = dataset_.info().find(entry.first);
      return feature != nullptr && !feature->is_camera() && dataset_.has_column(entry.first) && entry.second.has(stat);
    });
  }

  void strips() {
    for (size_t camera = 0; camera < strips_.size(); ++camera) {
      const std::string name = to_utf8(dataset_.cameras()[camera].name);
      page_.heading(name);
      std::string html = "<div class=\"strip\">\n";
      for (const data::Shot& shot : strips_[camera]) {
        const std::string picture = shot.error.empty()
                                        ? str_cat("<img alt=\"", escape_html(name), ", frame ", shot.frame, "\" src=\"",
                                                  report::data_uri("image/jpeg", shot.jpeg), "\">")
                                        : str_cat("<div class=\"broken\">", escape_html(to_utf8(shot.error)), "</div>");
        html += str_cat("<figure data-frame=\"", shot.frame, "\">", picture, "<figcaption>", shot.frame, " · ",
                        seconds(shot.frame), "</figcaption></figure>\n");
      }
      page_.markup(html + "</div>\n");
      if (options_.with_video) {
        const EpisodeVideo video = video_of(dataset_, static_cast<int64_t>(camera));
        page_.markup(
            str_cat("<script type=\"text/plain\" id=\"video", camera, "\">", report::base64(video.mp4), "</script>\n"));
        page_.paragraph(video.is_recorded
                            ? "The page holds the recorded video itself."
                            : "The page holds the video encoded again as H.264, smaller where it was large.");
      }
    }
    if (strips_.empty()) {
      page_.paragraph("The dataset has no camera with pictures.");
    }
  }

  report::LinePlot plot_of(const CurvePlot& plot, const std::vector<double>& times) const {
    report::LinePlot drawn{.title = plot.title, .x_label = "s", .y_label = "", .width = 420, .height = 190};
    for (const Curve& curve : plot.curves) {
      drawn.series.push_back({.name = curve.label, .x = times, .y = curve.values, .colour = curve.colour});
      drawn.bands.push_back({curve.q01, curve.q99, curve.colour, "q"});
      drawn.bands.push_back({curve.mean - curve.std, curve.mean + curve.std, curve.colour, "std"});
    }
    return drawn;
  }

  void curves(const CurveGroup& group) {
    std::vector<double> times(static_cast<size_t>(length_));
    for (size_t i = 0; i < times.size(); ++i) {
      times[i] = static_cast<double>(i) / dataset_.fps();
    }
    page_.heading(group.heading);
    std::string html = "<div class=\"plots small\">\n";
    for (const CurvePlot& plot : group.plots) {
      html += str_cat("<figure data-plot=\"", plots_.size(), "\">", to_svg(plot_of(plot, times)), "</figure>\n");
      Json curves = Json::array();
      for (const Curve& curve : plot.curves) {
        const std::vector<float> values = every(curve.values, step_);
        const auto bytes = std::as_bytes(std::span(values));
        curves.push_back(
            Json(Json::Array{curve.label, curve.colour,
                             report::base64({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()})}));
        add_row(plot.title, curve);
      }
      plots_.push_back(Json::object({{"curves", curves}}));
    }
    page_.markup(html + "</div>\n");
    if (group.plots.empty()) {
      page_.paragraph("The episode has no such values.");
    }
    if (group.left_out > 0) {
      page_.paragraph(str_cat(group.left_out, " more dimensions are not drawn."));
    }
  }

  void add_row(const std::string& title, const Curve& curve) {
    double low = std::nan(""), high = std::nan(""), sum = 0;
    int64_t count = 0, outside = 0;
    for (const double value : curve.values) {
      if (std::isfinite(value)) {
        low = std::fmin(low, value);
        high = std::fmax(high, value);
        sum += value;
        ++count;
        outside += value < curve.q01 || value > curve.q99 ? 1 : 0;
      }
    }
    const auto text = [](double value) { return std::isfinite(value) ? short_number(value) : std::string("-"); };
    const bool has_quantiles = std::isfinite(curve.q01) && std::isfinite(curve.q99);
    std::string remark = low == high ? "constant" : "";
    if (count < length_) {
      remark += str_cat(remark.empty() ? "" : ", ", length_ - count, " values not finite");
    }
    rows_.push_back({curve.label, title, text(low), text(sum / static_cast<double>(std::max<int64_t>(1, count))),
                     text(high), text(curve.mean), text(curve.std), text(curve.q01), text(curve.q99),
                     has_quantiles ? short_number(100.0 * static_cast<double>(outside) /
                                                      static_cast<double>(std::max<int64_t>(1, count)),
                                                  3) +
                                         " %"
                                   : "-",
                     remark});
  }

  void table_of_statistics() {
    page_.heading("Numbers");
    if (!has_statistics("mean")) {
      page_.paragraph(str_cat("The dataset holds no statistics; `flexor dataset stats ", to_utf8(options_.root),
                              " --write` adds them."));
    }
    page_.folded_table(
        "This episode beside the statistics of the dataset",
        {"", "dimension", "min", "mean", "max", "dataset mean", "dataset std", "q01", "q99", "outside q01 to q99", ""},
        rows_);
  }

  void script() {
    Json tasks = Json::array();
    for (const TaskSpan& task : tasks_) {
      tasks.push_back(Json(Json::Array{task.begin, task.end, task.text}));
    }
    const Json data = Json::object(
        {{"fps", dataset_.fps()}, {"frames", length_}, {"step", step_}, {"plots", plots_}, {"tasks", tasks}});
    page_.markup(
        str_cat("<script type=\"application/json\" id=\"episode\">", report::json_for_script(data), "</script>\n"));
    page_.add_script(kEpisodePageScript);
  }

  EpisodePageOptions options_;
  data::Dataset dataset_;
  int64_t length_, step_;  ///< step: distance of the values kept for the cursor, in frames
  report::HtmlPage page_;
  std::vector<TaskSpan> tasks_;
  std::vector<std::vector<data::Shot>> strips_;  ///< per camera
  Json plots_ = Json::array();
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace

std::string episode_page(const EpisodePageOptions& options) {
  return EpisodePage(options).run();
}

}  // namespace flexor::curate
