#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "config/load.h"
#include "config/print.h"
#include "recap/ranks.h"
#include "train/ranks.h"

namespace flexor::cli {

/// What the commands `flexor recap STEP` take.
struct RecapOptions {
  std::vector<std::string> config, overrides;
  bool print_config = false, json = false;

  config::Sources sources() const { return {.files = config, .overrides = overrides}; }
};
void fields(config::FieldTable& table, RecapOptions& options);

/// @param example  shown when nothing is given. @throws Error(kUsage)
RecapOptions parse_recap_options(const Args& args, const std::string& example);

/// @param example  shown when nothing is given. @throws Error(kUsage)
void require_configuration(const RecapOptions& options, const std::string& example);

/// The resolved configuration of one step, as YAML.
template <typename Step>
void print_step(std::ostream& out, const Step& step) {
  out << config::print(step);
}

/// Does a step with all ranks of this process's launch. @param body  of (std::shared_ptr<dist::Group>)
/// @throws as recap::meet_ranks() and the body
template <typename Body>
auto on_all_ranks(const recap::RecapConfig& config, recap::Step step, const Body& body) {
  const auto group = recap::meet_ranks(config, {&step, 1});
  return train::with_ranks(*group, [&] { return body(group); });
}

/// --key=value is a key of the configuration written with dashes. @throws Error(kUsage)
void refuse_dashed_keys(const Args& args, const std::vector<std::string>& own_flags);

}  // namespace flexor::cli
