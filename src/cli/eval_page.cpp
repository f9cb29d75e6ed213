#include "cli/eval_page.h"

#include "base/str_cat.h"
#include "base/text.h"
#include "report/action_plots.h"
#include "report/html_page.h"

namespace flexor::cli {

std::string eval_page(const eval::EvalResult& result, const std::string& policy, const std::string& dataset) {
  report::HtmlPage page("Flexor evaluation");
  page.paragraph(str_cat("Policy ", to_utf8(policy), " on dataset ", to_utf8(dataset), ", ", result.frames,
                         " frames, open loop: at each frame a chunk of actions is sampled and compared with what was "
                         "recorded, in physical units."));
  if (!result.guidance.is_off()) {
    page.paragraph(str_cat("Guidance: the label \"", policy::guidance_name(result.guidance.type), "\" with weight ",
                           result.guidance.weight, "; the loss is that of the plain prompt."));
  }
  report::add_evaluation(page, eval::to_json(result));
  return page.str();
}

}  // namespace flexor::cli
