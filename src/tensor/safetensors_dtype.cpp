#include "tensor/safetensors_dtype.h"

#include <array>
#include <utility>

#include "base/error.h"
#include "base/str_cat.h"
#include "tensor/shape.h"

namespace flexor {
namespace {

constexpr std::array<std::pair<std::string_view, at::ScalarType>, 15> kNames{{
    {"F64", at::kDouble},
    {"F32", at::kFloat},
    {"F16", at::kHalf},
    {"BF16", at::kBFloat16},
    {"F8_E4M3", at::kFloat8_e4m3fn},
    {"F8_E5M2", at::kFloat8_e5m2},
    {"I64", at::kLong},
    {"I32", at::kInt},
    {"I16", at::kShort},
    {"I8", at::kChar},
    {"U64", at::kUInt64},
    {"U32", at::kUInt32},
    {"U16", at::kUInt16},
    {"U8", at::kByte},
    {"BOOL", at::kBool},
}};

}  // namespace

std::optional<at::ScalarType> dtype_from_safetensors(std::string_view name) {
  for (const auto& [known, dtype] : kNames) {
    if (known == name) {
      return dtype;
    }
  }
  return std::nullopt;
}

std::string_view safetensors_from_dtype(at::ScalarType dtype) {
  for (const auto& [name, known] : kNames) {
    if (known == dtype) {
      return name;
    }
  }
  throw Error(ErrorKind::kRuntime, str_cat("safetensors cannot hold dtype ", dtype_name(dtype)));
}

std::string safetensors_dtypes() {
  std::string text;
  for (const auto& [name, dtype] : kNames) {
    text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

}  // namespace flexor
