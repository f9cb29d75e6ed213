#include "base/error.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/dataset_edit.h"
#include "config/command_line.h"

namespace flexor::cli {
namespace {

struct DatasetConvertOptions {
  std::string source, target;
  EditFlags flags;
};

void fields(config::FieldTable& table, DatasetConvertOptions& o) {
  table.positional("src", o.source, "dataset folder, v2.0, v2.1 or v3.0; it is only read");
  table.positional("dst", o.target, "folder to make; it must not exist");
  fields(table, o.flags);
}

int run_dataset_convert(const Args& args, const Io& io) {
  const auto options = config::parse<DatasetConvertOptions>(args);
  if (!options.flags.to) {
    throw Error(ErrorKind::kUsage, "no version to convert to", "--to", "--to v3.0 or --to v2.1");
  }
  install_interrupt_handlers();
  const curate::EditOptions edit = edit_options(options.flags);
  print_reports(io, {curate::convert_dataset(options.source, options.target, edit)}, options.flags.json);
  return 0;
}

}  // namespace

const Command kDatasetConvert{
    .path = "dataset convert",
    .summary = "Convert a dataset between v2.0, v2.1 and v3.0 without encoding its videos again.",
    .notes =
        "The source is checked first and never touched; DST appears complete or not at all. Video packets are copied; "
        "where that\n"
        "is impossible the command says so, and --reencode encodes just those videos. Statistics are kept and put\n"
        "together, those of v2.0 computed.\n"
        "  flexor dataset convert demos demos_v30 --to v3.0\n",
    .usage = &config::usage<DatasetConvertOptions>,
    .run = &run_dataset_convert,
    .for_rank_zero = true};

}  // namespace flexor::cli
