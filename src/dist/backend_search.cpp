#include "dist/backend_search.h"

#include <algorithm>
#include <cctype>
#include <dlfcn.h>
#include <filesystem>
#include <string_view>

#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::dist {
namespace {

namespace fs = std::filesystem;

/// /dev/davinci0, but not /dev/davinci_manager.
int count_device_files(std::string_view prefix) {
  int count = 0;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator("/dev", code)) {
    const std::string name = entry.path().filename().string();
    const bool is_numbered = name.size() > prefix.size() && name.starts_with(prefix) &&
                             std::all_of(name.begin() + static_cast<ptrdiff_t>(prefix.size()), name.end(),
                                         [](unsigned char c) { return std::isdigit(c) != 0; });
    count += is_numbered ? 1 : 0;
  }
  return count;
}

/// Why the loader refuses the library; "" if it does not.
std::string load_problem(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    return why != nullptr ? why : "it cannot be loaded";
  }
  const bool has_entry = ::dlsym(library, "flexor_backend_entry") != nullptr;
  ::dlclose(library);
  return has_entry ? "" : "it has no function flexor_backend_entry: it is no back end of flexor";
}

/// Folders where CANN's libraries may be.
std::vector<std::string> cann_folders(const Env& env) {
  std::vector<std::string> folders = split_text(env("LD_LIBRARY_PATH").value_or(""), ':');
  const std::string home = env("ASCEND_TOOLKIT_HOME").value_or("/usr/local/Ascend/ascend-toolkit/latest");
  folders.push_back(home + "/lib64");
  folders.emplace_back("/usr/local/Ascend/driver/lib64");
  return folders;
}

std::vector<std::string> missing_cann(const Env& env) {
  const std::vector<std::string> folders = cann_folders(env);
  std::vector<std::string> missing = cann_libraries();
  std::erase_if(missing, [&](const std::string& library) {
    std::error_code code;
    return std::ranges::any_of(folders, [&](const std::string& folder) {
      return !folder.empty() && fs::exists(fs::path(folder) / library, code);
    });
  });
  return missing;
}

}  // namespace

std::vector<std::string> backend_folders(const Env& env) {
  std::vector<std::string> folders;
  for (const std::string& folder : split_text(env("FLEXOR_BACKEND_PATH").value_or(""), ':')) {
    if (!folder.empty()) {
      folders.push_back(folder);
    }
  }
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code).parent_path();
  folders.push_back(program.string());
  folders.push_back((program.parent_path() / "lib").string());
  return folders;
}

std::vector<BackendReport> report_backends(const Env& env) {
  std::vector<BackendReport> reports;
  for (const auto& [name, device_file] : {std::pair("cuda", "nvidia"), std::pair("npu", "davinci")}) {
    BackendReport report{.name = name,
                         .num_device_files = count_device_files(device_file),
                         .path = {},
                         .searched = backend_folders(env),
                         .problem = {},
                         .missing = {}};
    for (const std::string& folder : report.searched) {
      const fs::path path = fs::path(folder) / str_cat("libflexor_", name, ".so");
      if (std::error_code code; report.path.empty() && fs::exists(path, code)) {
        report.path = path.string();
        report.problem = load_problem(report.path);
      }
    }
    if (report.name == "npu") {
      report.missing = missing_cann(env);
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

const std::vector<std::string>& cann_libraries() {
  static const std::vector<std::string> names = {"libhccl.so",      "libascendcl.so", "libacl_op_compiler.so",
                                                 "libge_runner.so", "libgraph.so",    "libacl_tdt_channel.so"};
  return names;
}

}  // namespace flexor::dist
