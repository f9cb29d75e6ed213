#include "tensor/tap.h"

#include <utility>

namespace flexor {
namespace {
thread_local TapRecorder* innermost = nullptr;
}  // namespace

TapRecorder::TapRecorder(Sink sink) : sink_(std::move(sink)), outer_(innermost) {
  innermost = this;
}

TapRecorder::~TapRecorder() {
  innermost = outer_;
}

bool tap_active() {
  return innermost != nullptr;
}

void tap(std::string_view name, const at::Tensor& tensor) {
  if (innermost != nullptr) {
    innermost->sink_(name, tensor);
  }
}

}  // namespace flexor
