#pragma once
#include <c10/core/ScalarType.h>
#include <optional>
#include <string>
#include <string_view>

namespace flexor {

/// at::kFloat for "F32" and so on; nothing for a name that is unknown.
std::optional<at::ScalarType> dtype_from_safetensors(std::string_view name);
/// "F32" for at::kFloat and so on. @throws Error(kRuntime) for a dtype that the format does not have
std::string_view safetensors_from_dtype(at::ScalarType dtype);
/// All names, comma separated.
std::string safetensors_dtypes();

}  // namespace flexor
