#pragma once
#include <vector>

#include "device/out_of_memory.h"
#include "optim/adamw.h"
#include "optim/ema.h"

namespace flexor::train {

/// What this rank's training holds between the kernels, by kind. @param ema  may be null
std::vector<device::LiveBytes> live_bytes(const optim::AdamW& optimizer, const optim::Ema* ema);

}  // namespace flexor::train
