// place_block: a small simulator to compare policies in. See README.md.
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "config/command_line.h"
#include "judge.h"
#include "labels.h"
#include "record.h"
#include "result.h"

namespace {

namespace place_block = flexor::place_block;
using flexor::Error;
using flexor::ErrorKind;
using Arguments = std::vector<std::string>;

struct TableOptions {
  std::string output;
  std::vector<std::string> results;
};

void fields(flexor::config::FieldTable& table, TableOptions& o) {
  table("output", o.output, "also write the table to this file").short_flag('o').value_name("FILE");
  table.rest("results", o.results, "what `judge` wrote; the first one is what the others are compared with");
}

void print_table(const TableOptions& options) {
  if (options.results.empty()) {
    throw Error(ErrorKind::kUsage, "no results given", {}, "place_block table plain.json recap.json");
  }
  std::vector<flexor::Json> results;
  for (const std::string& file : options.results) {
    results.push_back(flexor::Json::read_file(file));
  }
  const std::string text = place_block::markdown_table(results);
  if (!options.output.empty()) {
    flexor::write_file_atomic(options.output, text);
  }
  std::cout << text;
}

constexpr const char* kUsage =
    "usage: place_block COMMAND ...; COMMAND --help lists what it takes\n"
    "  record  write a dataset of good and bad episodes\n"
    "  judge   run a policy in the simulator and count its successes\n"
    "  labels  what RECAP's labels make of the recorded behaviours, as Markdown\n"
    "  table   several results side by side, as Markdown\n";

/// Parses the command's arguments and runs it, or prints its help.
template <typename Options, typename Run>
void run(const std::string& command, const Arguments& arguments, const Run& body) {
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      std::cout << flexor::config::usage<Options>("place_block " + command);
      return;
    }
  }
  body(flexor::config::parse<Options>(arguments));
}

void dispatch(const Arguments& words) {
  const std::string command = words.empty() ? "--help" : words.front();
  const Arguments rest(words.begin() + (words.empty() ? 0 : 1), words.end());
  if (command == "--help" || command == "-h") {
    std::cout << kUsage;
  } else if (command == "record") {
    run<place_block::RecordOptions>(command, rest, [](const auto& o) { place_block::record(o, std::cout); });
  } else if (command == "judge") {
    run<place_block::JudgeOptions>(command, rest, [](const auto& o) { place_block::judge(o, std::cout); });
  } else if (command == "labels") {
    run<place_block::LabelsOptions>(command, rest, [](const auto& o) { place_block::print_labels(o, std::cout); });
  } else if (command == "table") {
    run<TableOptions>(command, rest, print_table);
  } else {
    throw Error(ErrorKind::kUsage, flexor::str_cat("no command is called '", command, "'"), {},
                "record, judge, labels or table");
  }
}

}  // namespace

int main(int argc, char** argv) {
  flexor::install_interrupt_handlers();
  try {
    dispatch(Arguments(argv + 1, argv + argc));
  } catch (const std::exception& exception) {
    const Error error = flexor::to_error(exception);
    std::cerr << flexor::format_error(error);
    return flexor::exit_code(error.kind());
  }
  return 0;
}
