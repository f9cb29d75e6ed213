#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <ostream>
#include <thread>

#include "base/content_hash.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/print_json.h"
#include "config/command_line.h"
#include "data/dataset.h"
#include "data/frame_cache_build.h"
#include "data/frame_cache_find.h"
#include "data/frame_cache_key.h"

namespace flexor::cli {
namespace {

namespace fs = std::filesystem;

struct DatasetCacheOptions {
  std::string root;
  std::optional<std::string> out;
  std::string size = "224", format = "raw";
  std::optional<int64_t> quality;
  int64_t threads = 0;
  bool force = false, json = false;
};

void fields(config::FieldTable& table, DatasetCacheOptions& o) {
  table.positional("dir", o.root, "dataset folder, the one that holds meta/info.json");
  table("size", o.size, "of the pictures: the policy's image_resolution; one number for a square, or HEIGHTxWIDTH");
  table("format", o.format, "raw: exactly what decoding gives; jpeg: about a tenth of the space, not exact")
      .choices({"raw", "jpeg"});
  table("quality", o.quality, "of jpeg, 100 is best; 95 by default").range(1, 100);
  table("out", o.out, "file or folder for the cache; default: DIR/frame_cache").value_name("PATH");
  table("threads", o.threads, "that decode; 0: all cores").range(0, 1024);
  table("force", o.force, "make the cache even if one that fits is there");
  table("json", o.json, "print one JSON object instead of text");
}

void check(const DatasetCacheOptions& o) {
  if (o.out && o.out->empty()) {
    throw Error(ErrorKind::kUsage, "the name of the file or folder for the cache is empty", "--out", "--out PATH");
  }
  if (o.quality && o.format != "jpeg") {
    throw Error(ErrorKind::kUsage, str_cat("--quality means nothing with --format ", o.format), "--quality",
                "--format jpeg, or leave --quality out");
  }
}

constexpr int64_t kMaxSide = 4096;

int64_t side(std::string_view text, const std::string& whole) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < 1 || value > kMaxSide) {
    throw Error(ErrorKind::kUsage,
                str_cat("expected a size from 1 to ", kMaxSide, " or HEIGHTxWIDTH, found '", whole, "'"), "--size",
                "--size 224");
  }
  return value;
}

data::FrameCacheOptions cache_options(const DatasetCacheOptions& options) {
  data::FrameCacheOptions result;
  const size_t cross = options.size.find('x');
  const std::string_view text = options.size;
  result.height = side(text.substr(0, cross), options.size);
  result.width = cross == std::string::npos ? result.height : side(text.substr(cross + 1), options.size);
  result.is_jpeg = options.format == "jpeg";
  result.quality = options.quality.value_or(result.quality);
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  result.num_threads = options.threads == 0 ? static_cast<int>(cores) : static_cast<int>(options.threads);
  return result;
}

/// In a folder that may hold caches of several datasets, the name tells them apart.
std::string name_elsewhere(const std::string& root, const std::string& name) {
  const fs::path path = fs::weakly_canonical(root);
  ContentHash hash;
  const std::string text = path.string();
  hash.add(std::as_bytes(std::span(text.data(), text.size())));
  constexpr uint64_t kShort = 0xffffff;
  return str_cat(path.filename().string(), "-", std::hex, hash.value() & kShort, "-", name);
}

std::string target_path(const DatasetCacheOptions& options, const data::FrameCacheOptions& cache) {
  const std::string name = str_cat(cache.height, "x", cache.width, "-", options.format, data::kFrameCacheSuffix);
  if (!options.out) {
    return str_cat(options.root, "/", data::kFrameCacheFolder, "/", name);
  }
  if (options.out->ends_with('/') || fs::is_directory(*options.out)) {
    return (fs::path(*options.out) / name_elsewhere(options.root, name)).string();
  }
  return *options.out;
}

/// The cache at `path`, if it is what was asked for.
std::shared_ptr<const data::FrameCache> fresh_cache(const data::Dataset& dataset,
                                                    const data::FrameCacheOptions& wanted) {
  if (!fs::exists(wanted.path) || dataset.cameras().empty()) {  // without cameras any cache would do
    return nullptr;
  }
  std::shared_ptr<const data::FrameCache> cache;
  try {
    cache = data::FrameCache::open(wanted.path);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) {
      throw;
    }
    return nullptr;  // cut or garbled: it is made again
  }
  const data::FrameCacheHeader& header = cache->header();
  const bool is_same = header.height == wanted.height && header.width == wanted.width &&
                       header.is_jpeg == wanted.is_jpeg && (!wanted.is_jpeg || header.quality == wanted.quality);
  return is_same && !data::why_stale(*cache, dataset) ? cache : nullptr;
}

/// A file of another kind is not overwritten.
void check_target(const std::string& path) {
  if (!fs::exists(path)) {
    return;
  }
  try {
    data::FrameCache::open(path);
  } catch (const Error& error) {
    if (std::string_view(error.what()) == "not a frame cache" && fs::file_size(path) > 0) {
      throw Error(ErrorKind::kFile, "a file is there that is no frame cache", path,
                  "choose another --out, or remove it");
    }
  }
}

data::FrameCacheSummary make(const data::Dataset& dataset, const data::FrameCacheOptions& wanted,
                             const DatasetCacheOptions& options) {
  try {
    return data::make_frame_cache(dataset, wanted);
  } catch (const Error& error) {
    const bool is_target = error.kind() == ErrorKind::kFile && error.where().starts_with(wanted.path);
    const bool is_folder = error.kind() == ErrorKind::kFile && wanted.path.starts_with(error.where());
    if (error.where().empty() || (!is_target && !is_folder)) {
      throw;
    }
    const double raw = static_cast<double>(dataset.num_frames() * static_cast<int64_t>(dataset.cameras().size()) * 3 *
                                           wanted.height * wanted.width);
    std::string hint = options.out ? "choose another --out" : "--out PATH puts the cache elsewhere";
    if (!wanted.is_jpeg) {
      hint += str_cat("; this raw cache takes ", human_bytes(raw), ", --format jpeg about a tenth");
    }
    throw Error(error.kind(), error.what(), error.where(), hint);
  }
}

Json describe(const data::Dataset& dataset, const data::FrameCacheOptions& wanted,
              const data::FrameCacheSummary& summary, bool was_there) {
  return Json::object({{"dataset", dataset.root()},
                       {"path", wanted.path},
                       {"was_there", was_there},
                       {"format", wanted.is_jpeg ? "jpeg" : "raw"},
                       {"height", wanted.height},
                       {"width", wanted.width},
                       {"cameras", static_cast<int64_t>(dataset.cameras().size())},
                       {"frames", dataset.num_frames()},
                       {"pictures", summary.pictures},
                       {"bytes", summary.bytes},
                       {"jpeg_error", summary.jpeg_error},
                       {"seconds", was_there ? Json() : Json(summary.seconds)}});
}

void print(std::ostream& out, const Json& result) {
  const auto number = [&](std::string_view key) { return result.at(key).as_int(); };
  out << "cache     " << result.at("path").as_string() << (result.at("was_there").as_bool() ? " (up to date)" : "")
      << "\npictures  " << number("pictures") << " of " << number("height") << "x" << number("width") << ", "
      << result.at("format").as_string() << ", " << human_bytes(static_cast<double>(number("bytes"))) << '\n';
  if (const Json& error = result.at("jpeg_error"); error.is_object()) {
    const Json& psnr = error.at("psnr_db");
    out << "error     PSNR " << (psnr.is_null() ? std::string("infinite") : short_number(psnr.as_double()))
        << " dB, mean " << short_number(error.at("mean_abs").as_double(), 3) << ", largest "
        << error.at("max_abs").as_int() << " of 255 levels, over all pictures\n";
  }
  if (const Json& seconds = result.at("seconds"); seconds.is_number()) {
    out << "time      " << human_seconds(seconds.as_double()) << ", "
        << short_number(static_cast<double>(number("pictures")) / std::max(1e-9, seconds.as_double()))
        << " pictures/s\n";
  }
}

int run_dataset_cache(const Args& args, const Io& io) {
  const auto options = config::parse<DatasetCacheOptions>(args);
  check(options);
  install_interrupt_handlers();
  data::FrameCacheOptions wanted = cache_options(options);
  const data::Dataset dataset =
      data::Dataset::open({.root = options.root, .episodes = {}, .rename_map = {}, .columns = {}});
  if (data::has_errors(dataset.findings())) {
    data::report_findings(dataset.findings(), dataset.root());
  }
  wanted.path = target_path(options, wanted);
  const auto there = options.force ? nullptr : fresh_cache(dataset, wanted);
  data::FrameCacheSummary summary;
  if (there) {
    summary.pictures = there->header().num_pictures();
    summary.bytes = static_cast<int64_t>(fs::file_size(wanted.path));
    summary.jpeg_error = there->header().jpeg_error;
  } else {
    check_target(wanted.path);
    summary = make(dataset, wanted, options);
  }
  const Json result = describe(dataset, wanted, summary, there != nullptr);
  if (options.json) {
    print_json(io.out, result);
    return 0;
  }
  print(io.out, result);
  if (options.out) {
    io.out << "use       dataset.cache=" << wanted.path << '\n';
  }
  return 0;
}

}  // namespace

const Command kDatasetCache{.path = "dataset cache",
                            .summary = "Decode and resize a dataset's pictures once, for training without decoding.",
                            .notes =
                                "Writes DIR/frame_cache/SIZE-FORMAT.frames. Training and evaluation use it by "
                                "themselves (`dataset.cache=auto`) "
                                "while it fits\nthe data; after a change of the data they warn and decode. A cache "
                                "elsewhere is given by its path:\n\n"
                                "    flexor dataset cache /data/koch --size 224 --out /scratch/\n"
                                "    flexor train ... dataset.cache=/scratch\n\nSee docs/frame_cache.md.\n",
                            .usage = &config::usage<DatasetCacheOptions>,
                            .run = &run_dataset_cache,
                            .for_rank_zero = true};

}  // namespace flexor::cli
