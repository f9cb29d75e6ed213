#include "cli/commands.h"

namespace flexor::cli {
namespace {

constexpr const Command* kCommands[] = {
    &kTrain,          &kEval,
    &kPredict,        &kReport,
    &kDatasetInfo,    &kDatasetVerify,
    &kDatasetCache,   &kDatasetShow,
    &kDatasetStats,   &kDatasetStatsDiff,
    &kDatasetConvert, &kDatasetMerge,
    &kDatasetSplit,   &kDatasetDeleteEpisodes,
    &kRecapRun,       &kRecapReturns,
    &kRecapValue,     &kRecapAdvantages,
    &kRecapRelabel,   &kRecapPolicy,
    &kAlignRecord,    &kBenchTrain,
    &kBenchSample,    &kBenchLoader,
    &kBenchValue,     &kLaunch,
    &kDoctor,         &kPlan,
    &kHelp,
};

}  // namespace

std::span<const Command* const> commands() {
  return kCommands;
}

const Command* find_command(std::string_view path) {
  for (const Command* command : kCommands) {
    if (command->path == path) {
      return command;
    }
  }
  return nullptr;
}

}  // namespace flexor::cli
