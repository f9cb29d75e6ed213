#include "recap/run_ranks.h"

#include "base/json.h"
#include "recap/run.h"
#include "recap/run_step.h"

namespace flexor::recap {

void tell_step(dist::Group& group, const RecapConfig& config, Step step) {
  if (step != Step::kReturns) {
    group.broadcast_string(Json::object({{"step", static_cast<int64_t>(step)},
                                         {"value_from", config.value.runner.resume_dir},
                                         {"policy_from", config.policy.runner.resume_dir}})
                               .dump());
  }
}

void tell_end(dist::Group& group) {
  group.broadcast_string(Json::object({{"end", true}}).dump());
}

void tell_stop(dist::Group& group, ErrorKind kind) noexcept {
  if (kind != ErrorKind::kInterrupted && kind != ErrorKind::kTerminated) {
    return;
  }
  try {
    group.broadcast_string(Json::object({{"interrupted", kind == ErrorKind::kInterrupted}}).dump());
  } catch (const std::exception&) {  // then they learn it from the connection
  }
}

void help_with_run(RecapConfig config, const std::shared_ptr<dist::Group>& group) {
  while (true) {
    const Json word = Json::parse(group->broadcast_string({}), "rank 0");
    if (word.find("end") != nullptr) {
      return;
    }
    if (const Json* interrupted = word.find("interrupted")) {
      throw interrupted->as_bool() ? Error(ErrorKind::kInterrupted, "stopped by Ctrl-C")
                                   : Error(ErrorKind::kTerminated, "stopped by SIGTERM");
    }
    config.value.runner.resume_dir = word.at("value_from").as_string();
    config.policy.runner.resume_dir = word.at("policy_from").as_string();
    (void)run_step(config, static_cast<Step>(word.at("step").as_int()), group);
  }
}

}  // namespace flexor::recap
