#pragma once
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json.h"
#include "config/codec.h"
#include "config/value.h"

namespace flexor::config {

class FieldTable;

/// One key: how it is read, written, checked and described. The chain after a field states its rules:
///   table("lr", c.lr, "peak learning rate").range(0, 1);
struct FieldSpec {
  enum class Form {
    kValue,    ///< a value of its own
    kMap,      ///< a map whose keys the user chooses (rename_map)
    kSection,  ///< a fixed set of keys: `sub`
    kItems,    ///< a list of sections, or a section that may be null (`nullable`)
  };

  FieldSpec& range(double low, double high);            ///< inclusive; of every number in the value
  FieldSpec& choices(std::vector<std::string> values);  ///< of every text in the value
  FieldSpec& required();                                ///< must be given
  FieldSpec& hidden();                                  ///< not in help texts and manuals
  FieldSpec& short_flag(char letter);                   ///< `-o` beside `--output`
  FieldSpec& value_name(std::string name);              ///< what help shows as the flag's value: "DIR"

  std::string key, type, help;
  Form form = Form::kValue;
  Json default_value;  ///< what the struct held when the table was made
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  std::vector<std::string> allowed;
  bool is_required = false, is_hidden = false, nullable = false;
  bool is_positional = false, is_rest = false;  ///< on the command line: by place; all that is left
  char letter = 0;
  std::string shown_name;

  std::function<void(const Value&)> read;  ///< @throws Error(kConfig) with what, without where
  std::function<Json()> write;
  std::shared_ptr<FieldTable> sub;  ///< the section's table; of kItems that of a default element, for manuals
  std::function<void(size_t)> resize;
  std::function<size_t()> count;
  std::function<std::shared_ptr<FieldTable>(size_t)> element;  ///< valid until the next resize
};

/// @throws Error(kConfig) with what and hint unless `text` is one of `allowed`
void check_choice(const std::string& text, const std::vector<std::string>& allowed);

/// The one list of a struct's keys. It drives reading (load.h), printing and manuals (print.h) and command lines
/// (command_line.h). A struct has `void fields(FieldTable&, Struct&)` beside it, found by argument-dependent lookup.
/// The table points into the struct, which must outlive it and stay where it is.
class FieldTable {
 public:
  /// bool, int, int64_t, double, std::string, Json; std::optional, std::vector, std::array, std::map from text of
  /// these.
  template <typename T>
  FieldSpec& operator()(std::string_view key, T& value, std::string_view help) {
    FieldSpec& spec = add(key, Codec<T>::type(), help);
    spec.read = [&value](const Value& read) { value = Codec<T>::read(read); };
    spec.write = [&value] { return Codec<T>::write(value); };
    spec.form = spec.type.starts_with("map ") ? FieldSpec::Form::kMap : FieldSpec::Form::kValue;
    spec.default_value = spec.write();
    return spec;
  }

  /// An enumeration by the names of its values.
  template <typename E>
  FieldSpec& enumeration(std::string_view key, E& value, std::vector<std::pair<std::string, E>> names,
                         std::string_view help) {
    FieldSpec& spec = add(key, Codec<std::string>::type(), help);
    for (const auto& [name, enumerator] : names) {
      spec.allowed.push_back(name);
    }
    spec.read = [&value, names, allowed = spec.allowed](const Value& read) {
      const std::string text = Codec<std::string>::read(read);
      check_choice(text, allowed);
      for (const auto& [name, enumerator] : names) {
        value = name == text ? enumerator : value;
      }
    };
    spec.write = [&value, names] {
      for (const auto& [name, enumerator] : names) {
        if (enumerator == value) {
          return Json(name);
        }
      }
      return Json();
    };
    spec.default_value = spec.write();
    return spec;
  }

  /// A value with its own reading and writing; `read` throws Error with what. @param form  kMap if the user chooses
  /// keys
  FieldSpec& custom(std::string_view key, std::string_view type, std::function<void(const Json&)> read,
                    std::function<Json()> write, std::string_view help, FieldSpec::Form form = FieldSpec::Form::kValue);

  /// Keys below `key`: calls fields(table, sub).
  template <typename S>
  FieldSpec& section(std::string_view key, S& sub, std::string_view help) {
    FieldSpec& spec = add(key, "section", help);
    spec.form = FieldSpec::Form::kSection;
    spec.sub = table_of(sub);
    return spec;
  }

  /// A section that may be null.
  template <typename S>
  FieldSpec& section(std::string_view key, std::optional<S>& sub, std::string_view help) {
    FieldSpec& spec = add_items<S>(key, "section or null", help);
    spec.nullable = true;
    spec.resize = [&sub](size_t count) {
      if (count == 0) {
        sub.reset();
      } else if (!sub) {
        sub.emplace();
      }
    };
    spec.count = [&sub] { return sub ? size_t{1} : size_t{0}; };
    spec.element = [&sub](size_t) { return table_of(*sub); };
    return spec;
  }

  /// A list of sections: [{root: a, weight: 1}, {root: b, weight: 2}].
  template <typename S>
  FieldSpec& list(std::string_view key, std::vector<S>& items, std::string_view help) {
    FieldSpec& spec = add_items<S>(key, "list of sections", help);
    spec.resize = [&items](size_t count) { items.assign(count, S{}); };
    spec.count = [&items] { return items.size(); };
    spec.element = [&items](size_t i) { return table_of(items[i]); };
    return spec;
  }

  /// On a command line: an argument by its place, in the order of these calls. Required unless the value is non-empty
  /// or
  /// `.is_required = false` follows.
  FieldSpec& positional(std::string_view name, std::string& value, std::string_view help);
  /// On a command line: all arguments that no positional takes.
  FieldSpec& rest(std::string_view name, std::vector<std::string>& values, std::string_view help);

  /// `alias` is another key for `target`, both full dotted keys seen from this table. Given both with different values
  /// is an error. `alias` may also be a key of its own: then its value goes to both.
  void alias(std::string_view alias, std::string_view target);

  std::deque<FieldSpec>& specs() { return specs_; }
  const std::deque<FieldSpec>& specs() const { return specs_; }
  const std::vector<std::pair<std::string, std::string>>& aliases() const { return aliases_; }
  FieldSpec* find(std::string_view key);

  /// Full dotted keys of all values and sections below, in order; items once, as "mix[].root".
  std::vector<std::string> all_keys(const std::string& prefix = {}) const;
  /// The struct's values as they are now.
  Json write() const;

 private:
  template <typename S>
  static std::shared_ptr<FieldTable> table_of(S& value) {
    auto table = std::make_shared<FieldTable>();
    fields(*table, value);
    return table;
  }
  template <typename S>
  FieldSpec& add_items(std::string_view key, std::string_view type, std::string_view help) {
    FieldSpec& spec = add(key, type, help);
    spec.form = FieldSpec::Form::kItems;
    const auto example = std::make_shared<S>();
    spec.sub = table_of(*example);
    spec.sub->owned_ = example;
    return spec;
  }
  FieldSpec& add(std::string_view key, std::string_view type, std::string_view help);

  std::deque<FieldSpec> specs_;  // a deque: references stay valid
  std::vector<std::pair<std::string, std::string>> aliases_;
  std::shared_ptr<void> owned_;
};

/// Range and choices of a value that was just read. @throws Error(kConfig) with what
void check_rules(const FieldSpec& spec);

}  // namespace flexor::config
