#include "device/backend_library.h"

#include <array>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <torch/headeronly/version.h>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"
#include "device/backend_plugin.h"

namespace flexor::device {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& where, const std::string& hint) {
  throw Error(ErrorKind::kRuntime, what, where, hint);
}

/// Of the loader's "libx.so.1: cannot open shared object file: No such file or directory": libx.so.1.
std::string missing_library(const std::string& text) {
  constexpr std::string_view kText = ": cannot open shared object file";
  const size_t end = text.find(kText);
  return end == std::string::npos ? std::string() : text.substr(0, end);
}

/// @param who  is loaded  @param advice  for a library that is missing
void* open_library(const std::string& path, int mode, const std::string& who, const std::string& advice) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | mode);
  if (library == nullptr) {
    const char* text = ::dlerror();
    const std::string why = text != nullptr ? text : "no reason given";
    const std::string missing = missing_library(why);
    refuse(missing.empty() ? str_cat(who, " cannot be loaded: ", why) : str_cat(who, " needs ", missing, ": not found"),
           path, advice);
  }
  return library;
}

std::string version_advice(const std::string& name) {
  return str_cat("build libflexor_", name, ".so again, from the source of this program");
}

/// Before anything is loaded in front of it.
bool is_library(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::array<char, 4> magic{};
  stream.read(magic.data(), magic.size());
  return std::string_view(magic.data(), magic.size()) ==
         "\x7f"
         "ELF";
}

/// All that are required; new_group only with a collective.
bool is_complete(const flexor_backend& t) {
  return t.device != nullptr && t.torch_version != nullptr && t.init != nullptr && t.device_count != nullptr &&
         t.set_device != nullptr && t.synchronize != nullptr && t.describe != nullptr && t.memory != nullptr &&
         t.reset_peak != nullptr && t.empty_cache != nullptr && t.notes != nullptr && t.shutdown != nullptr &&
         (t.collective == nullptr || t.new_group != nullptr) && (t.num_fused == 0 || t.fused != nullptr) &&
         (t.num_fallback_ops == 0 || t.fallback_ops != nullptr);
}

void check_fit(const flexor_backend* table, const std::string& name, const std::string& path) {
  if (table == nullptr) {
    refuse("the back end gives no table", path, version_advice(name));
  }
  if (table->abi != FLEXOR_BACKEND_ABI || table->size != sizeof(flexor_backend)) {
    refuse(str_cat("the back end speaks version ", table->abi, " of the interface (", table->size,
                   " bytes), this program version ", FLEXOR_BACKEND_ABI, " (", sizeof(flexor_backend), " bytes)"),
           path, version_advice(name));
  }
  if (!is_complete(*table)) {
    refuse("the back end's table lacks a function", path, version_advice(name));
  }
  if (std::string_view(table->torch_version) != TORCH_VERSION) {
    refuse(str_cat("the back end was built for LibTorch ", table->torch_version, ", this program has ", TORCH_VERSION),
           path, version_advice(name));
  }
  if (name != table->device) {
    refuse(str_cat("the back end is for device '", table->device, "', not '", name, "'"), path, "rename the file");
  }
}

}  // namespace

const flexor_backend* load_backend_library(const std::string& name, const Env& env, std::string& path) {
  path = find_backend(name, env);
  if (path.empty()) {
    refuse(str_cat("device ", name, ": no libflexor_", name, ".so"), join_text(backend_folders(env), ", "),
           "put it beside the program, or name its folder in FLEXOR_BACKEND_PATH; device=cpu computes without it");
  }
  const std::string file = std::filesystem::path(path).filename().string();
  if (!is_library(path)) {
    refuse("it is no shared library", path, version_advice(name));
  }
  const auto libraries = vendor_libraries(name, torch_library_folder(), env);
  for (const VendorLibrary& library : libraries) {
    open_library(library.path, RTLD_GLOBAL, file, library.advice);
  }
  const std::string advice =
      libraries.empty() ? "the library that is named must be found: LD_LIBRARY_PATH" : libraries.back().advice;
  void* library = open_library(path, RTLD_LOCAL, file, advice);
  const auto entry = reinterpret_cast<const flexor_backend* (*)()>(::dlsym(library, FLEXOR_BACKEND_ENTRY));
  if (entry == nullptr) {
    refuse(str_cat("it has no function ", FLEXOR_BACKEND_ENTRY, ": it is no back end of flexor"), path,
           version_advice(name));
  }
  const flexor_backend* table = entry();
  check_fit(table, name, path);
  return table;
}

}  // namespace flexor::device
