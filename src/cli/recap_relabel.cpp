#include <ostream>

#include "cli/commands.h"
#include "cli/recap_labels.h"
#include "cli/recap_options.h"
#include "config/command_line.h"
#include "recap/relabel.h"

namespace flexor::cli {
namespace {

struct RecapRelabelOptions {
  RecapOptions common;
  recap::RelabelOptions relabel;
};

void fields(config::FieldTable& table, RecapRelabelOptions& o) {
  table("source_tag", o.relabel.source_tag, "of the advantages that are there; without: advantage.tag")
      .value_name("TAG");
  table("new_tag", o.relabel.new_tag, "of the advantages to write; without: advantage.tag").value_name("TAG");
  table("lookahead", o.relabel.lookahead, "compute the advantages anew with this N, from the values that are there")
      .range(1, 1e15);
  table("threshold", o.relabel.threshold, "this threshold instead of a quantile").range(-1e12, 1e12);
  table("reference", o.relabel.reference,
        "as RLinf's relabel_advantages: sft frames are labelled like all others, the weights in mixture_config.yaml "
        "become 1");
  fields(table, o.common);
}

int run_recap_relabel(const Args& args, const Io& io) {
  refuse_dashed_keys(args, {"config", "print", "json", "source", "new", "lookahead", "threshold", "reference"});
  const auto options = config::parse<RecapRelabelOptions>(args);
  require_configuration(options.common,
                        "flexor recap relabel --config FILE --new-tag q20 advantage.positive_quantile=0.2");
  const recap::RecapConfig config = recap::load_recap_config(options.common.sources(), recap::Step::kAdvantages);
  if (options.common.print_config) {
    print_step(io.out, config.advantages);
    return 0;
  }
  const recap::RelabelResult result = recap::relabel(config, options.relabel);
  print_labels(io.out,
               {.threshold = result.threshold, .by_task = result.by_task, .reports = result.reports, .more = {}},
               options.common.json);
  return 0;
}

}  // namespace

const Command kRecapRelabel{
    .path = "recap relabel",
    .summary = "RECAP, step 3 again: another threshold or look-ahead, with no model.",
    .notes =
        "    flexor recap relabel --config configs/recap_tiny.yaml --new-tag q20 advantage.positive_quantile=0.2\n"
        "    flexor recap relabel --config FILE --new-tag n50 --lookahead 50\n"
        "    flexor recap relabel --config FILE --new-tag task advantage.threshold_from=task\n\n"
        "Reads the values in meta/advantages_SOURCE.parquet and writes meta/advantages_NEW.parquet; outcomes and data "
        "stay as "
        "they are.\n",
    .usage = &config::usage<RecapRelabelOptions>,
    .run = &run_recap_relabel,
    .for_rank_zero = true};

}  // namespace flexor::cli
