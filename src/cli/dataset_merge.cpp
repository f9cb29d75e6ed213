#include <algorithm>

#include "base/error.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/dataset_edit.h"
#include "config/command_line.h"

namespace flexor::cli {
namespace {

struct DatasetMergeOptions {
  std::vector<std::string> folders;
  EditFlags flags;
};

void fields(config::FieldTable& table, DatasetMergeOptions& o) {
  table.rest("src... dst", o.folders, "dataset folders, then the folder to make; it must not exist");
  fields(table, o.flags);
}

int run_dataset_merge(const Args& args, const Io& io) {
  auto options = config::parse<DatasetMergeOptions>(args);
  constexpr size_t kFewest = 2;
  if (options.folders.size() < kFewest) {
    throw Error(ErrorKind::kUsage, "expected dataset folders and the folder to make", {},
                "flexor dataset merge SRC SRC DST");
  }
  if (std::ranges::any_of(options.folders, [](const std::string& folder) { return folder.empty(); })) {
    throw Error(ErrorKind::kUsage, "the name of a folder is empty", {}, "flexor dataset merge SRC SRC DST");
  }
  const std::string target = options.folders.back();
  options.folders.pop_back();
  install_interrupt_handlers();
  const curate::EditOptions edit = edit_options(options.flags);
  print_reports(io, {curate::merge_datasets(options.folders, target, edit)}, options.flags.json);
  return 0;
}

}  // namespace

const Command kDatasetMerge{
    .path = "dataset merge",
    .summary = "Make one dataset of several with the same robot, rate and features.",
    .notes =
        "Episodes follow each other in the order of the sources; tasks with the same text become one. Versions may "
        "differ: the newest\n"
        "is written unless --to says otherwise. The sources are only read; DST appears complete or not at all.\n"
        "  flexor dataset merge monday tuesday week\n",
    .usage = &config::usage<DatasetMergeOptions>,
    .run = &run_dataset_merge,
    .for_rank_zero = true};

}  // namespace flexor::cli
