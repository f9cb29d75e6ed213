#include "recap/mixture_config.h"

#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "config/print.h"
#include "config/value.h"
#include "config/yaml_read.h"

namespace flexor::recap {
namespace {

constexpr const char* kWrittenAgain = "delete the file: it is written again";

std::string scalar(const Json& value) {
  std::string text = config::to_yaml(value);  // also of empty lists and maps: in one line
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  return text;
}

bool is_block(const Json& value) {
  return (value.is_array() || value.is_object()) && value.size() > 0;
}

/// @param first  what stands before the first line instead of `indent`: "- " of a list
void append(std::string& out, const Json& value, const std::string& indent, std::string first) {
  if (value.is_array()) {
    for (const Json& element : value.as_array()) {
      if (is_block(element)) {
        append(out, element, indent + "  ", first + "- ");
      } else {
        out += str_cat(first, "- ", scalar(element), "\n");
      }
      first = indent;
    }
    return;
  }
  for (const auto& [key, member] : value.as_object()) {
    out += str_cat(first, scalar(Json(key)), ":");
    if (is_block(member)) {
      out += "\n";
      const std::string below = member.is_array() ? indent : indent + "  ";
      append(out, member, below, below);
    } else {
      out += str_cat(" ", scalar(member), "\n");
    }
    first = indent;
  }
}

[[noreturn]] void refuse_mixture(const std::string& what, const std::string& path) {
  throw Error(ErrorKind::kData, what, path, kWrittenAgain);
}

/// Keys that steps read or add to have the kinds that they write, and none is without value, as where a file was cut.
void check_kinds(const Json& mixture, const std::string& path) {
  for (const auto& [key, value] : mixture.as_object()) {
    const bool is_number = key == "global_return_min" || key == "global_return_max" || key == "unified_threshold" ||
                           key == "positive_threshold" || key == "positive_quantile";
    const char* expected = key == "tags"            ? "keys and values"
                           : key == "datasets"      ? "a list"
                           : key == "advantage_tag" ? "text"
                           : is_number              ? "a number"
                                                    : "a value";
    const bool fits = key == "tags"            ? value.is_object()
                      : key == "datasets"      ? value.is_array()
                      : key == "advantage_tag" ? value.is_string() || value.is_number()
                      : is_number              ? value.is_number()
                                               : !value.is_null();
    if (!fits) {
      refuse_mixture(str_cat("'", key, "': expected ", expected, ", found ", value.type_name()), path);
    }
    if (key != "tags" && key != "datasets") {
      continue;
    }
    const auto check_map = [&](const std::string& name, const Json& element) {
      if (!element.is_object()) {
        refuse_mixture(str_cat("'", name, "': expected keys and values, found ", element.type_name()), path);
      }
    };
    for (size_t i = 0; value.is_array() && i < value.size(); ++i) {
      check_map(str_cat("datasets[", i, "]"), value.as_array()[i]);
    }
    for (size_t i = 0; value.is_object() && i < value.size(); ++i) {
      check_map("tags." + value.as_object()[i].first, value.as_object()[i].second);
    }
  }
}

Json number_or_null(std::optional<double> number) {
  return number ? Json(*number) : Json();
}

void note_threshold(Json& place, double threshold, double positive_quantile) {
  place["unified_threshold"] = threshold;
  place["positive_quantile"] = positive_quantile;
}

Json& tag_of(Json& config, const std::string& tag) {
  Json& tags = config["tags"];
  if (!tags.is_object()) {
    tags = Json::object();
  }
  Json& place = tags[tag];
  if (!place.is_object()) {
    place = Json::object();
  }
  return place;
}

}  // namespace

std::string block_yaml(const Json& value) {
  std::string out;
  if (is_block(value)) {
    append(out, value, "", "");
  } else {
    out = scalar(value) + "\n";
  }
  return out;
}

std::string mixture_path(const std::string& root) {
  return root + "/meta/mixture_config.yaml";
}

Json read_mixture_config(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    return Json::object();
  }
  Json json;
  try {
    std::vector<config::Finding> findings;
    json = config::to_json(config::parse_yaml(read_file(path), path, findings));
    if (!findings.empty()) {
      throw config::to_error(findings);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kConfig) {
      throw;
    }
    throw Error(ErrorKind::kData, error.what(), error.where().empty() ? path : error.where(), kWrittenAgain);
  }
  if (json.is_null()) {
    return Json::object();
  }
  if (!json.is_object()) {
    refuse_mixture("expected keys and values", path);
  }
  check_kinds(json, path);
  return json;
}

void note_advantages(Json& config, const ReturnRange& range, const std::vector<MixtureDataset>& datasets,
                     const std::string& tag, double threshold, double positive_quantile) {
  config["global_return_min"] = range.min;
  config["global_return_max"] = range.max;
  Json list = Json::array();
  for (const MixtureDataset& dataset : datasets) {
    list.push_back(Json::object({{"name", dataset.name},
                                 {"weight", dataset.weight},
                                 {"return_min", number_or_null(dataset.return_min)},
                                 {"return_max", number_or_null(dataset.return_max)}}));
  }
  config["datasets"] = std::move(list);
  note_threshold(tag.empty() ? config : tag_of(config, tag), threshold, positive_quantile);
}

void note_tag(Json& config, const std::string& tag, Json entry) {
  if (!tag.empty()) {
    tag_of(config, tag) = std::move(entry);
    return;
  }
  for (auto& [key, value] : entry.as_object()) {
    config[key] = std::move(value);
  }
}

void note_relabel(Json& config, const std::vector<std::string>& names, const std::string& tag, double threshold,
                  double positive_quantile, bool keep_weights) {
  const Json* listed = config.find("datasets");
  const Json before = listed != nullptr && listed->is_array() ? *listed : Json::array();
  const auto known = [&before](const std::string& name) -> const Json* {
    for (const Json& dataset : before.as_array()) {
      const Json* other = dataset.find("name");
      if (other != nullptr && other->is_string() && other->as_string() == name) {
        return &dataset;
      }
    }
    return nullptr;
  };
  Json list = Json::array();
  for (const std::string& name : names) {
    const Json* dataset = keep_weights ? known(name) : nullptr;
    list.push_back(dataset != nullptr ? *dataset : Json::object({{"name", name}, {"weight", 1.0}}));
  }
  config["datasets"] = std::move(list);
  if (!tag.empty()) {
    note_threshold(tag_of(config, tag), threshold, positive_quantile);
    config["advantage_tag"] = tag;
  }
  if (tag.empty() || !keep_weights) {
    note_threshold(config, threshold, positive_quantile);
  }
}

}  // namespace flexor::recap
