#pragma once
#include <span>
#include <string_view>

#include "cli/command.h"

namespace flexor::cli {

// Each stands in a file of its own, cli/<name>.cpp.
extern const Command kAlignRecord;
extern const Command kBenchLoader;
extern const Command kBenchSample;
extern const Command kBenchTrain;
extern const Command kBenchValue;
extern const Command kDatasetCache;
extern const Command kDatasetConvert;
extern const Command kDatasetDeleteEpisodes;
extern const Command kDatasetInfo;
extern const Command kDatasetMerge;
extern const Command kDatasetShow;
extern const Command kDatasetSplit;
extern const Command kDatasetVerify;
extern const Command kDatasetStats;
extern const Command kDatasetStatsDiff;
extern const Command kDoctor;
extern const Command kPlan;
extern const Command kEval;
extern const Command kHelp;
extern const Command kLaunch;
extern const Command kPredict;
extern const Command kRecapAdvantages;
extern const Command kRecapPolicy;
extern const Command kRecapRelabel;
extern const Command kRecapReturns;
extern const Command kRecapRun;
extern const Command kRecapValue;
extern const Command kReport;
extern const Command kTrain;

/// All commands, in the order in which help shows them. Help, docs/cli.md, dispatch and "did you mean" read this list.
std::span<const Command* const> commands();

/// The command of exactly this path, or null.
const Command* find_command(std::string_view path);

}  // namespace flexor::cli
