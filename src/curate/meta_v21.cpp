#include <string>
#include <utility>

#include "base/interrupt.h"
#include "base/json.h"
#include "curate/rewritten_meta.h"
#include "curate/stats_json.h"
#include "curate/text_file.h"

namespace flexor::curate {
namespace {

void write_task_lines(const RewritePlan& plan, const std::string& root) {
  TextFile file(root + "/meta/tasks.jsonl");
  for (size_t i = 0; i < plan.tasks.size(); ++i) {
    file.write(Json::object({{"task_index", i}, {"task", plan.tasks[i]}}).dump() + "\n");
  }
  file.close();
}

Json episode_line(const RewritePlan& plan, size_t number) {
  const SourceEpisode& episode = plan.episode(number);
  Json line = Json::object({{"episode_index", number}, {"tasks", Json(episode.tasks)}, {"length", episode.length}});
  if (episode.extra.is_object()) {
    for (const auto& [key, value] : episode.extra.as_object()) {
      line[key] = value;
    }
  }
  return line;
}

}  // namespace

void write_meta_v21(const MetaParts& parts, const std::string& root) {
  const RewritePlan& plan = parts.plan;
  write_task_lines(plan, root);
  TextFile episodes(root + "/meta/episodes.jsonl");
  TextFile statistics(root + "/meta/episodes_stats.jsonl");
  for (size_t i = 0; i < plan.episodes.size(); ++i) {
    check_interrupt();
    episodes.write(episode_line(plan, i).dump() + "\n");
    const Json stats = stats_json(parts.stats.read(i), plan.model().info.features);
    statistics.write(Json::object({{"episode_index", i}, {"stats", stats}}).dump() + "\n");
  }
  episodes.close();
  statistics.close();
  if (const Json total = parts.stats.total(); !total.is_null()) {
    TextFile file(root + "/meta/stats.json");
    file.write(total.dump(4));
    file.close();
  }
}

}  // namespace flexor::curate
