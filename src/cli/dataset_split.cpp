#include "base/error.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/dataset_edit.h"
#include "config/command_line.h"

namespace flexor::cli {
namespace {

struct DatasetSplitOptions {
  std::string source, target;
  std::vector<std::string> parts;
  EditFlags flags;
};

void fields(config::FieldTable& table, DatasetSplitOptions& o) {
  table.positional("src", o.source, "dataset folder; it is only read");
  table.positional("dst", o.target, "folder to make; it gets one dataset per part");
  table.rest("name=part...", o.parts, "a share of the episodes (train=0.8) or episodes (val=40-49,52) for each part");
  fields(table, o.flags);
}

int run_dataset_split(const Args& args, const Io& io) {
  const auto options = config::parse<DatasetSplitOptions>(args);
  if (options.parts.empty()) {
    throw Error(ErrorKind::kUsage, "no parts are named", {}, "flexor dataset split SRC DST train=0.8 val=0.2");
  }
  std::vector<curate::SplitPart> parts;
  for (const std::string& text : options.parts) {
    parts.push_back(curate::parse_split_part(text));
  }
  install_interrupt_handlers();
  const curate::EditOptions edit = edit_options(options.flags);
  print_reports(io, curate::split_dataset(options.source, options.target, parts, edit), options.flags.json);
  return 0;
}

}  // namespace

const Command kDatasetSplit{
    .path = "dataset split",
    .summary = "Make several datasets of one, by shares or by episodes.",
    .notes =
        "Each part becomes the dataset DST/NAME, its episodes and tasks numbered anew. Shares take consecutive "
        "episodes, rounded down;\n"
        "the last part takes what is left when the shares sum to 1. DST appears complete or not at all.\n"
        "  flexor dataset split demos parts train=0.8 val=0.2\n"
        "  flexor dataset split demos parts train=0-39 val=40-49\n",
    .usage = &config::usage<DatasetSplitOptions>,
    .run = &run_dataset_split,
    .for_rank_zero = true};

}  // namespace flexor::cli
