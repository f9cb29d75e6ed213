#include "data/processor_steps.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "data/processor_files.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"

namespace flexor::data {
namespace {

namespace fs = std::filesystem;
using schema::FeatureStats;
using schema::NormStats;

NormStats read_stats(const std::string& path) {
  check_input_file(path);
  const SafetensorsFile file = SafetensorsFile::open(path);
  NormStats stats;
  for (const auto& entry : file.entries()) {
    const size_t dot = entry.name.rfind('.');
    if (dot == std::string::npos) {
      throw Error(ErrorKind::kCheckpoint, str_cat("\"", entry.name, "\" is not FEATURE.STATISTIC"), path);
    }
    const Tensor values = file.get(entry.name).to(at::kDouble).flatten().contiguous();
    const std::string stat = entry.name.substr(dot + 1);
    FeatureStats& feature = stats[entry.name.substr(0, dot)];
    feature.values[stat].assign(values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel());
    if (stat != "count") {
      feature.shape = entry.shape;
    }
  }
  return stats;
}

}  // namespace

Error processor_error(const Error& error, const std::string& place) {
  constexpr const char* kHint =
      "copy the policy's processor files again: both policy_*processor.json and their tensors";
  return Error(error.kind() == ErrorKind::kFile ? ErrorKind::kFile : ErrorKind::kCheckpoint, error.what(),
               error.where().empty() ? place : error.where(), error.hint().empty() ? kHint : error.hint());
}

StepReader::StepReader(std::string folder, const char* name)
    : folder_(std::move(folder)), path_(processor_path(folder_, name)) {
  check_input_file(path_);
  json_ = Json::read_file(path_);
  at_place(path_, [this] { read_kinds(); });
}

void StepReader::read_kinds() {
  const Json::Array& steps = value_of(json_, "steps", [](const Json& json) { return json.as_array(); });
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].find("registry_name") == nullptr) {
      throw Error(ErrorKind::kCheckpoint, str_cat("step ", i, " has no registry_name: a processor of its own code"),
                  path_, "Flexor runs the steps that LeRobot writes for pi0 and pi0.5");
    }
    kinds_.push_back(value_of(steps[i], "registry_name", [](const Json& json) { return json.as_string(); }));
  }
}

std::string StepReader::place_of(size_t index) const {
  return str_cat(path_, ", step ", index, " (", kinds_[index], ")");
}

NormStats StepReader::stats_of(const Json& step) const {
  const Json* file = step.find("state_file");
  return file == nullptr || file->is_null() ? NormStats{}
                                            : read_stats((fs::path(folder_) / file->as_string()).string());
}

void StepReader::unknown(const std::string& kind) const {
  throw Error(ErrorKind::kCheckpoint, str_cat("unknown processor step \"", kind, "\""), path_,
              "Flexor runs the steps that LeRobot writes for pi0 and pi0.5");
}

void StepReader::check_order(const char* first, const char* second) const {
  const auto a = std::find(kinds_.begin(), kinds_.end(), first), b = std::find(kinds_.begin(), kinds_.end(), second);
  if (a != kinds_.end() && b != kinds_.end() && b < a) {
    throw Error(ErrorKind::kCheckpoint, str_cat("step ", second, " stands before ", first), path_,
                str_cat("put ", first, " first, as LeRobot writes them, or copy the file again"));
  }
}

}  // namespace flexor::data
