#pragma once
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flexor::train {

/// CRC-32C (Castagnoli), rotated and offset as TFRecord files store it.
uint32_t masked_crc32c(std::string_view bytes);

/// One TFRecord: length, its checksum, the bytes, their checksum; little-endian.
std::string tf_record(std::string_view bytes);

/// A serialised tensorflow.Event with scalar summaries.
std::string scalar_event(double wall_time, int64_t step, const std::vector<std::pair<std::string, double>>& scalars);

/// Writes events.out.tfevents.<seconds>.<host>.<pid> for TensorBoard; each call appends and flushes a record.
class TensorBoardWriter {
 public:
  /// @param first_step  of this process; TensorBoard drops what an interrupted run wrote at or after it
  /// @throws Error(kFile)
  TensorBoardWriter(const std::string& folder, int64_t first_step);
  void scalars(int64_t step, const std::vector<std::pair<std::string, double>>& values);

 private:
  void append(const std::string& event);

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace flexor::train
