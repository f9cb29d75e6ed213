#include "curate/extra_columns.h"

#include <algorithm>
#include <cstdint>

#include "base/json.h"
#include "curate/episode_extras.h"

namespace flexor::curate {
namespace {

using table::WriteColumn;

const Json* extra_of(const SourceEpisode& episode, const std::string& key) {
  const Json* value = episode.extra.find(key);
  return value && !value->is_null() ? value : nullptr;
}

template <typename T, typename Convert>
WriteColumn extra_column(const RewritePlan& plan, const std::string& key, size_t first, size_t count,
                         const Convert& convert) {
  WriteColumn column{.name = key};
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) {
    const Json* value = extra_of(plan.episode(first + i), key);
    column.present.push_back(value ? 1 : 0);
    if (value) {
      values[i] = convert(*value);
    }
  }
  column.values = std::move(values);
  return column;
}

}  // namespace

ExtraColumns::Kind ExtraColumns::kind_of(const Json& value) {
  const auto is_text = [](const Json& item) { return item.is_string(); };
  const bool is_texts =
      value.is_array() && value.size() > 0 && std::all_of(value.as_array().begin(), value.as_array().end(), is_text);
  return value.is_bool()     ? Kind::kBool
         : value.is_int()    ? Kind::kInt
         : value.is_number() ? Kind::kFloat
         : value.is_string() ? Kind::kText
         : is_texts          ? Kind::kTexts
                             : Kind::kJson;
}

ExtraColumns::Kind ExtraColumns::common_kind(Kind a, Kind b) {
  const auto is_number = [](Kind kind) { return kind == Kind::kInt || kind == Kind::kFloat; };
  return a == b ? a : is_number(a) && is_number(b) ? Kind::kFloat : Kind::kJson;
}

ExtraColumns::ExtraColumns(const RewritePlan& plan) : plan_(plan) {
  for (size_t i = 0; i < plan.episodes.size(); ++i) {
    const Json& extra = plan.episode(i).extra;
    for (size_t k = 0; k < extra.size(); ++k) {
      const auto& [key, value] = extra.as_object()[k];
      if (value.is_null()) {
        continue;
      }
      const auto known =
          std::find_if(keys_.begin(), keys_.end(), [&, &name = key](const auto& e) { return e.first == name; });
      if (known == keys_.end()) {
        keys_.emplace_back(key, kind_of(value));
      } else {
        known->second = common_kind(known->second, kind_of(value));
      }
    }
  }
}

void ExtraColumns::add(size_t first, size_t count, std::vector<WriteColumn>& columns) const {
  const auto add_column = [&]<typename T>(const std::string& key, T, const auto& convert) {
    columns.push_back(extra_column<T>(plan_, key, first, count, convert));
  };
  for (const auto& [key, kind] : keys_) {
    switch (kind) {
      case Kind::kBool:
        add_column(key, uint8_t{0}, [](const Json& value) { return value.as_bool() ? 1 : 0; });
        break;
      case Kind::kInt:
        add_column(key, int64_t{0}, [](const Json& value) { return value.as_int(); });
        break;
      case Kind::kFloat:
        add_column(key, 0.0, [](const Json& value) { return value.as_double(); });
        break;
      case Kind::kText:
        add_column(key, std::string(), [](const Json& value) { return value.as_string(); });
        break;
      case Kind::kTexts:
        add_column(key, std::vector<std::string>(), [](const Json& value) { return value.as_strings(); });
        break;
      case Kind::kJson:
        add_column(key, std::string(), [](const Json& value) { return value.dump(); });
        break;
    }
  }
}

std::map<std::string, std::string> ExtraColumns::metadata() const {
  Json names = Json::array();
  for (const auto& [key, kind] : keys_) {
    if (kind == Kind::kJson) {
      names.push_back(key);
    }
  }
  if (names.size() == 0) {
    return {};
  }
  return {{std::string(kJsonColumnsKey), names.dump()}};
}

}  // namespace flexor::curate
