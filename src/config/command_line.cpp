#include "config/command_line.h"

#include <algorithm>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::config {
namespace {

std::string with_dashes(std::string_view key) {
  std::string flag(key);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

bool is_switch(const FieldSpec& spec) {
  return spec.type == "bool";
}

[[noreturn]] void fail(std::string what, std::string hint = {}) {
  throw Error(ErrorKind::kUsage, std::move(what), {}, std::move(hint));
}

/// Hands the arguments to the fields one by one.
class Parser {
 public:
  Parser(FieldTable& table, const std::vector<std::string>& arguments) : table_(table), arguments_(arguments) {}

  void run() {
    bool flags_end = false;
    while (next_ < arguments_.size()) {
      const std::string argument = arguments_[next_++];
      if (!flags_end && argument == "--") {
        flags_end = true;
      } else if (!flags_end && argument.starts_with("--")) {
        long_flag(argument);
      } else if (!flags_end && argument.size() >= 2 && argument[0] == '-' && std::isalpha(as_byte(argument[1])) != 0) {
        short_flag(argument);
      } else {
        positional(argument);
      }
    }
    finish();
  }

 private:
  static int as_byte(char c) { return static_cast<unsigned char>(c); }

  void long_flag(const std::string& argument) {
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    FieldSpec* spec = nullptr;
    std::vector<std::string> known;
    for (FieldSpec& candidate : table_.specs()) {
      if (!candidate.is_positional) {
        known.push_back("--" + with_dashes(candidate.key));
        spec = known.back() == with_dashes(name) ? &candidate : spec;
      }
    }
    if (spec == nullptr) {
      const std::string near = nearest(with_dashes(name), known);
      fail(str_cat("unknown flag '", name, "'"), near.empty() ? "" : str_cat("did you mean '", near, "'?"));
    }
    if (equals != std::string::npos) {
      assign(*spec, argument.substr(equals + 1), name);
    } else {
      assign_next(*spec, name);
    }
  }

  void short_flag(const std::string& argument) {
    const auto found = std::find_if(table_.specs().begin(), table_.specs().end(),
                                    [&](const FieldSpec& spec) { return spec.letter == argument[1]; });
    if (found == table_.specs().end()) {
      fail(str_cat("unknown flag '", argument, "'"));
    }
    if (argument.size() > 2) {
      assign(*found, argument.substr(argument[2] == '=' ? 3 : 2), argument.substr(0, 2));  // -oFILE, -o=FILE
    } else {
      assign_next(*found, argument);
    }
  }

  void assign_next(FieldSpec& spec, const std::string& name) {
    if (is_switch(spec)) {
      assign(spec, "true", name);
      return;
    }
    if (next_ == arguments_.size() || arguments_[next_].starts_with("--")) {
      fail(str_cat("the flag '", name, "' needs a value",
                   next_ == arguments_.size() ? "" : str_cat(", found the flag '", arguments_[next_], "'")),
           spec.help);
    }
    assign(spec, arguments_[next_++], name);
  }

  void assign(FieldSpec& spec, const std::string& text, const std::string& name) {
    Value value = Value::scalar(text, "");
    value.comma_list = true;
    try {
      spec.read(value);
      check_rules(spec);
    } catch (const Error& error) {
      fail(str_cat("'", name, "': ", error.what()), error.hint());
    }
    given_.push_back(&spec);
  }

  void positional(const std::string& argument) {
    for (FieldSpec& spec : table_.specs()) {
      const bool is_taken = std::find(given_.begin(), given_.end(), &spec) != given_.end();
      if (spec.is_rest) {
        rest_.push_back(Value::scalar(argument, ""));
        return;
      }
      if (spec.is_positional && !is_taken) {
        assign(spec, argument, spec.key);
        return;
      }
    }
    fail(str_cat("unexpected argument '", argument, "'"));
  }

  void finish() {
    for (FieldSpec& spec : table_.specs()) {
      if (spec.is_rest && !rest_.empty()) {
        Value list;
        list.kind = Value::Kind::kList;
        list.items = rest_;
        spec.read(list);
        given_.push_back(&spec);
      }
      if (spec.is_required && std::find(given_.begin(), given_.end(), &spec) == given_.end()) {
        const std::string name = spec.is_positional ? spec.key : "--" + with_dashes(spec.key);
        fail(str_cat("'", name, "' is missing"), spec.help);
      }
    }
  }

  FieldTable& table_;
  const std::vector<std::string>& arguments_;
  size_t next_ = 0;
  std::vector<const FieldSpec*> given_;
  std::vector<Value> rest_;
};

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string value_word(const FieldSpec& spec) {
  if (!spec.shown_name.empty()) {
    return spec.shown_name;
  }
  if (!spec.allowed.empty()) {
    return join_text(spec.allowed, "|");
  }
  return spec.type.starts_with("int") ? "N" : spec.type.starts_with("float") ? "X" : upper(spec.key);
}

std::string positional_word(const FieldSpec& spec) {
  const std::string name = spec.shown_name.empty() ? upper(spec.key) : spec.shown_name;
  return spec.is_rest ? "[" + name + " ...]" : spec.is_required ? name : "[" + name + "]";
}

std::string flag_word(const FieldSpec& spec) {
  std::string word = spec.letter == 0 ? "    " : str_cat("-", spec.letter, ", ");
  word += "--" + with_dashes(spec.key);
  return is_switch(spec) ? word : word + " " + value_word(spec);
}

std::string default_text(const FieldSpec& spec) {
  const Json& value = spec.default_value;
  const bool is_empty = value.is_null() || (value.is_string() && value.as_string().empty()) ||
                        (!value.is_string() && (value.is_array() || value.is_object()) && value.size() == 0);
  if (spec.is_required) {
    return spec.is_positional ? "" : " (required)";
  }
  return is_empty || is_switch(spec) ? "" : " (default " + (value.is_string() ? value.as_string() : value.dump()) + ")";
}

}  // namespace

void parse_arguments(FieldTable& table, const std::vector<std::string>& arguments) {
  Parser(table, arguments).run();
}

std::string usage_text(const FieldTable& table, std::string_view command) {
  std::string line = str_cat("usage: ", command);
  std::vector<std::pair<std::string, std::string>> rows;
  bool has_flags = false;
  for (const FieldSpec& spec : table.specs()) {
    if (spec.is_positional && !spec.is_hidden) {
      rows.emplace_back(upper(spec.shown_name.empty() ? spec.key : spec.shown_name), spec.help + default_text(spec));
    }
  }
  for (const FieldSpec& spec : table.specs()) {
    if (!spec.is_positional && !spec.is_hidden) {
      has_flags = true;
      rows.emplace_back(flag_word(spec), spec.help + default_text(spec));
      line += spec.is_required ? " " + std::string(trim_text(flag_word(spec))) : "";
    }
  }
  line += has_flags ? " [flags]" : "";
  for (const FieldSpec& spec : table.specs()) {
    line += spec.is_positional && !spec.is_hidden ? " " + positional_word(spec) : "";
  }
  size_t width = 0;
  constexpr size_t kMaxWidth = 34;
  for (const auto& [word, help] : rows) {
    width = word.size() <= kMaxWidth ? std::max(width, word.size()) : width;
  }
  std::string text = line + "\n";
  for (const auto& [word, help] : rows) {
    const std::string gap =
        word.size() <= width ? std::string(width - word.size() + 2, ' ') : "\n" + std::string(width + 4, ' ');
    text += str_cat("  ", word, gap, help, "\n");
  }
  return text;
}

}  // namespace flexor::config
