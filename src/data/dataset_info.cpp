#include "data/dataset_info.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "data/path_template.h"

namespace flexor::data {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 14> kNumericDtypes = {"bool",    "int8",    "int16",  "int32",  "int64",
                                                             "uint8",   "uint16",  "uint32", "uint64", "float16",
                                                             "float32", "float64", "float",  "double"};
constexpr std::array<std::string_view, 4> kOtherDtypes = {"string", "image", "video", "language"};

[[noreturn]] void bad_info(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::kData, what, path, "correct info.json, or copy it again from where the dataset was recorded");
}

/// Whether as_int() reads it: 1.5, 1e30 and what needs more than 64 bits are none.
bool is_whole_number(const Json& json) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  return json.is_int() ||
         (json.is_number() && std::trunc(json.as_double()) == json.as_double() && std::abs(json.as_double()) < kLimit);
}

/// meta/info.json, or info.json beside meta/.
std::string find_info(const std::string& root, std::vector<Finding>& findings) {
  const std::string inside = root + "/meta/info.json", beside = root + "/info.json";
  if (!fs::exists(root)) {
    throw Error(ErrorKind::kFile, "no such folder", root, "dataset.root is the folder that holds meta/info.json");
  }
  if (fs::exists(inside)) {
    return inside;
  }
  if (fs::exists(beside) && fs::is_directory(root + "/meta")) {
    Finding finding{.code = "info_beside_meta", .severity = Severity::kWarning, .file = "info.json"};
    finding.message = "info.json lies beside meta/, not in it";
    finding.hint = str_cat("mv ", beside, " ", root, "/meta/");
    findings.push_back(std::move(finding));
    return beside;
  }
  throw Error(ErrorKind::kFile, "no meta/info.json in the folder", root,
              "dataset.root is the folder that holds meta/info.json; files are never downloaded");
}

/// Names of a vector's dimensions: a list, a list in a list, or an object of lists.
void collect_names(const Json& json, std::vector<std::string>& names) {
  if (json.is_string()) {
    names.push_back(json.as_string());
  } else if (json.is_array()) {
    for (const Json& item : json.as_array()) {
      collect_names(item, names);
    }
  } else if (json.is_object()) {
    for (const auto& member : json.as_object()) {
      collect_names(member.second, names);
    }
  }
}

bool is_depth(const Json& feature) {
  for (const auto& [group, key] : {std::pair{"info", "is_depth_map"}, std::pair{"info", "video.is_depth_map"},
                                   std::pair{"video_info", "video.is_depth_map"}}) {
    const Json* section = feature.find(group);
    const Json* mark = section ? section->find(key) : nullptr;
    if (mark && mark->is_bool() && mark->as_bool()) {
      return true;
    }
  }
  return false;
}

FeatureInfo read_feature(const std::string& name, const Json& json, const std::string& path) {
  FeatureInfo feature;
  feature.name = feature.recorded_name = name;
  const Json* dtype = json.find("dtype");
  const Json* shape = json.find("shape");
  if (!dtype || !dtype->is_string()) {
    bad_info(path, str_cat("feature ", name, " has no dtype"));
  }
  feature.dtype = dtype->as_string();
  const auto is = [&](std::string_view known) { return feature.dtype == known; };
  if (std::none_of(kNumericDtypes.begin(), kNumericDtypes.end(), is) &&
      std::none_of(kOtherDtypes.begin(), kOtherDtypes.end(), is)) {
    bad_info(path, str_cat("feature ", name, " has unknown dtype \"", feature.dtype, "\""));
  }
  if (shape && shape->is_array()) {
    for (const Json& size : shape->as_array()) {
      if (!is_whole_number(size) || size.as_int() < (feature.is_camera() ? 0 : 1)) {
        bad_info(path, str_cat("feature ", name, " has shape ", shape->dump(), ", expected positive whole numbers"));
      }
      feature.shape.push_back(size.as_int());
    }
  } else if (feature.is_numeric() || feature.is_camera()) {
    bad_info(path, str_cat("feature ", name, " has no shape"));
  }
  constexpr double kMaxSize = 1e9;  // values a frame; more is a typing error, and products stay within int64_t
  double product = 1;
  for (const int64_t size : feature.shape) {
    product *= static_cast<double>(size);
  }
  if (product > kMaxSize) {
    bad_info(path, str_cat("feature ", name, " has shape ", shape->dump(), ", too large for a frame"));
  }
  if (const Json* names = json.find("names"); names && !feature.is_camera()) {
    collect_names(*names, feature.names);
    if (static_cast<int64_t>(feature.names.size()) != feature.size()) {
      feature.names.clear();  // "motors" over a vector, or another count: they name no dimensions
    }
  }
  feature.is_depth = feature.is_camera() && is_depth(json);
  for (const auto* key : {"info", "video_info"}) {
    if (const Json* info = json.find(key); info && info->is_object()) {
      feature.info = *info;
    }
  }
  return feature;
}

struct Reader {
  const Json& json;
  const std::string& path;

  const Json& need(std::string_view key) const {
    const Json* value = json.find(key);
    if (!value) {
      bad_info(path, str_cat("no ", key, " in info.json"));
    }
    return *value;
  }
  const std::string& text(std::string_view key) const {
    const Json& value = need(key);
    if (!value.is_string()) {
      bad_info(path, str_cat(key, " is ", value.dump(), ", expected text"));
    }
    return value.as_string();
  }
  int64_t count(std::string_view key, int64_t fallback) const {
    const Json* value = json.find(key);
    if (!value || value->is_null()) {
      return fallback;
    }
    if (!is_whole_number(*value)) {
      bad_info(path, str_cat(key, " is ", value->dump(), ", expected a whole number of 64 bits"));
    }
    return value->as_int();
  }
};

void read_version(DatasetInfo& info, const Reader& reader, std::vector<Finding>& findings) {
  info.version = reader.text("codebase_version");
  const std::string_view digits = std::string_view(info.version).substr(info.version.starts_with("v") ? 1 : 0);
  const char* end = digits.data() + digits.size();
  const auto major = std::from_chars(digits.data(), end, info.major);
  const bool has_minor = major.ec == std::errc() && major.ptr != end && *major.ptr == '.' &&
                         std::from_chars(major.ptr + 1, end, info.minor).ec == std::errc();
  const bool known = has_minor && ((info.major == 2 && info.minor <= 1) || info.major == 3);
  if (!known) {
    throw Error(
        ErrorKind::kData, str_cat("dataset format \"", info.version, "\", expected v2.0, v2.1 or v3.0"), info.info_path,
        info.major == 1 ? "convert it with LeRobot's scripts to v2.1 first" : "correct codebase_version in info.json");
  }
  if (info.major == 3 && info.minor > 0) {
    findings.push_back({.code = "newer_version",
                        .severity = Severity::kWarning,
                        .file = "meta/info.json",
                        .expected = "v3.0",
                        .found = info.version,
                        .message = "newer minor version of the format"});
  }
}

void read_fps(DatasetInfo& info, const Reader& reader, std::vector<Finding>& findings) {
  const Json& fps = reader.need("fps");
  if (!fps.is_number()) {
    bad_info(info.info_path, str_cat("fps is ", fps.dump(), ", expected a number"));
  }
  info.fps = frame_rate_from_double(fps.as_double(), info.info_path);
  if (!fps.is_int()) {
    findings.push_back({.code = "float_fps",
                        .severity = Severity::kWarning,
                        .file = "meta/info.json",
                        .expected = "a whole number",
                        .found = fps.dump(),
                        .message = "fps is not an integer"});
  }
}

void read_paths(DatasetInfo& info, const Reader& reader) {
  info.data_path = reader.text("data_path");
  const Json* video_path = reader.json.find("video_path");
  info.video_path = video_path && video_path->is_string() ? video_path->as_string() : "";
  const bool has_video = std::any_of(info.features.begin(), info.features.end(),
                                     [](const FeatureInfo& feature) { return feature.dtype == "video"; });
  if (has_video && info.video_path.empty()) {
    bad_info(info.info_path, "video_path is null although there are video features");
  }
  for (const std::string& text : {info.data_path, info.video_path}) {  // a typing error shows here, not at file 7
    fill_template(text,
                  {{"episode_chunk", int64_t{0}},
                   {"episode_index", int64_t{0}},
                   {"chunk_index", int64_t{0}},
                   {"file_index", int64_t{0}},
                   {"video_key", std::string("camera")}},
                  info.info_path);
  }
}

}  // namespace

FrameRate frame_rate_from_double(double fps, const std::string& where) {
  if (!(fps > 0 && fps < 1e6)) {
    throw Error(ErrorKind::kData, str_cat("fps is ", fps, ", expected a positive number below a million"), where,
                "give the rate at which the dataset was recorded");
  }
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), fps, std::chars_format::fixed).ptr;
  FrameRate rate{0, 1};
  bool after_point = false;
  for (const char* c = text.data(); c != end && rate.num < std::numeric_limits<int64_t>::max() / 100; ++c) {
    if (*c == '.') {
      after_point = true;
      continue;
    }
    rate.num = rate.num * 10 + (*c - '0');
    rate.den *= after_point ? 10 : 1;
  }
  const int64_t common = std::gcd(rate.num, rate.den);
  return {rate.num / common, rate.den / common};
}

bool FeatureInfo::is_numeric() const {
  return std::find(kNumericDtypes.begin(), kNumericDtypes.end(), dtype) != kNumericDtypes.end();
}

int64_t FeatureInfo::size() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

const FeatureInfo* DatasetInfo::find(std::string_view name) const {
  const auto found =
      std::find_if(features.begin(), features.end(), [&](const FeatureInfo& feature) { return feature.name == name; });
  return found == features.end() ? nullptr : &*found;
}

DatasetInfo read_dataset_info(const std::string& root, std::vector<Finding>& findings) {
  DatasetInfo info;
  info.root = root;
  info.info_path = find_info(root, findings);
  check_input_file(info.info_path);
  info.json = Json::parse(to_utf8(read_file(info.info_path)), info.info_path);
  if (!info.json.is_object()) {
    bad_info(info.info_path, str_cat("info.json holds ", info.json.type_name(), ", expected an object"));
  }
  const Reader reader{info.json, info.info_path};
  read_version(info, reader, findings);
  read_fps(info, reader, findings);
  const Json* robot = info.json.find("robot_type");
  info.robot_type = robot && robot->is_string() ? robot->as_string() : "";
  info.total_episodes = reader.count("total_episodes", -1);
  info.total_frames = reader.count("total_frames", -1);
  info.total_tasks = reader.count("total_tasks", -1);
  info.chunks_size = reader.count("chunks_size", 1000);
  if (info.chunks_size < 1) {
    bad_info(info.info_path, str_cat("chunks_size is ", info.chunks_size, ", expected a positive number"));
  }
  const Json& features = reader.need("features");
  if (!features.is_object()) {
    bad_info(info.info_path, str_cat("features holds ", features.type_name(), ", expected an object"));
  }
  for (const auto& [name, feature] : features.as_object()) {
    info.features.push_back(read_feature(name, feature, info.info_path));
  }
  read_paths(info, reader);
  return info;
}

void add_index_features(DatasetInfo& info) {
  for (const std::string_view name : {"timestamp", "episode_index", "index", "task_index"}) {
    if (!info.find(name)) {
      FeatureInfo feature;
      feature.name = feature.recorded_name = name;
      feature.dtype = name == "timestamp" ? "float32" : "int64";
      feature.shape = {1};
      info.features.push_back(std::move(feature));
    }
  }
}

}  // namespace flexor::data
