#include "data/finding_codes.h"

#include "base/str_cat.h"

namespace flexor::data {
namespace {

constexpr FindingCode kCodes[] = {
    // info.json
    {"info_missing", "error", "no folder, or no meta/info.json in it; nothing else can be checked"},
    {"info_unreadable", "error",
     "meta/info.json is no JSON, lacks a field, or holds a value that cannot be; nothing else can be checked"},
    {"info_beside_meta", "warning", "info.json lies beside meta/, not in it"},
    {"newer_version", "warning", "a newer minor version of the format than v3.0"},
    {"float_fps", "warning", "fps is not a whole number"},
    {"totals", "warning",
     "total_episodes, total_frames, total_tasks, total_videos or total_chunks disagree with what there is"},
    {"splits", "warning", "a split is no range of the episodes"},
    // tasks and episodes
    {"tasks_unreadable", "error", "the file of tasks, or a line of it, is missing or damaged"},
    {"task_duplicate", "error", "two tasks with the same task_index"},
    {"task_order", "warning", "v3.0: a task does not stand in the row of its task_index, where LeRobot looks for it"},
    {"task_repeated", "warning", "two tasks with the same text"},
    {"task_empty", "warning", "a task without text"},
    {"not_utf8", "warning", "task texts in another encoding than UTF-8; they are taken as Latin-1"},
    {"no_episodes", "error", "the metadata list no episode"},
    {"episodes_unreadable", "error", "a file of episodes, or a line of it, is missing or damaged"},
    {"episode_duplicate", "error", "two episodes with the same episode_index"},
    {"episode_numbers", "error", "episodes are not numbered 0, 1, 2, ..."},
    {"episode_order", "warning", "the rows of the episodes are not in ascending order"},
    {"empty_episode", "error or warning", "an episode of length 0 (warning) or less (error)"},
    {"index_range", "error", "v3.0: dataset_from_index and dataset_to_index do not follow the lengths"},
    // data files
    {"lfs_pointer", "error", "a Git-LFS pointer instead of the file"},
    {"data_unreadable", "error", "a data file is missing, cut short, or no Parquet"},
    {"column_missing", "error", "a data file has no column of a feature"},
    {"column_type", "error", "a column has another type than info.json says, or is no column but a video by it"},
    {"column_unreadable", "error",
     "a column has an empty value, a row with another number of values than declared, or damaged pages"},
    {"no_frame_index", "warning", "no column frame_index; the row number in the episode is used"},
    {"file_unlisted", "warning", "data or video files that no episode names"},
    {"rows_missing", "error", "no data file has rows of an episode"},
    {"rows_split", "error", "the rows of an episode stand in several places"},
    {"rows_displaced", "error", "v3.0: the rows of an episode stand in another file than the metadata say"},
    {"rows_unlisted", "warning", "rows of an episode that the metadata do not list; they are not used"},
    {"row_count", "error", "an episode has more or fewer rows than its length"},
    // rows
    {"index", "error", "index does not count the frames of the dataset"},
    {"frame_index", "error", "frame_index does not count the frames of the episode from 0"},
    {"episode_index", "error", "a row bears the number of another episode"},
    {"timestamp", "error", "a timestamp is not frame_index / fps (plus a constant) within 0.0001 s"},
    {"timestamp_offset", "warning", "the timestamps of an episode do not start at 0; the offset is subtracted"},
    {"task_index", "error", "a frame has a task_index without a task"},
    {"episode_tasks", "error", "the tasks that the metadata list for an episode are not those of its frames"},
    {"not_finite", "error", "NaN or infinity"},
    {"constant_dimension", "warning", "dimensions that never change: normalising them divides by nearly 0"},
    {"nearly_constant_dimension", "warning",
     "dimensions that change by less than a ten-thousandth: normalising them amplifies noise"},
    {"huge_value", "warning", "values beyond a million"},
    // pictures
    {"camera_without_files", "warning", "a camera of info.json that has no file in any episode; it is left out"},
    {"camera_misplaced", "error",
     "a camera of info.json that has no file in any episode, although videos lie below videos/ that belong to no "
     "camera"},
    {"camera_missing", "error", "an episode has no file of a camera that other episodes have"},
    {"video_unreadable", "error", "a video cannot be opened, or there is no decoder for it"},
    {"video_truncated", "error", "a video is cut short"},
    {"video_too_short", "error", "a video has fewer pictures than the episode has rows"},
    {"video_too_long", "warning", "a video has more pictures than the episodes need"},
    {"video_fps", "error", "a video has another frame rate than the dataset"},
    {"video_size", "error", "a video has another height or width than info.json says"},
    {"video_format", "error or warning",
     "a video has another codec (error) or pixel format (warning) than info.json says"},
    {"video_timestamps", "error", "the pictures of a video do not follow each other at a constant rate from 0"},
    {"video_key_frame", "warning", "an episode does not start on a key frame"},
    {"video_off_grid", "error", "v3.0: from_timestamp lies between two pictures"},
    {"video_range", "error or warning",
     "v3.0: from_timestamp to to_timestamp is shorter (error) or longer (warning) than the episode"},
    {"video_overlap", "error", "v3.0: two episodes claim the same pictures of a video"},
    {"video_damaged", "error", "--decode: a picture of a video cannot be decoded"},
    {"image_unreadable", "error",
     "a PNG or JPEG picture is missing or damaged (the first of each file; all with --decode)"},
    {"image_size", "error", "a picture has another height or width than info.json says"},
    // statistics
    {"stats_missing", "warning",
     "no statistics of the dataset, of an episode or of a feature; they are computed where they are needed"},
    {"stats_unreadable", "error", "the file of statistics, or a line of it, is damaged"},
    {"stats_shape", "error", "statistics of another number of dimensions than the feature has"},
    {"stats_not_finite", "error", "NaN or infinity among the statistics"},
    {"stats_order", "error", "min, quantiles and max are not in ascending order, or std is below 0"},
    {"stats_mismatch", "error", "min, max, mean or std is not that of the data, within a thousandth of the range"},
    {"stats_outdated", "warning",
     "v2.1: meta/stats.json was made of other frames than meta/episodes_stats.jsonl; those of the episodes are used"},
    {"stats_count", "warning", "count is not the number of rows"},
    {"no_quantiles", "warning", "no q01 and q99, which pi0.5 needs; they are computed where they are needed"},
    {"picture_std", "warning",
     "std of pictures is nearly 0 although their values differ: a mistake of older LeRobot versions"},
};

}  // namespace

std::span<const FindingCode> finding_codes() {
  return kCodes;
}

std::string finding_codes_markdown() {
  std::string text = "| code | severity | what it means |\n| --- | --- | --- |\n";
  for (const FindingCode& code : kCodes) {
    text += str_cat("| `", code.code, "` | ", code.severity, " | ", code.meaning, " |\n");
  }
  return text;
}

}  // namespace flexor::data
