#include "cli/recap_training.h"

#include "base/text.h"

namespace flexor::cli {

Json to_json(const recap::TrainingReport& report) {
  Json validation = Json::object();
  for (const auto& [name, value] : report.validation) {
    validation[name] = value;
  }
  return Json::object({{"folder", report.folder},
                       {"checkpoint", report.checkpoint},
                       {"best", report.best},
                       {"best_step", report.best_step < 0 ? Json() : Json(report.best_step)},
                       {"steps", report.steps},
                       {"final_loss", report.final_loss},
                       {"samples_per_s", report.samples_per_s},
                       {"validation", validation}});
}

void print_report(std::ostream& out, const recap::TrainingReport& report, const std::vector<std::string>& names) {
  out << "steps          " << report.steps << "\nfinal loss     " << short_number(report.final_loss)
      << "\nsamples/s      " << short_number(report.samples_per_s) << "\nlast           " << report.checkpoint
      << "\nbest           " << report.best << '\n';
  for (const std::string& name : names) {
    if (const auto found = report.validation.find(name); found != report.validation.end()) {
      out << "validation " << name << ": " << short_number(found->second) << '\n';
    }
  }
}

}  // namespace flexor::cli
