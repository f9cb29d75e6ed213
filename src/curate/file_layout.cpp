#include "curate/file_layout.h"

#include <filesystem>
#include <functional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "table/row_copy.h"

namespace flexor::curate {
namespace {

constexpr double kMib = 1024.0 * 1024.0;

/// One kind of file of the sources: the data, or one camera's videos.
struct FileKind {
  std::function<const std::string&(const SourceDataset&, const SourceEpisode&)> file_of;
  std::function<double(const std::string&)> bytes_of;
};

double file_bytes(const std::string& path) {
  std::error_code code;
  const auto size = std::filesystem::file_size(path, code);
  if (code) {
    throw Error(ErrorKind::kFile, str_cat("cannot read the file: ", code.message()), path);
  }
  return static_cast<double>(size);
}

double uncompressed_bytes(const std::string& path) {
  return static_cast<double>(table::RowReader(path).uncompressed_bytes());
}

/// @param bytes_of  what fills a file
FileKind data_files(std::function<double(const std::string&)> bytes_of) {
  return {[](const SourceDataset&, const SourceEpisode& episode) -> const std::string& { return episode.data_file; },
          std::move(bytes_of)};
}

FileKind video_files(const std::string& camera) {
  return {[camera](const SourceDataset& source, const SourceEpisode& episode) -> const std::string& {
            return episode.videos[static_cast<size_t>(source.camera_number(camera))].path;
          },
          file_bytes};
}

/// Consecutive episodes that are put into a file together.
struct Unit {
  std::vector<size_t> episodes;
  double size_mb = 0;
};

class Grouper {
 public:
  Grouper(const RewritePlan& plan, FileKind kind) : plan_(plan), kind_(std::move(kind)) {
    for (const SourceDataset* source : plan.sources) {
      for (const SourceEpisode& episode : source->episodes) {
        if (!episode.data_file.empty()) {
          frames_[kind_.file_of(*source, episode)] += episode.length;
        }
      }
    }
  }

  std::vector<Unit> units() {
    std::vector<Unit> units;
    for (size_t i = 0; i < plan_.episodes.size();) {
      const std::string& file = file_of(i);
      Unit unit;
      int64_t frames = 0;
      do {
        unit.episodes.push_back(i);
        frames += plan_.episode(i).length;
        ++i;
      } while (plan_.by_file && i < plan_.episodes.size() && file_of(i) == file);
      unit.size_mb = share(file, frames) / kMib;
      units.push_back(std::move(unit));
    }
    return units;
  }

 private:
  const std::string& file_of(size_t number) const {
    return kind_.file_of(*plan_.sources[plan_.episodes[number].source], plan_.episode(number));
  }

  /// Bytes of the file that `frames` of its frames make up.
  double share(const std::string& file, int64_t frames) {
    const auto [known, is_new] = bytes_.try_emplace(file, 0);
    if (is_new) {
      known->second = kind_.bytes_of(file);
    }
    const int64_t all = frames_.at(file);
    return frames == all ? known->second : known->second * static_cast<double>(frames) / static_cast<double>(all);
  }

  const RewritePlan& plan_;
  FileKind kind_;
  std::unordered_map<std::string, int64_t> frames_;  ///< in each source file
  std::unordered_map<std::string, double> bytes_;
};

/// Files of v3.0. @param path_of  relative path of file number n
void group_files(const std::vector<Unit>& units, double limit_mb, const std::function<std::string(int64_t)>& path_of,
                 std::vector<OutputFile>& files, std::vector<int64_t>& file_of_episode) {
  std::vector<double> sizes;
  for (const Unit& unit : units) {
    sizes.push_back(unit.size_mb);
  }
  const std::vector<int64_t> numbers = group_by_size(sizes, limit_mb);
  for (size_t i = 0; i < units.size(); ++i) {
    const int64_t number = numbers[i];
    if (number == static_cast<int64_t>(files.size())) {
      files.push_back({path_of(number), {}});
    }
    files.back().episodes.insert(files.back().episodes.end(), units[i].episodes.begin(), units[i].episodes.end());
    file_of_episode.insert(file_of_episode.end(), units[i].episodes.size(), number);
  }
}

/// Files of v2.1.
void one_file_each(size_t num_episodes, const std::function<std::string(int64_t)>& path_of,
                   std::vector<OutputFile>& files, std::vector<int64_t>& file_of_episode) {
  for (size_t i = 0; i < num_episodes; ++i) {
    files.push_back({path_of(static_cast<int64_t>(i)), {i}});
    file_of_episode.push_back(static_cast<int64_t>(i));
  }
}

}  // namespace

FileLayout lay_out(const RewritePlan& plan, TargetVersion version, const FileLimits& limits) {
  FileLayout layout;
  const int64_t chunks = plan.model().info.chunks_size;
  const size_t episodes = plan.episodes.size();
  const bool is_v30 = version == TargetVersion::kV30;
  const auto add_bytes = [&](const std::vector<Unit>& units) {
    for (const Unit& unit : units) {
      layout.total_bytes += unit.size_mb * kMib;
    }
  };
  const std::vector<Unit> data_units = Grouper(plan, data_files(is_v30 ? uncompressed_bytes : file_bytes)).units();
  add_bytes(data_units);
  if (is_v30) {
    group_files(data_units, limits.data_mb, data_path_v30, layout.data, layout.data_file);
  } else {
    one_file_each(episodes, [&](int64_t i) { return data_path_v21(i, chunks); }, layout.data, layout.data_file);
  }
  for (const data::FeatureInfo& camera : plan.model().cameras) {
    const std::string& name = camera.recorded_name;
    const std::vector<Unit> units = Grouper(plan, video_files(name)).units();
    add_bytes(units);
    auto& files = layout.videos.emplace_back();
    auto& file_of_episode = layout.video_file.emplace_back();
    if (is_v30) {
      group_files(units, limits.video_mb, [&](int64_t i) { return video_path_v30(i, name); }, files, file_of_episode);
    } else {
      one_file_each(episodes, [&](int64_t i) { return video_path_v21(i, chunks, name); }, files, file_of_episode);
    }
  }
  return layout;
}

}  // namespace flexor::curate
