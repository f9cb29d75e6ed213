#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flexor::models {

/// What memory of a training step is for.
enum class MemoryUse {
  kWeights,
  kMasters,
  kMoments,
  kAverages,
  kGradients,
  kCommunication,
  kBatch,
  kActivations,
  kProgram
};
inline constexpr size_t kNumMemoryUses = 9;
std::string_view memory_use_name(MemoryUse use);  ///< "weights", "masters", ..., for tables and JSON

/// Bytes in use at one moment. Doubles, since a plan may be absurd.
struct MemoryMoment {
  std::array<double, kNumMemoryUses> by_use{};
  std::string phase;  ///< "backward pass, joint layers"

  double of(MemoryUse use) const { return by_use[static_cast<size_t>(use)]; }
  double total() const;
};

/// Counts the bytes of a computation that is only imagined: who holds a Held holds its bytes. Remembers the moment of
/// the largest total.
class MemoryLedger {
 public:
  class Bytes {
   public:
    Bytes(MemoryLedger& ledger, MemoryUse use, double bytes);
    ~Bytes();
    Bytes(const Bytes&) = delete;
    Bytes& operator=(const Bytes&) = delete;
    double count() const { return bytes_; }
    void become(MemoryUse use);  ///< the same bytes serve something else from now on

   private:
    MemoryLedger& ledger_;
    MemoryUse use_;
    size_t block_;
    double bytes_;
  };
  using Held = std::shared_ptr<Bytes>;

  Held hold(MemoryUse use, double bytes) { return std::make_shared<Bytes>(*this, use, bytes); }
  /// Bytes of activations that come and go within one operation.
  void touch(double bytes) { hold(MemoryUse::kActivations, bytes); }

  /// The part of the model that computes; activations are counted by it.
  size_t enter(std::string_view block);
  void enter(size_t block) { block_ = block; }
  size_t block() const { return block_; }
  void set_phase(std::string phase) { phase_ = std::move(phase); }

  const MemoryMoment& now() const { return now_; }
  const MemoryMoment& peak() const { return peak_; }
  void forget_peak();
  /// Activations in use, by block, in the order in which blocks were entered first.
  std::vector<std::pair<std::string, double>> activations() const;

 private:
  void add(MemoryUse use, size_t block, double bytes);

  MemoryMoment now_, peak_;
  double total_ = 0, peak_total_ = 0;
  std::string phase_;
  std::vector<std::string> blocks_ = {"step"};
  std::vector<double> by_block_ = {0.0};
  size_t block_ = 0;
};

}  // namespace flexor::models
