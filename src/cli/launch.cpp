#include <algorithm>
#include <csignal>
#include <filesystem>
#include <ostream>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "cli/commands.h"
#include "config/command_line.h"
#include "dist/cpu_mask.h"
#include "dist/hostfile.h"
#include "dist/node_plan.h"
#include "dist/node_start.h"
#include "dist/rank_processes.h"

namespace flexor::cli {
namespace {

struct LaunchOptions {
  std::vector<int64_t> nproc;
  std::string hostfile, write_hostfile, master_addr;
  std::optional<int64_t> nnodes, node_rank, master_port;
  double grace_s = 30;
  bool dry_run = false;
  std::vector<std::string> command;
};

void fields(config::FieldTable& table, LaunchOptions& o) {
  table("nproc", o.nproc, "ranks on this node; with several nodes on each, or a list with one number for each")
      .range(1, 4096)
      .value_name("N");
  table("hostfile", o.hostfile, "nodes, one line 'host slots=N' each; this machine must be one of them")
      .value_name("FILE");
  table("write_hostfile", o.write_hostfile, "write the nodes that VC_WORKER_HOSTS or SLURM_JOB_NODELIST names")
      .value_name("FILE");
  table("nnodes", o.nnodes, "number of nodes; default: by the hostfile or the platform, else one").range(1, 100000);
  table("node_rank", o.node_rank, "number of this node, from 0; default: as the hostfile or the platform says")
      .range(0, 99999);
  table("master_addr", o.master_addr, "name or address of node 0; default: MASTER_ADDR, or the first host")
      .value_name("HOST");
  table("master_port", o.master_port, "where the ranks meet; default: MASTER_PORT, 29500, or on one node any free port")
      .range(1, 65535);
  table("grace_s", o.grace_s, "seconds between SIGTERM and SIGKILL for ranks that have to end").range(0, 86400);
  table("dry_run", o.dry_run, "print the command of every node and start nothing");
  table.rest("-- command", o.command, "what each rank runs: a command of flexor, or any program").is_required = false;
}

struct Request {
  LaunchOptions options;
  std::vector<std::string> command;
};

[[noreturn]] void refuse_early(const std::vector<std::string>& command) {
  throw Error(ErrorKind::kUsage, str_cat("expected '--' before the command, found '", command[0], "'"), {},
              str_cat("flexor launch ... -- ", join_text(command, " ")));
}

/// A command whose "--" was forgotten: its flags would be called unknown.
void check_dashes(const Args& args) {
  for (size_t i = 1; i < args.size(); ++i) {
    const bool is_command = args[i] == "train" || args[i] == "eval" || args[i] == "recap" || args[i] == "bench";
    if (is_command && !args[i - 1].starts_with("-")) {
      refuse_early({args.begin() + static_cast<std::ptrdiff_t>(i), args.end()});
    }
  }
}

Request parse_request(const Args& args) {
  const auto dashes = std::ranges::find(args, "--");
  if (dashes == args.end()) {
    check_dashes(args);
  }
  Request request{.options = config::parse<LaunchOptions>(Args(args.begin(), dashes)), .command = {}};
  if (const std::vector<std::string>& early = request.options.command; !early.empty()) {
    refuse_early(early);
  }
  if (dashes != args.end()) {
    request.command.assign(dashes + 1, args.end());
  }
  const LaunchOptions& o = request.options;
  if (request.command.empty() && o.write_hostfile.empty()) {
    throw Error(ErrorKind::kUsage, "no command to launch", {}, "flexor launch --nproc 2 -- train --config FILE ...");
  }
  if (!o.hostfile.empty() && !o.write_hostfile.empty()) {
    throw Error(ErrorKind::kUsage, "--hostfile and --write-hostfile contradict each other", {},
                "the first reads the nodes, the second writes those of the platform");
  }
  return request;
}

void write_hostfile(const LaunchOptions& o, const dist::Env& env) {
  if (o.nproc.size() > 1) {
    throw Error(ErrorKind::kUsage, str_cat("expected one number of ranks, found ", o.nproc.size()), "--nproc",
                "write other numbers into the hostfile by hand");
  }
  const auto hosts = dist::platform_hosts(env, o.nproc.empty() ? std::nullopt : std::optional(o.nproc[0]));
  write_file_atomic(o.write_hostfile, dist::hostfile_text(hosts));
  log_info("hostfile written", {{"file", o.write_hostfile}, {"nodes", hosts.size()}});
}

std::string this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

/// The first word of one of our commands is run by this very program.
std::vector<std::string> with_program(std::vector<std::string> command) {
  const bool is_ours = std::ranges::any_of(
      commands(), [&](const Command* known) { return known->path.substr(0, known->path.find(' ')) == command[0]; });
  if (is_ours) {
    command.insert(command.begin(), this_program());
  }
  return command;
}

void print_commands(std::ostream& out, const dist::NodePlan& plan, const std::vector<std::string>& command,
                    bool with_own) {
  const std::string folder = std::filesystem::current_path().string();
  for (int64_t node = 0; node < plan.num_nodes(); ++node) {
    if (node != plan.node || with_own) {
      const std::string host =
          plan.hosts.empty() ? std::string() : str_cat(" (", plan.hosts[static_cast<size_t>(node)], ")");
      out << "on node " << node << host << ": " << dist::node_command(plan, node, this_program(), folder, command)
          << '\n';
    }
  }
  out << std::flush;
}

/// Rank 0 serves the meeting place: it would fail, and the others wait for it.
void check_port(const dist::NodePlan& plan) {
  if (plan.node == 0 && plan.master_port != 0 && dist::is_port_taken(plan.master_port)) {
    throw Error(ErrorKind::kRuntime, str_cat("port ", plan.master_port, " is taken by another process"),
                str_cat(plan.master_addr, ":", plan.master_port),
                plan.num_nodes() == 1 ? "give another --master-port, or none: then a free one is found"
                                      : "give all nodes another --master-port");
  }
}

/// What is said at the end, if it was no good one.
int report(const dist::LaunchOutcome& outcome, const dist::NodePlan& plan, const Io& io) {
  if (outcome.exit_code == 0) {
    return 0;
  }
  if (outcome.stopped_by != 0) {
    io.err << format_error(
        Error(ErrorKind::kTerminated, str_cat("stopped by ", outcome.stopped_by == SIGINT    ? "Ctrl-C"
                                                             : outcome.stopped_by == SIGTERM ? "SIGTERM"
                                                                                             : "SIGHUP")));
    return outcome.exit_code;
  }
  constexpr int kSignalled = 128;
  const std::string how = outcome.was_signalled ? str_cat("was ended by signal ", outcome.exit_code - kSignalled)
                                                : str_cat("ended with exit code ", outcome.exit_code);
  io.err << format_error(Error(ErrorKind::kRuntime, str_cat("rank ", outcome.rank, " of ", plan.world(), " ", how),
                               str_cat("node ", plan.node, ", process ", outcome.pid),
                               str_cat("its messages start with [", outcome.rank, "]")));
  return outcome.exit_code;
}

int run_launch(const Args& args, const Io& io) {
  const Request request = parse_request(args);
  const LaunchOptions& o = request.options;
  const dist::Env env = dist::process_env();
  if (!o.write_hostfile.empty()) {
    write_hostfile(o, env);
    if (request.command.empty()) {
      return 0;
    }
  }
  dist::NodePlan plan = dist::plan_nodes({.nproc = o.nproc,
                                          .hostfile = o.hostfile,
                                          .nnodes = o.nnodes,
                                          .node_rank = o.node_rank,
                                          .master_port = o.master_port,
                                          .master_addr = o.master_addr},
                                         env, dist::local_host(), dist::resolve_host);
  if (o.dry_run) {
    print_commands(io.out, plan, request.command, /*with_own=*/true);
    return 0;
  }
  if (!o.hostfile.empty()) {
    print_commands(io.out, plan, request.command, /*with_own=*/false);
  }
  check_port(plan);
  plan.master_port = plan.master_port != 0 ? plan.master_port : dist::free_port();
  const auto cores = std::max(1, static_cast<int>(dist::allowed_cpus().size()));
  std::vector<dist::RankProcess> ranks;
  ranks.reserve(static_cast<size_t>(plan.local_world()));
  for (int64_t local_rank = 0; local_rank < plan.local_world(); ++local_rank) {
    ranks.push_back(
        {.rank = plan.first_rank() + local_rank, .variables = dist::rank_variables(plan, local_rank, cores, env)});
  }
  log_info("ranks start", {{"ranks", plan.local_world()},
                           {"world", plan.world()},
                           {"node", str_cat(plan.node, " of ", plan.num_nodes())},
                           {"by", plan.source},
                           {"master", str_cat(plan.master_addr, ":", plan.master_port)}});
  return report(dist::run_ranks(with_program(request.command), ranks, {.grace_s = o.grace_s}, io.out, io.err), plan,
                io);
}

}  // namespace

const Command kLaunch{
    .path = "launch",
    .summary = "Start the ranks of a run on this node, and say how to start those of the others.",
    .notes =
        "    flexor launch --nproc 2 -- train --config configs/pi05_tiny.yaml parallel.strategy=ddp ...\n"
        "    flexor launch --hostfile hosts -- train ...\n\n"
        "Ranks get the variables of torchrun. Their lines appear as `[rank] line`. Ctrl-C and SIGTERM are passed on; "
        "when a rank "
        "fails, the others are ended, and its exit code is that of flexor launch. docs/launching.md tells more.\n",
    .usage = &config::usage<LaunchOptions>,
    .run = &run_launch};

}  // namespace flexor::cli
