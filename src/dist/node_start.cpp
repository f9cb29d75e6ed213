#include "dist/node_start.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <functional>
#include <netinet/in.h>
#include <string_view>
#include <sys/socket.h>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "dist/launch_variables.h"
#include "dist/socket.h"

namespace flexor::dist {
namespace {

bool is_plain(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("-_./:=,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

/// "8" when all nodes have eight ranks, else "8,4".
std::string ranks_text(const std::vector<int64_t>& numbers) {
  const bool are_equal = std::ranges::adjacent_find(numbers, std::not_equal_to<>()) == numbers.end();
  return are_equal ? std::to_string(numbers[0]) : join_numbers(numbers, ",");
}

}  // namespace

int64_t free_port() {
  const Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* name = reinterpret_cast<sockaddr*>(&address);
  if (socket.get() < 0 || ::bind(socket.get(), name, size) != 0 || ::getsockname(socket.get(), name, &size) != 0) {
    throw Error(ErrorKind::kRuntime, "no free port for the ranks to meet", "127.0.0.1",
                "give one: --master-port 29500");
  }
  return ntohs(address.sin_port);
}

bool is_port_taken(int64_t port) {
  const Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;  // connections that end on the port do not count, as for the store
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno == EADDRINUSE;
}

std::vector<std::pair<std::string, std::string>> rank_variables(const NodePlan& plan, int64_t local_rank, int num_cores,
                                                                const Env& env) {
  const std::string rank = std::to_string(plan.first_rank() + local_rank), world = std::to_string(plan.world());
  std::vector<std::pair<std::string, std::string>> variables = {
      {"RANK", rank},
      {"WORLD_SIZE", world},
      {"LOCAL_RANK", std::to_string(local_rank)},
      {"LOCAL_WORLD_SIZE", std::to_string(plan.local_world())},
      {"GROUP_RANK", std::to_string(plan.node)},
      {"GROUP_WORLD_SIZE", std::to_string(plan.num_nodes())},
      {"ROLE_NAME", "default"},
      {"ROLE_RANK", rank},
      {"ROLE_WORLD_SIZE", world},
      {"MASTER_ADDR", plan.master_addr},
      {"MASTER_PORT", std::to_string(plan.master_port)},
      {"TORCHELASTIC_RESTART_COUNT", "0"},
      {"TORCHELASTIC_MAX_RESTARTS", "0"},
      {"TORCHELASTIC_RUN_ID", "none"},
      {"TORCHELASTIC_USE_AGENT_STORE", "False"},
  };
  if (!env("OMP_NUM_THREADS")) {
    variables.emplace_back("OMP_NUM_THREADS", std::to_string(std::max<int64_t>(1, num_cores / plan.local_world())));
  }
  return variables;
}

std::string shell_text(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) {
    if (is_plain(word)) {
      quoted.push_back(word);
      continue;
    }
    std::string text = "'";
    for (const char c : word) {
      text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    quoted.push_back(text + "'");
  }
  return join_text(quoted, " ");
}

std::string node_command(const NodePlan& plan, int64_t node, const std::string& program, const std::string& folder,
                         const std::vector<std::string>& command) {
  std::vector<std::string> words = {program,
                                    "launch",
                                    "--nnodes",
                                    std::to_string(plan.num_nodes()),
                                    "--node-rank",
                                    std::to_string(node),
                                    "--nproc",
                                    ranks_text(plan.ranks),
                                    "--master-addr",
                                    plan.master_addr,
                                    "--master-port",
                                    std::to_string(plan.master_port),
                                    "--"};
  words.insert(words.end(), command.begin(), command.end());
  return str_cat("cd ", shell_text({folder}), " && ", shell_text(words));
}

}  // namespace flexor::dist
