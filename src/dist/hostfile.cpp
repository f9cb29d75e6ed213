#include "dist/hostfile.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "config/finding.h"
#include "dist/launch_variables.h"

namespace flexor::dist {
namespace {

constexpr int64_t kMaxSlots = 4096;

/// A whole number of ranks on one node.
std::optional<int64_t> read_count(std::string_view text) {
  return whole_number(text, 1, kMaxSlots);
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : line) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  if (!word.empty()) {
    words.push_back(word);
  }
  return words;
}

constexpr const char* kLineHint = "write each node as: node01 slots=8";

/// Appends the host of one line, or what is wrong with it.
class HostLines {
 public:
  explicit HostLines(const std::string& where) : where_(where) {}

  void add(std::string_view text, int line) {
    const std::vector<std::string> words = words_of(text.substr(0, text.find('#')));
    if (words.empty()) {
      return;
    }
    const std::string place = str_cat(where_, ":", line);
    constexpr std::string_view kSlots = "slots=";
    if (words.size() != 2 || !is_host(words[0]) || !words[1].starts_with(kSlots)) {
      refuse(str_cat("expected 'host slots=N', found '", printable_text(join_text(words, " ")), "'"), place, kLineHint);
      return;
    }
    const std::optional<int64_t> slots = read_count(std::string_view(words[1]).substr(kSlots.size()));
    if (!slots) {
      refuse(str_cat("expected a number of ranks from 1 to ", kMaxSlots, ", found '", printable_text(words[1]), "'"),
             place, kLineHint);
      return;
    }
    std::string name = words[0];
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (const auto [first, is_new] = first_line_.emplace(name, line); !is_new) {
      refuse(str_cat("the host '", words[0], "' stands in line ", first->second, " already"), place,
             "one line for each host, with all its ranks as slots=N");
      return;
    }
    hosts.push_back({.host = words[0], .slots = *slots, .line = line});
  }

  std::vector<HostSlots> hosts;
  std::vector<config::Finding> findings;

 private:
  void refuse(const std::string& what, const std::string& place, const std::string& hint) {
    findings.push_back({.key = "", .what = what, .where = place, .hint = hint});
  }

  std::string where_;
  std::map<std::string, int> first_line_;
};

/// Ranks of each node by the platform's variables.
std::vector<int64_t> platform_slots(const Env& env, size_t num_hosts) {
  for (const char* name : {"NPROC_PER_NODE", "PET_NPROC_PER_NODE"}) {
    if (const auto text = env(name)) {
      const auto count = read_count(*text);
      if (!count) {
        throw Error(
            ErrorKind::kConfig,
            str_cat("expected a number of ranks from 1 to ", kMaxSlots, ", found '", printable_text(*text), "'"),
            str_cat("environment variable ", name));
      }
      return std::vector<int64_t>(num_hosts, *count);
    }
  }
  if (const auto text = env("SLURM_TASKS_PER_NODE")) {
    const std::vector<int64_t> tasks =
        expand_task_counts(*text, "environment variable SLURM_TASKS_PER_NODE", kMaxSlots);
    if (tasks.size() != num_hosts) {
      throw Error(ErrorKind::kConfig,
                  str_cat("expected tasks of ", num_hosts, " nodes, found those of ", tasks.size(), ": '",
                          printable_text(*text), "'"),
                  "environment variable SLURM_TASKS_PER_NODE", "give --nproc N");
    }
    return tasks;
  }
  throw Error(ErrorKind::kUsage, "the number of ranks on each node is not known", "--write-hostfile",
              "give --nproc N, or set NPROC_PER_NODE");
}

}  // namespace

std::vector<HostSlots> parse_hostfile(std::string_view text, const std::string& where) {
  HostLines lines(where);
  int number = 0;
  for (const std::string& line : split_text(text, '\n')) {
    lines.add(line, ++number);
  }
  if (!lines.findings.empty()) {
    throw config::to_error(lines.findings, ErrorKind::kFile);
  }
  return std::move(lines.hosts);
}

std::vector<HostSlots> read_hostfile(const std::string& path) {
  check_input_file(path);
  std::vector<HostSlots> hosts = parse_hostfile(read_file(path), path);
  if (hosts.empty()) {
    throw Error(ErrorKind::kFile, "the hostfile names no host", path, kLineHint);
  }
  return hosts;
}

std::string hostfile_text(const std::vector<HostSlots>& hosts) {
  std::string text;
  for (const HostSlots& host : hosts) {
    text += str_cat(host.host, " slots=", host.slots, "\n");
  }
  return text;
}

std::vector<HostSlots> platform_hosts(const Env& env, std::optional<int64_t> nproc) {
  std::vector<std::string> names;
  for (const char* variable : {"VC_WORKER_HOSTS", "SLURM_JOB_NODELIST"}) {
    if (const auto text = env(variable); text && names.empty()) {
      names = expand_host_list(*text, str_cat("environment variable ", variable));
    }
  }
  if (names.empty()) {
    throw Error(ErrorKind::kUsage, "neither VC_WORKER_HOSTS nor SLURM_JOB_NODELIST is set: no platform names the nodes",
                "--write-hostfile", "write the file by hand, one line 'host slots=N' for each node");
  }
  const std::vector<int64_t> slots =
      nproc ? std::vector<int64_t>(names.size(), *nproc) : platform_slots(env, names.size());
  std::vector<HostSlots> hosts;
  for (size_t i = 0; i < names.size(); ++i) {
    hosts.push_back({.host = names[i], .slots = slots[i]});
  }
  return hosts;
}

}  // namespace flexor::dist
