#include "config/load.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "config/overlay.h"
#include "config/yaml_read.h"

namespace flexor::config {
namespace {

/// Moves values of a tree into the fields of a table and collects what does not fit.
class Binder {
 public:
  Binder(const FieldTable& root, Origins& origins, std::vector<Finding>& findings)
      : known_keys_(root.all_keys()), origins_(origins), findings_(findings) {
    for (const auto& [alias, target] : root.aliases()) {
      known_keys_.push_back(alias);
    }
  }

  void section(FieldTable& table, const Value& value, const std::string& prefix) {
    if (!value.is_map() && !value.is_null()) {
      const std::string name = prefix.empty() ? "the configuration" : str_cat("'", prefix, "'");
      add(prefix, str_cat(name, ": expected keys and values, found ", shown(value)), value.place);
      return;
    }
    for (const auto& [key, member] : value.members) {
      if (table.find(key) == nullptr) {
        unknown(join(prefix, key), member.place);
      }
    }
    for (FieldSpec& spec : table.specs()) {
      const std::string key = join(prefix, spec.key);
      if (const Value* member = value.find(spec.key)) {
        field(spec, *member, key);
      } else if (spec.is_required) {
        add(key, str_cat("'", key, "' is missing: ", spec.help), value.place, str_cat("give ", key, "=..."));
      } else if (spec.form == FieldSpec::Form::kSection) {
        section(*spec.sub, Value::null(value.place), key);  // for what is required below
      }
    }
  }

 private:
  static std::string join(const std::string& prefix, const std::string& key) {
    return prefix.empty() ? key : prefix + "." + key;
  }

  void add(const std::string& key, std::string what, std::string where, std::string hint = {}) {
    findings_.push_back({key, std::move(what), std::move(where), std::move(hint)});
  }

  void unknown(const std::string& key, const std::string& place) {
    std::string near = nearest(key, known_keys_);
    add(key, str_cat("unknown key '", key, "'"), place, near.empty() ? "" : str_cat("did you mean '", near, "'?"));
  }

  void field(FieldSpec& spec, const Value& value, const std::string& key) {
    origins_.set(key, value.place);
    if (spec.form == FieldSpec::Form::kSection) {
      section(*spec.sub, value, key);
      return;
    }
    if (spec.form == FieldSpec::Form::kItems) {
      items(spec, value, key);
      return;
    }
    const Json before = spec.write();
    try {
      spec.read(value);
      check_rules(spec);
      if (spec.is_required && value.is_null()) {
        add(key, str_cat("'", key, "' is missing: ", spec.help), value.place, str_cat("give ", key, "=..."));
      }
    } catch (const Error& error) {
      add(key, str_cat("'", key, "': ", error.what()), value.place,
          error.hint().empty() ? str_cat(key, ": ", spec.help) : error.hint());
      spec.read(from_json(before, value.place));  // rules across keys may divide by what has to be positive
    }
  }

  void items(FieldSpec& spec, const Value& value, const std::string& key) {
    if (spec.nullable) {
      spec.resize(value.is_null() ? 0 : 1);
      if (!value.is_null()) {
        section(*spec.element(0), value, key);
      }
      return;
    }
    if (!value.is_list() && !value.is_null()) {
      add(key, str_cat("'", key, "': expected a list, found ", shown(value)), value.place);
      return;
    }
    spec.resize(value.items.size());
    for (size_t i = 0; i < value.items.size(); ++i) {
      section(*spec.element(i), value.items[i], str_cat(key, "[", i, "]"));
    }
  }

  std::vector<std::string> known_keys_;
  Origins& origins_;
  std::vector<Finding>& findings_;
};

}  // namespace

void append_check(const Check& check, const Origins& origins, std::vector<Finding>& findings) {
  if (!check) {
    return;
  }
  const size_t num_before = findings.size();
  for (Finding& finding : check(origins)) {
    const auto known = std::any_of(findings.begin(), findings.begin() + static_cast<std::ptrdiff_t>(num_before),
                                   [&](const Finding& f) { return !f.key.empty() && f.key == finding.key; });
    if (!known) {
      findings.push_back(std::move(finding));
    }
  }
}

std::string Origins::place(std::string_view key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? std::string() : found->second;
}

void bind_tree(FieldTable& table, const Value& root, Origins& origins, std::vector<Finding>& findings) {
  Binder(table, origins, findings).section(table, root, "");
}

namespace {

/// A value that was given under another name is read for both keys; what is wrong with it is one finding, under the
/// name that was given.
void drop_doubles(const FieldTable& table, std::vector<Finding>& findings) {
  for (const auto& names : table.aliases()) {
    const auto &alias = names.first, &target = names.second;
    const auto given = std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.key == alias; });
    if (given != findings.end()) {
      const std::string place = given->where;
      std::erase_if(findings, [&](const Finding& f) { return f.key == target && f.where == place; });
    }
  }
}

}  // namespace

Origins bind(FieldTable& table, const Sources& sources, const Check& check) {
  std::vector<Finding> findings;
  Value root = Value::map(sources.files.empty() ? "command line" : sources.files.back());
  for (const std::string& file : sources.files) {
    if (file.empty()) {
      throw Error(ErrorKind::kUsage, "an empty name among the configuration files", "--config",
                  "write it as --config a.yaml,b.yaml");
    }
    Value document = parse_yaml(read_file(file), file, findings);
    if (!document.is_map() && !document.is_null()) {
      throw Error(ErrorKind::kConfig, "expected keys and values, found " + shown(document), file,
                  "configs/pi05_tiny.yaml shows what a configuration looks like");
    }
    overlay(root, std::move(document), table);
  }
  for (const std::string& argument : sources.overrides) {
    apply_override(root, argument, table, findings);
  }
  resolve_aliases(root, table, findings);
  Origins origins;
  bind_tree(table, root, origins, findings);
  append_check(check, origins, findings);
  drop_doubles(table, findings);
  if (!findings.empty()) {
    throw to_error(findings);
  }
  return origins;
}

void bind_json(FieldTable& table, const Json& json, const std::string& where, ErrorKind kind) {
  std::vector<Finding> findings;
  Origins origins;
  Binder(table, origins, findings).section(table, from_json(json, where), "");
  if (!findings.empty()) {
    throw to_error(findings, kind);
  }
}

}  // namespace flexor::config
