#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/field_table.h"
#include "config/finding.h"

namespace flexor::config {

/// Which keys were given, and where: "run.yaml:12" or "command line". A section counts as given if a key below it is.
class Origins {
 public:
  bool is_set(std::string_view key) const { return places_.find(key) != places_.end(); }
  /// The place, "" for a default.
  std::string place(std::string_view key) const;
  void set(const std::string& key, const std::string& place) { places_[key] = place; }
  const std::map<std::string, std::string, std::less<>>& all() const { return places_; }

 private:
  std::map<std::string, std::string, std::less<>> places_;
};

/// What a configuration comes from, later ones over earlier ones.
struct Sources {
  std::vector<std::string> files;      ///< YAML
  std::vector<std::string> overrides;  ///< "optimizer.lr=1e-4", the value read as YAML
};

/// Rules across fields: more problems of a struct that was read. Those at a key that already has one are left out.
using Check = std::function<std::vector<Finding>(const Origins&)>;

/// Fills the struct behind `table` from `sources`, in place.
/// @throws Error(kFile) for a missing file, Error(kConfig) that lists all problems at once: unknown keys with the
/// nearest
///         known one, duplicate keys, wrong types, values out of range, missing required keys, contradicting aliases
Origins bind(FieldTable& table, const Sources& sources, const Check& check = {});

/// Fills the struct behind `table` from a tree that was already put together (yaml_read.h, overlay.h); its problems are
/// added to `findings`, its keys to `origins`.
void bind_tree(FieldTable& table, const Value& root, Origins& origins, std::vector<Finding>& findings);

/// The problems of `check` that no finding is about yet.
void append_check(const Check& check, const Origins& origins, std::vector<Finding>& findings);

/// Fills the struct behind `table` from an object of a JSON file, by the same rules.
/// @throws Error(kind) that lists all problems, at `where`
void bind_json(FieldTable& table, const Json& json, const std::string& where, ErrorKind kind);

/// `bind` for a struct with a field table.
template <typename S>
Origins load(S& config, const Sources& sources, const Check& check = {}) {
  FieldTable table;
  fields(table, config);
  return bind(table, sources, check);
}

}  // namespace flexor::config
