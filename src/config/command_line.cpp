#include "config/command_line.h"

#include <algorithm>

#include <CLI/CLI.hpp>  // IWYU pragma: keep

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

std::string flag_name(const FieldSpec& spec) {
  return "--" + with_dashes(spec.key);
}

bool is_switch(const FieldSpec& spec) {
  return spec.type == "bool";
}

bool is_list(const FieldSpec& spec) {
  return spec.type.starts_with("list");
}

[[noreturn]] void fail(std::string what, std::string hint = {}) {
  throw Error(ErrorKind::kUsage, std::move(what), {}, std::move(hint));
}

/// CLI11 takes the arguments apart; the fields read and check the values.
class Parser {
 public:
  explicit Parser(FieldTable& table) : table_(table) {
    app_.set_help_flag();  // the dispatcher has it
    app_.allow_extras();   // refused below, with the nearest flag
    for (const FieldSpec& spec : table.specs()) {
      options_.push_back(add(spec));
    }
  }

  void run(std::vector<std::string> arguments) {
    take_apart(std::move(arguments));
    check_values();
    refuse_extras();
    for (size_t i = 0; i < options_.size(); ++i) {
      read(table_.specs()[i], options_[i]->results());
    }
  }

 private:
  CLI::Option* add(const FieldSpec& spec) {
    if (spec.is_positional) {
      CLI::Option* option = app_.add_option("argument" + std::to_string(options_.size()));
      return spec.is_rest ? option->expected(-1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll) : option;
    }
    std::string names = spec.letter == 0 ? "" : str_cat("-", spec.letter, ",");
    names += flag_name(spec);
    if (const std::string plain = "--" + spec.key; plain != flag_name(spec)) {
      names += "," + plain;  // dashes and underscores are equal
    }
    CLI::Option* option = is_switch(spec) ? app_.add_flag(names) : app_.add_option(names);
    return option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }

  void take_apart(std::vector<std::string> arguments) {
    if (arguments.empty()) {
      return;
    }
    const std::string last = arguments.back();
    for (std::string& argument : arguments) {
      if (argument == "--") {
        break;
      }
      if (argument.starts_with("--") && argument.find('=') == argument.size() - 1) {  // CLI11 takes the next argument
        fail(str_cat("the flag '", argument.substr(0, argument.size() - 1), "' needs a value after '='"));
      }
      if (argument.size() > 2 && argument[0] == '-' && argument[1] != '-' && argument[2] == '=') {
        argument.erase(2, 1);  // -o=FILE is -oFILE
      }
    }
    std::reverse(arguments.begin(), arguments.end());  // as it wants them
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::ArgumentMismatch&) {
      fail(str_cat("the flag '", last, "' needs a value"));
    } catch (const CLI::ParseError& error) {
      fail(error.what());
    }
  }

  /// CLI11 takes the `--json` of `--policy --json` for a value.
  void check_values() const {
    for (size_t i = 0; i < options_.size(); ++i) {
      const FieldSpec& spec = table_.specs()[i];
      for (const std::string& text : options_[i]->results()) {
        if (!spec.is_positional && text.starts_with("--")) {
          fail(str_cat("the flag '", flag_name(spec), "' needs a value, found the flag '", text, "'"), spec.help);
        }
      }
    }
  }

  void refuse_extras() const {
    for (const std::string& argument : app_.remaining()) {
      if (argument == "--") {
        continue;
      }
      if (argument.size() < 2 || argument[0] != '-') {
        fail(str_cat("unexpected argument '", argument, "'"));
      }
      const std::string name = argument.substr(0, argument.find('='));
      std::vector<std::string> known;
      for (const FieldSpec& spec : table_.specs()) {
        if (!spec.is_positional) {
          known.push_back(flag_name(spec));
        }
      }
      const std::string near = name.starts_with("--") ? nearest(with_dashes(name), known) : std::string();
      fail(str_cat("unknown flag '", name, "'"), near.empty() ? "" : str_cat("did you mean '", near, "'?"));
    }
  }

  static void read(FieldSpec& spec, const std::vector<std::string>& texts) {
    const std::string name = spec.is_positional ? spec.key : flag_name(spec);
    if (texts.empty()) {
      if (spec.is_required) {
        fail(str_cat("'", name, "' is missing"), spec.help);
      }
      return;
    }
    if (texts.size() > 1 && is_list(spec) && !spec.is_positional) {  // the last one may be meant, or all of them
      fail(str_cat("the flag '", name, "' is given ", texts.size(), " times: '", join_text(texts, "', '"), "'"),
           str_cat("give one list: ", name, " ", join_text(texts, ",")));
    }
    if (spec.is_positional && !spec.is_rest && texts.back().empty()) {  // an unset variable, not the working folder
      fail(str_cat("'", name, "' is empty"), spec.help);
    }
    Value value = Value::scalar(texts.back(), "");
    value.comma_list = true;
    if (spec.is_rest) {
      value.kind = Value::Kind::kList;
      for (const std::string& text : texts) {
        value.items.push_back(Value::scalar(text, ""));
      }
    }
    try {
      spec.read(value);
      check_rules(spec);
    } catch (const Error& error) {
      fail(str_cat("'", name, "': ", error.what()), error.hint());
    }
  }

  FieldTable& table_;
  CLI::App app_;
  std::vector<CLI::Option*> options_;  ///< of app_, in the order of the fields
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
  word += flag_name(spec);
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
  Parser(table).run(arguments);
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
