#include "models/memory_ledger.h"

#include <algorithm>
#include <numeric>

#include "base/str_cat.h"

namespace flexor::models {

std::string_view memory_use_name(MemoryUse use) {
  constexpr std::array<std::string_view, kNumMemoryUses> kNames = {
      "weights", "masters", "moments", "averages", "gradients", "communication", "batch", "activations", "program"};
  return kNames[static_cast<size_t>(use)];
}

double MemoryMoment::total() const {
  return std::accumulate(by_use.begin(), by_use.end(), 0.0);
}

MemoryLedger::Bytes::Bytes(MemoryLedger& ledger, MemoryUse use, double bytes)
    : ledger_(ledger), use_(use), block_(ledger.block_), bytes_(bytes) {
  ledger_.add(use_, block_, bytes_);
}

MemoryLedger::Bytes::~Bytes() {
  ledger_.add(use_, block_, -bytes_);
}

void MemoryLedger::Bytes::become(MemoryUse use) {
  ledger_.add(use_, block_, -bytes_);
  use_ = use;
  ledger_.add(use_, block_, bytes_);
}

void MemoryLedger::add(MemoryUse use, size_t block, double bytes) {
  now_.by_use[static_cast<size_t>(use)] += bytes;
  total_ += bytes;
  if (use == MemoryUse::kActivations) {
    by_block_[block] += bytes;
  }
  if (total_ > peak_total_) {
    peak_total_ = total_;
    peak_.by_use = now_.by_use;
    peak_.phase = block_ == 0 ? phase_ : str_cat(phase_, ", ", blocks_[block_]);
  }
}

size_t MemoryLedger::enter(std::string_view block) {
  const auto found = std::ranges::find(blocks_, block);
  block_ = static_cast<size_t>(found - blocks_.begin());
  if (found == blocks_.end()) {
    blocks_.emplace_back(block);
    by_block_.push_back(0.0);
  }
  return block_;
}

void MemoryLedger::forget_peak() {
  peak_total_ = 0;
  add(MemoryUse::kActivations, block_, 0.0);
}

std::vector<std::pair<std::string, double>> MemoryLedger::activations() const {
  std::vector<std::pair<std::string, double>> list;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    list.emplace_back(blocks_[i], by_block_[i]);
  }
  return list;
}

}  // namespace flexor::models
