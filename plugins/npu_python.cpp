#include "npu_python.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <torch_npu/csrc/core/npu/NPUFunctions.h>

namespace flexor::plugins {
namespace {

namespace fs = std::filesystem;

template <class Signature>
Signature* python_function(const char* name, bool is_optional = false) {
  void* found = ::dlsym(RTLD_DEFAULT, name);
  if (found == nullptr && !is_optional) {
    throw std::runtime_error(std::string("libpython is not loaded (no ") + name +
                             "): set FLEXOR_LIBPYTHON to the libpython3 that torch_npu was made for");
  }
  return reinterpret_cast<Signature*>(found);
}

/// site-packages around torch_npu/lib/libtorch_npu.so.
fs::path site_packages() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&c10_npu::device_count), &info) == 0 || info.dli_fname == nullptr) {
    throw std::runtime_error("the loader does not say where libtorch_npu.so is");
  }
  return fs::absolute(info.dli_fname).lexically_normal().parent_path().parent_path().parent_path();
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string{c};
  }
  return out + "'";
}

/// Holds the interpreter's lock.
class Lock {
 public:
  Lock() : state_(python_function<int()>("PyGILState_Ensure")()) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { python_function<void(int)>("PyGILState_Release", true)(state_); }

 private:
  int state_;
};

/// str(__main__.NAME), with the lock held.
std::string main_variable(const char* name) {
  void* module = python_function<void*(const char*)>("PyImport_AddModule")("__main__");  // borrowed
  void* value = python_function<void*(void*, const char*)>("PyObject_GetAttrString")(module, name);
  const char* text = value != nullptr ? python_function<const char*(void*)>("PyUnicode_AsUTF8")(value) : nullptr;
  std::string out = text != nullptr ? text : "";
  python_function<void()>("PyErr_Clear")();
  if (value != nullptr) {
    python_function<void(void*)>("Py_DecRef")(value);
  }
  return out;
}

/// The statements inside a function that hands its exception on as text: nothing is printed.
std::string wrapped(const std::string& code) {
  std::ostringstream out;
  out << "def _flexor_run():\n  result = ''\n";
  std::istringstream lines(code);
  for (std::string line; std::getline(lines, line);) {
    out << "  " << line << "\n";
  }
  out << "  return str(result)\n"
         "_flexor_result, _flexor_error = '', ''\n"
         "try:\n  _flexor_result = _flexor_run()\n"
         "except BaseException as error:\n  _flexor_error = str(error).strip() or type(error).__name__\n";
  return out.str();
}

}  // namespace

std::string run_python(const std::string& code) {
  const Lock lock;
  if (python_function<int(const char*)>("PyRun_SimpleString")(wrapped(code).c_str()) != 0) {
    throw std::runtime_error("the Python interpreter does not run");
  }
  if (std::string error = main_variable("_flexor_error"); !error.empty()) {
    throw std::runtime_error(error);
  }
  return main_variable("_flexor_result");
}

void start_torch_npu() {
  const fs::path site = site_packages();
  if (python_function<int()>("Py_IsInitialized")() == 0) {
    // The environment's own interpreter, so that it finds the standard library that belongs to it.
    static std::wstring program = (site.parent_path().parent_path().parent_path() / "bin/python3").wstring();
    if (auto* name = python_function<void(const wchar_t*)>("Py_SetProgramName", true);
        name != nullptr && fs::exists(program)) {
      name(program.c_str());
    }
    python_function<void(int)>("Py_InitializeEx")(0);  // 0: signals stay the program's
    python_function<void*()>("PyEval_SaveThread")();   // or every other thread waits for ever
  }
  run_python("import site\nsite.addsitedir(" + quoted(site.string()) + ")");
  run_python("import sys\nif " + quoted(site.string()) + " in sys.path: sys.path.remove(" + quoted(site.string()) +
             ")\nsys.path.insert(0, " + quoted(site.string()) + ")\nglobal torch_npu\nimport torch_npu");
}

}  // namespace flexor::plugins
