#include "device/backend_search.h"

#include <ATen/Parallel.h>
#include <algorithm>
#include <cctype>
#include <dlfcn.h>
#include <filesystem>
#include <map>
#include <string_view>

#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::device {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "libflexor_", kSuffix = ".so";

/// Folders where CANN's libraries may be.
std::vector<std::string> cann_folders(const Env& env) {
  std::vector<std::string> folders = split_text(env("LD_LIBRARY_PATH").value_or(""), ':');
  const std::string home = env("ASCEND_TOOLKIT_HOME").value_or("/usr/local/Ascend/ascend-toolkit/latest");
  folders.push_back(home + "/lib64");
  folders.emplace_back("/usr/local/Ascend/driver/lib64");
  return folders;
}

/// libpython3.11.so.1.0 of the environment whose packages stand in `site`, .../lib/python3.11/site-packages: in its own
/// lib folder, or in that of the Python that it was made from; else the plain name.
std::string libpython_of(const fs::path& site) {
  const std::string version = site.parent_path().filename().string();  // "python3.11"
  const std::string name = str_cat("lib", version, ".so.1.0");
  const fs::path prefix = site.parent_path().parent_path().parent_path();
  std::error_code code;
  const fs::path interpreter = fs::canonical(prefix / "bin" / "python3", code);
  for (const fs::path& folder : {prefix / "lib", interpreter.parent_path().parent_path() / "lib"}) {
    if (fs::exists(folder / name, code)) {
      return (folder / name).string();
    }
  }
  return name;
}

}  // namespace

int count_device_files(const std::string& name) {
  static const std::map<std::string, std::string> prefixes = {{"cuda", "nvidia"}, {"npu", "davinci"}};
  const auto found = prefixes.find(name);
  if (found == prefixes.end()) {
    return 0;
  }
  const std::string& prefix = found->second;
  int count = 0;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator("/dev", code)) {  // /dev/davinci0, but not /dev/davinci_manager
    const std::string file = entry.path().filename().string();
    const bool is_numbered = file.size() > prefix.size() && file.starts_with(prefix) &&
                             std::all_of(file.begin() + static_cast<ptrdiff_t>(prefix.size()), file.end(),
                                         [](unsigned char c) { return std::isdigit(c) != 0; });
    count += is_numbered ? 1 : 0;
  }
  return count;
}

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

std::string find_backend(const std::string& name, const Env& env) {
  for (const std::string& folder : backend_folders(env)) {
    const fs::path path = fs::path(folder) / str_cat(kPrefix, name, kSuffix);
    if (std::error_code code; fs::exists(path, code)) {
      return path.string();
    }
  }
  return {};
}

std::vector<std::string> backend_names(const Env& env) {
  std::vector<std::string> names = {"cuda", "npu"}, others;
  for (const std::string& folder : backend_folders(env)) {
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(folder, code)) {
      const std::string file = entry.path().filename().string();
      if (file.size() > kPrefix.size() + kSuffix.size() && file.starts_with(kPrefix) && file.ends_with(kSuffix)) {
        others.push_back(file.substr(kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size()));
      }
    }
  }
  std::ranges::sort(others);
  for (const std::string& name : others) {
    if (std::ranges::find(names, name) == names.end()) {
      names.push_back(name);
    }
  }
  return names;
}

std::vector<VendorLibrary> vendor_libraries(const std::string& name, const std::string& torch_folder, const Env& env) {
  const fs::path folder(torch_folder), site = folder.parent_path().parent_path();
  if (name == "cuda") {
    return {{(folder / "libtorch_cuda.so").string(),
             "this LibTorch is one without CUDA: put the lib folder of a CUDA wheel of the same version into "
             "LD_LIBRARY_PATH"}};
  }
  if (name == "npu") {
    return {{env("FLEXOR_LIBPYTHON").value_or(libpython_of(site)),
             "torch_npu needs Python: FLEXOR_LIBPYTHON=/path/to/libpython3.x.so.1.0"},
            {(folder / "libtorch_python.so").string(), "a LibTorch out of a Python wheel has it"},
            {(site / "torch_npu" / "lib" / "libtorch_npu.so").string(),
             "install torch_npu beside torch; a library of CANN that is missing: source CANN's set_env.sh"}};
  }
  return {};
}

std::string torch_library_folder() {
  Dl_info info{};
  const bool is_known =
      ::dladdr(reinterpret_cast<void*>(&at::get_num_threads), &info) != 0 && info.dli_fname != nullptr;
  std::error_code code;
  return is_known ? fs::weakly_canonical(info.dli_fname, code).parent_path().string() : std::string();
}

const std::vector<std::string>& cann_libraries() {
  static const std::vector<std::string> names = {"libhccl.so",      "libascendcl.so", "libacl_op_compiler.so",
                                                 "libge_runner.so", "libgraph.so",    "libacl_tdt_channel.so"};
  return names;
}

std::vector<std::string> missing_cann_libraries(const Env& env) {
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

}  // namespace flexor::device
