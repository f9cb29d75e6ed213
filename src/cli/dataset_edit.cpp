#include "cli/dataset_edit.h"

#include <ostream>

#include "base/str_cat.h"
#include "base/text.h"
#include "cli/print_json.h"

namespace flexor::cli {
namespace {

void print(std::ostream& out, const curate::RewriteReport& report) {
  out << report.dataset << ": " << report.version << ", " << report.episodes << " episodes, " << report.frames
      << " frames, " << report.tasks << (report.tasks == 1 ? " task, " : " tasks, ")
      << human_bytes(static_cast<double>(report.bytes)) << '\n';
  if (report.videos_copied + report.videos_reencoded > 0) {
    out << "  videos: " << report.videos_copied << " copied, " << report.videos_reencoded << " encoded again\n";
  }
  for (const std::string& path : report.reencoded) {
    out << "  encoded again: " << path << '\n';
  }
  for (const std::string& what : report.dropped) {
    out << "  left out: " << what << '\n';
  }
}

}  // namespace

void fields(config::FieldTable& table, EditFlags& flags) {
  table("to", flags.to, "version to write; convert needs it, elsewhere it is that of the source (v2.1 for v2.0)")
      .choices({"v2.1", "v3.0"})
      .value_name("VERSION");
  table("reencode", flags.reencode, "encode those videos again whose packets cannot be copied");
  table("data_file_size_in_mb", flags.data_file_size_in_mb, "v3.0: a data file is full at this size, in MiB")
      .range(1e-6, 1e9);
  table("video_file_size_in_mb", flags.video_file_size_in_mb, "v3.0: a video file is full at this size, in MiB")
      .range(1e-6, 1e9);
  table("json", flags.json, "print one JSON object instead of text");
}

curate::EditOptions edit_options(const EditFlags& flags) {
  curate::EditOptions options;
  if (flags.to) {
    options.version = *flags.to == "v3.0" ? curate::TargetVersion::kV30 : curate::TargetVersion::kV21;
  }
  options.limits = {flags.data_file_size_in_mb, flags.video_file_size_in_mb};
  options.reencode = flags.reencode;
  return options;
}

void print_reports(const Io& io, const std::vector<curate::RewriteReport>& reports, bool json) {
  if (!json) {
    for (const curate::RewriteReport& report : reports) {
      print(io.out, report);
    }
  } else if (reports.size() == 1) {
    print_json(io.out, to_json(reports[0]));
  } else {
    Json parts = Json::array();
    for (const curate::RewriteReport& report : reports) {
      parts.push_back(to_json(report));
    }
    print_json(io.out, Json::object({{"parts", std::move(parts)}}));
  }
}

}  // namespace flexor::cli
