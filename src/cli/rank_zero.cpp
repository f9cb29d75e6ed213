#include "cli/rank_zero.h"

#include "base/status_line.h"
#include "base/str_cat.h"
#include "dist/launch_env.h"

namespace flexor::cli {

bool is_left_to_rank_zero(std::string_view command) {
  const dist::Launch launch = dist::resolve_launch(dist::process_env());
  if (launch.world == 1 || launch.rank == 0) {
    return false;
  }
  // The log is off on this rank.
  print_line(str_cat("rank ", launch.rank, " of ", launch.world, " leaves 'flexor ", command,
                     "' to rank 0: it is the work of one process (", dist::describe(launch),
                     "); to run it here, unset the launch variables"));
  return true;
}

}  // namespace flexor::cli
