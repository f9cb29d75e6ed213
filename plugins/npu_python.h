#pragma once
#include <string>

namespace flexor::plugins {

/// torch_npu starts its devices by a Python function, so the process gets an interpreter: libpython is loaded already,
/// and only functions of its stable interface are used, found by name. The interpreter belongs to the environment that
/// libtorch_npu.so was loaded from. After each call no thread holds the interpreter's lock.
///
/// Starts the interpreter unless it runs, and imports torch_npu. Called once.
/// @throws std::runtime_error  with the exception's text
void start_torch_npu();

/// Runs statements; `torch_npu` is imported.
/// @return str() of what they assign to `result`; "" if they do not
/// @throws std::runtime_error  with the exception's type and text
std::string run_python(const std::string& code);

}  // namespace flexor::plugins
