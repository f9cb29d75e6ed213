// The one file that sees yaml-cpp.
#include "config/yaml_read.h"

#include <algorithm>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>  // IWYU pragma: keep

#include "base/error.h"
#include "base/str_cat.h"

namespace flexor::config {
namespace {

/// Converts yaml-cpp's nodes. Aliases are followed, so depth and number of values are limited.
class Converter {
 public:
  Converter(std::string file, bool with_lines, std::vector<Finding>& findings)
      : file_(std::move(file)), with_lines_(with_lines), findings_(findings) {}

  Value convert(const YAML::Node& node, int depth, const std::string& path) {
    constexpr int kMaxDepth = 64, kMaxValues = 200'000;
    if (depth > kMaxDepth || ++num_values_ > kMaxValues) {
      throw Error(ErrorKind::kConfig,
                  str_cat("nested deeper than ", kMaxDepth, " levels, or more than ", kMaxValues, " values"), file_,
                  "look for an alias (*name) that repeats what it stands in");
    }
    Value value;
    value.place = place(node.Mark());
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        value.kind = Value::Kind::kScalar;
        value.text = node.Scalar();
        value.quoted = node.Tag() == "!";  // yaml-cpp's tag of quoted scalars
        break;
      case YAML::NodeType::Sequence:
        value.kind = Value::Kind::kList;
        for (const YAML::Node& item : node) {
          value.items.push_back(convert(item, depth + 1, path + "[]"));
        }
        break;
      case YAML::NodeType::Map:
        value.kind = Value::Kind::kMap;
        for (const auto& member : node) {
          add_member(value, member.first, member.second, depth, path);
        }
        break;
      default:
        break;
    }
    return value;
  }

 private:
  std::string place(const YAML::Mark& mark) const {
    return with_lines_ && !mark.is_null() ? str_cat(file_, ":", mark.line + 1) : file_;
  }

  void add_member(Value& map, const YAML::Node& key, const YAML::Node& member, int depth, const std::string& path) {
    if (!key.IsScalar()) {
      throw Error(ErrorKind::kConfig, "expected plain text as a key, found a list, a map or nothing", place(key.Mark()),
                  "write key: value");
    }
    const std::string& name = key.Scalar();
    const std::string full = path.empty() ? name : path + "." + name;
    if (const Value* first = map.find(name)) {
      findings_.push_back({full, str_cat("the key '", full, "' stands twice"),
                           str_cat(first->place, " and ", place(key.Mark())), "remove one of the two"});
      return;
    }
    Value value = convert(member, depth + 1, full);
    value.place = place(key.Mark());
    map.members.push_back({name, std::move(value)});
  }

  std::string file_;
  bool with_lines_;
  std::vector<Finding>& findings_;
  int num_values_ = 0;
};

/// What the library found, in one line of printable text.
std::string reason(const YAML::Exception& exception) {
  if (dynamic_cast<const YAML::DeepRecursion*>(&exception) != nullptr) {
    return "nested too deeply";
  }
  std::string text = exception.msg;
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '?');
  return text;
}

}  // namespace

Value parse_yaml(std::string_view text, const std::string& file, std::vector<Finding>& findings) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.size() > 1) {
      throw Error(ErrorKind::kConfig, str_cat("expected one YAML document, found ", documents.size()), file,
                  "remove the lines `---` between them");
    }
    if (documents.empty()) {
      return Value::null(file);
    }
    return Converter(file, /*with_lines=*/true, findings).convert(documents[0], 0, "");
  } catch (const YAML::Exception& exception) {
    throw Error(ErrorKind::kConfig, "not valid YAML: " + reason(exception),
                exception.mark.is_null() ? file : str_cat(file, ":", exception.mark.line + 1),
                "check indentation, quotes and brackets there and in the line above");
  }
}

Value parse_argument(const std::string& text, const std::string& place) {
  std::vector<Finding> findings;
  Value value;
  try {
    value = Converter(place, /*with_lines=*/false, findings).convert(YAML::Load(text), 0, "");
  } catch (const YAML::Exception& exception) {
    throw Error(ErrorKind::kConfig, str_cat("not valid YAML: '", text, "': ", reason(exception)), place,
                "quote the whole argument for the shell: 'key={a: b}'");
  }
  if (!findings.empty()) {
    throw to_error(findings);
  }
  value.comma_list = value.is_scalar();
  return value;
}

}  // namespace flexor::config
