#include "models/value_config.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "config/field_table.h"
#include "config/finding.h"
#include "config/load.h"

namespace flexor::models {
namespace {

constexpr double kMaxSize = 1 << 22, kMaxDepth = 1000, kMaxBase = 1e12;

struct Variant {
  std::string_view name;
  schema::GemmaSize size;
};
// RLinf recap value model, get_critic_expert_config. "dummy" fits no Gemma3, whose heads are 256 wide.
const Variant kVariants[] = {
    {"dummy", {.width = 64, .depth = 4, .mlp_dim = 128, .num_heads = 8, .num_kv_heads = 1, .head_dim = 16}},
    {"gemma_1m", {.width = 128, .depth = 4, .mlp_dim = 448, .num_heads = 1, .num_kv_heads = 1, .head_dim = 256}},
    {"gemma_50m", {.width = 384, .depth = 18, .mlp_dim = 1536, .num_heads = 8, .num_kv_heads = 1, .head_dim = 256}},
    {"gemma_100m", {.width = 512, .depth = 18, .mlp_dim = 2048, .num_heads = 8, .num_kv_heads = 1, .head_dim = 256}},
    {"gemma_150m", {.width = 640, .depth = 18, .mlp_dim = 2560, .num_heads = 8, .num_kv_heads = 1, .head_dim = 256}},
    {"gemma_300m", {.width = 1024, .depth = 18, .mlp_dim = 4096, .num_heads = 8, .num_kv_heads = 1, .head_dim = 256}},
    {"gemma_2b", {.width = 2048, .depth = 18, .mlp_dim = 16384, .num_heads = 8, .num_kv_heads = 1, .head_dim = 256}},
};

std::string file_of(const std::string& folder) {
  return folder + "/config.json";
}

int64_t whole(const Json& json, std::string_view key, const std::string& where) {
  const Json* value = json.find(key);
  if (value == nullptr || !value->is_int() || value->as_int() < 1) {
    throw Error(
        ErrorKind::kCheckpoint,
        str_cat("'", key, "': expected a positive integer, found ", value == nullptr ? "nothing" : value->dump()),
        where);
  }
  return value->as_int();
}

double number_or(const Json& json, std::string_view key, double fallback, const std::string& where) {
  const Json* value = json.find(key);
  if (value == nullptr || value->is_null()) {
    return fallback;
  }
  if (!value->is_number() || !(value->as_double() > 0)) {
    throw Error(ErrorKind::kCheckpoint, str_cat("'", key, "': expected a positive number, found ", value->dump()),
                where);
  }
  return value->as_double();
}

/// Numbers of the layers that are full: from layer_types, else every sixth (sliding_window_pattern).
std::vector<int64_t> full_layers(const Json& json, int64_t depth, const std::string& where) {
  std::vector<int64_t> full;
  if (const Json* types = json.find("layer_types"); types != nullptr && types->is_array()) {
    const std::vector<std::string> names = types->as_strings();
    if (static_cast<int64_t>(names.size()) != depth) {
      throw Error(ErrorKind::kCheckpoint,
                  str_cat("'layer_types' has ", names.size(), " entries, 'num_hidden_layers' is ", depth), where);
    }
    for (int64_t i = 0; i < depth; ++i) {
      if (names[static_cast<size_t>(i)] == "full_attention") {
        full.push_back(i);
      } else if (names[static_cast<size_t>(i)] != "sliding_attention") {
        throw Error(ErrorKind::kCheckpoint,
                    str_cat("unknown layer type '", names[static_cast<size_t>(i)],
                            "', expected full_attention or sliding_attention"),
                    where);
      }
    }
    return full;
  }
  const Json* pattern = json.find("sliding_window_pattern");
  const int64_t every = pattern != nullptr && pattern->is_int() ? pattern->as_int() : 6;
  for (int64_t i = every - 1; every > 0 && i < depth; i += every) {
    full.push_back(i);
  }
  return full;
}

void refuse_kind(const Json& json, std::string_view wanted, const std::string& where) {
  const Json* type = json.find("model_type");
  const std::string found = type != nullptr && type->is_string() ? type->as_string() : "nothing";
  if (!std::string_view(found).starts_with(wanted)) {
    throw Error(ErrorKind::kCheckpoint, str_cat("'model_type': expected ", wanted, ", found ", found), where);
  }
}

}  // namespace

void fields(config::FieldTable& table, Gemma3Size& c) {
  table("vocab_size", c.vocab_size, "rows of the embedding table").range(1, kMaxSize);
  table("width", c.width, "of a token").range(1, kMaxSize);
  table("depth", c.depth, "layers").range(1, kMaxDepth);
  table("mlp_dim", c.mlp_dim, "width of the MLP").range(1, kMaxSize);
  table("num_heads", c.num_heads, "query heads").range(1, kMaxDepth);
  table("num_kv_heads", c.num_kv_heads, "key and value heads").range(1, kMaxDepth);
  table("head_dim", c.head_dim, "width of a head").range(2, kMaxSize);
  table("query_pre_attn_scalar", c.query_pre_attn_scalar, "queries are scaled by its inverse root")
      .range(1e-6, kMaxBase);
  table("rope_theta", c.rope_theta, "base of the rotations in full layers").range(1, kMaxBase);
  table("rope_local_base_freq", c.rope_local_base_freq, "base of the rotations in the other layers").range(1, kMaxBase);
  table("sliding_window", c.sliding_window, "keys that a query sees in the other layers; not used by the value model")
      .range(1, kMaxBase);
  table("full_layers", c.full_layers, "numbers of the full layers").range(0, kMaxDepth);
}

void fields(config::FieldTable& table, ValueArchitecture& c) {
  table("image_size", c.image_size, "side of a picture in pixels").range(1, 1 << 14);
  table.section("vision", c.vision, "SigLIP vision tower");
  table.section("gemma3", c.gemma3, "Gemma3 language model");
  table.section("expert", c.expert, "critic expert");
}

void fields(config::FieldTable& table, ValueConfig& c) {
  table("model_type", c.model_type, "kind of model").choices({"recap_value_model"});
  table("format_version", c.format_version, "of this file").range(1, 1);
  table.section("architecture", c.architecture, "sizes");
  table("num_bins", c.num_bins, "bins of the value").range(2, 1e5);
  table("v_min", c.v_min, "value of the first bin").range(-1e6, 1e6);
  table("v_max", c.v_max, "value of the last bin").range(-1e6, 1e6);
  table("value_dropout", c.value_dropout, "before the last layer").range(0, 0.999);
  table("max_token_len", c.max_token_len, "tokens of the prompt").range(1, 1e5);
  table("scale_cls_embedding", c.scale_cls_embedding, "multiply the [CLS] embedding by sqrt(width)");
  table("robot_type", c.robot_type, "that the cameras were named by");
  table("returns_tag", c.returns_tag, "of the returns that were learned");
  table("normalize_to_minus_one_zero", c.normalize_to_minus_one_zero, "target = G / |G_min|");
  table("return_min", c.return_min, "smallest return").range(-1e12, 1e12);
  table("return_max", c.return_max, "largest return").range(-1e12, 1e12);
}

schema::GemmaSize critic_expert_variant(std::string_view name) {
  std::vector<std::string> names;
  for (const Variant& variant : kVariants) {
    if (variant.name == name) {
      return variant.size;
    }
    names.emplace_back(variant.name);
  }
  throw Error(ErrorKind::kConfig, str_cat("unknown critic expert '", name, "'"), "critic_expert_variant",
              "one of " + join_text(names, ", "));
}

std::vector<config::Finding> check(const ValueConfig& config, const std::string& prefix) {
  std::vector<config::Finding> findings;
  const auto add = [&](const std::string& key, const std::string& what, const std::string& hint = {}) {
    findings.push_back({.key = prefix + key, .what = what, .where = {}, .hint = hint});
  };
  const auto& [image_size, vision, gemma3, expert] = config.architecture;
  if (config.v_max <= config.v_min) {
    add("v_max", str_cat("expected more than v_min ", config.v_min, ", found ", config.v_max));
  }
  if (expert.head_dim != gemma3.head_dim || expert.num_kv_heads != gemma3.num_kv_heads) {
    add("critic_expert_variant",
        str_cat("the expert reads Gemma3's keys: expected ", gemma3.num_kv_heads, " kv heads of ", gemma3.head_dim,
                ", found ", expert.num_kv_heads, " of ", expert.head_dim),
        "use gemma_1m with gemma-3-270m");
  }
  if (expert.depth > gemma3.depth) {
    add("critic_expert_variant", str_cat("the expert has ", expert.depth, " layers, Gemma3 only ", gemma3.depth));
  }
  for (const auto& [name, heads, kv_heads, head_dim] :
       {std::tuple("gemma3", gemma3.num_heads, gemma3.num_kv_heads, gemma3.head_dim),
        std::tuple("expert", expert.num_heads, expert.num_kv_heads, expert.head_dim)}) {
    if (heads % kv_heads != 0 || head_dim % 2 != 0) {
      add(str_cat("architecture.", name),
          str_cat("expected query heads a multiple of kv heads and an even head_dim, found ", heads, ", ", kv_heads,
                  " and ", head_dim));
    }
  }
  if (vision.width % vision.num_heads != 0) {
    add("architecture.vision", str_cat("width ", vision.width, " is no multiple of num_heads ", vision.num_heads));
  }
  if (image_size % vision.patch_size != 0) {
    add("architecture.image_size", str_cat(image_size, " is no multiple of patch_size ", vision.patch_size));
  }
  return findings;
}

ValueConfig value_config_from_json(const Json& json, const std::string& where) {
  ValueConfig config;
  config::FieldTable table;
  fields(table, config);
  config::bind_json(table, json, where, ErrorKind::kCheckpoint);
  if (const auto findings = check(config, ""); !findings.empty()) {
    const Error error = config::to_error(findings, ErrorKind::kCheckpoint);
    throw Error(ErrorKind::kCheckpoint, error.what(), where, error.hint());
  }
  return config;
}

Json to_json(const ValueConfig& config) {
  ValueConfig copy = config;
  config::FieldTable table;
  fields(table, copy);
  return table.write();
}

void read_siglip_size(const std::string& folder, ValueArchitecture& architecture) {
  const std::string where = file_of(folder);
  Json json = Json::read_file(where);
  if (const Json* vision = json.find("vision_config"); vision != nullptr && vision->is_object()) {
    refuse_kind(json, "siglip", where);
    json = Json(*vision);
  } else {
    refuse_kind(json, "siglip", where);
  }
  // Hugging Face leaves out what equals its defaults (base/16).
  const auto size = [&](const char* key, int64_t fallback) {
    return json.find(key) == nullptr ? fallback : whole(json, key, where);
  };
  architecture.vision = {.width = size("hidden_size", 768),
                         .depth = size("num_hidden_layers", 12),
                         .num_heads = size("num_attention_heads", 12),
                         .mlp_dim = size("intermediate_size", 3072),
                         .patch_size = size("patch_size", 16)};
  architecture.image_size = size("image_size", 224);
}

void read_gemma3_size(const std::string& folder, ValueArchitecture& architecture) {
  const std::string where = file_of(folder);
  Json json = Json::read_file(where);
  refuse_kind(json, "gemma3", where);
  if (const Json* text = json.find("text_config"); text != nullptr && text->is_object()) {
    json = Json(*text);
  }
  Gemma3Size& size = architecture.gemma3;
  size.vocab_size = whole(json, "vocab_size", where);
  size.width = whole(json, "hidden_size", where);
  size.depth = whole(json, "num_hidden_layers", where);
  size.mlp_dim = whole(json, "intermediate_size", where);
  size.num_heads = whole(json, "num_attention_heads", where);
  size.num_kv_heads = whole(json, "num_key_value_heads", where);
  size.head_dim = whole(json, "head_dim", where);
  size.query_pre_attn_scalar = number_or(json, "query_pre_attn_scalar", 256.0, where);
  size.rope_theta = number_or(json, "rope_theta", 1e6, where);
  size.rope_local_base_freq = number_or(json, "rope_local_base_freq", 1e4, where);
  size.sliding_window = static_cast<int64_t>(number_or(json, "sliding_window", 512.0, where));
  size.full_layers = full_layers(json, size.depth, where);
}

}  // namespace flexor::models
