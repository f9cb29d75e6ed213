#include "base/error.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/dataset_edit.h"
#include "config/command_line.h"

namespace flexor::cli {
namespace {

struct DatasetDeleteEpisodesOptions {
  std::string source, target, episodes;
  EditFlags flags;
};

void fields(config::FieldTable& table, DatasetDeleteEpisodesOptions& o) {
  table.positional("src", o.source, "dataset folder; it is only read");
  table.positional("dst", o.target, "folder to make; it must not exist");
  table("episodes", o.episodes, "episode_index of those to leave out: 3 or 0-9 or 0-9,12").value_name("LIST");
  fields(table, o.flags);
}

int run_dataset_delete_episodes(const Args& args, const Io& io) {
  const auto options = config::parse<DatasetDeleteEpisodesOptions>(args);
  if (options.episodes.empty()) {
    throw Error(ErrorKind::kUsage, "no episodes to leave out", "--episodes", "--episodes 3,7-9");
  }
  const std::vector<int64_t> episodes = curate::parse_episodes(options.episodes);
  install_interrupt_handlers();
  const curate::EditOptions edit = edit_options(options.flags);
  print_reports(io, {curate::delete_episodes(options.source, options.target, episodes, edit)}, options.flags.json);
  return 0;
}

}  // namespace

const Command kDatasetDeleteEpisodes{.path = "dataset delete-episodes",
                                     .summary = "Copy a dataset without some of its episodes.",
                                     .notes =
                                         "The others are numbered anew; tasks that none of them has go. What is wrong "
                                         "with the episodes that are left out does not matter.\n"
                                         "The source is only read; DST appears complete or not at all.\n"
                                         "  flexor dataset delete-episodes demos clean --episodes 3,7-9\n",
                                     .usage = &config::usage<DatasetDeleteEpisodesOptions>,
                                     .run = &run_dataset_delete_episodes,
                                     .for_rank_zero = true};

}  // namespace flexor::cli
