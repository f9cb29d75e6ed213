#include <ostream>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/print_json.h"
#include "config/command_line.h"
#include "curate/episode_page.h"

namespace flexor::cli {
namespace {

struct DatasetShowOptions {
  std::string root, output;
  int64_t episode = 0, frames = 24;
  bool video = false, json = false;
};

void fields(config::FieldTable& table, DatasetShowOptions& o) {
  table.positional("dir", o.root, "dataset folder, the one that holds meta/info.json");
  table("episode", o.episode, "episode_index").range(0, 1e15).value_name("N");
  table("output", o.output, "page to write").required().short_flag('o').value_name("FILE");
  table("frames", o.frames, "pictures of each camera's strip").range(1, 1000);
  table("video", o.video, "put the videos into the page too, to play them");
  table("json", o.json, "print one JSON object instead of text");
}

int run_dataset_show(const Args& args, const Io& io) {
  const auto options = config::parse<DatasetShowOptions>(args);
  install_interrupt_handlers();
  check_output_file(options.output, kHtmlPage);
  const std::string page = curate::episode_page(
      {.root = options.root, .episode = options.episode, .num_pictures = options.frames, .with_video = options.video});
  write_file_atomic(options.output, page);
  if (options.json) {
    print_json(io.out, Json::object({{"dataset", options.root},
                                     {"episode", options.episode},
                                     {"output", options.output},
                                     {"bytes", page.size()}}));
  } else {
    io.out << "page  " << options.output << ", " << human_bytes(static_cast<double>(page.size())) << '\n';
  }
  return 0;
}

}  // namespace

const Command kDatasetShow{
    .path = "dataset show",
    .summary = "Write one episode as a page: pictures, curves, tasks, statistics.",
    .notes =
        "One HTML file that opens anywhere, without a network: a strip of frames per camera, state and action per "
        "dimension with the\nbands of the dataset's statistics, task texts over time. The mouse over a plot moves a "
        "cursor "
        "through all plots and pictures;\narrow keys step, the space bar plays.\n\n    flexor dataset show /data/koch "
        "--episode 3 -o episode_3.html\n",
    .usage = &config::usage<DatasetShowOptions>,
    .run = &run_dataset_show};

}  // namespace flexor::cli
