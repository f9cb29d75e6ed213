#include "train/tensorboard.h"

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <unistd.h>

#include "base/file_errors.h"
#include "base/str_cat.h"

namespace flexor::train {

namespace {

/// Reflected polynomial of CRC-32C.
constexpr std::array<uint32_t, 256> kTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value >> 1) ^ ((value & 1U) != 0 ? 0x82F63B78U : 0U);
    }
    table[i] = value;
  }
  return table;
}();

template <typename T>
void put_little_endian(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    out.push_back(static_cast<char>((value >> (8 * i)) & 0xFF));
  }
}

// Protocol buffers' wire format: a key is (field << 3 | type) with type 0 varint, 1 eight bytes, 2 bytes, 5 four bytes.
void put_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}
void put_key(std::string& out, int field, int type) {
  put_varint(out, static_cast<uint64_t>(field << 3 | type));
}
void put_bytes(std::string& out, int field, std::string_view bytes) {
  put_key(out, field, 2);
  put_varint(out, bytes.size());
  out += bytes;
}
void put_double(std::string& out, int field, double value) {
  put_key(out, field, 1);
  put_little_endian(out, std::bit_cast<uint64_t>(value));
}
void put_float(std::string& out, int field, float value) {
  put_key(out, field, 5);
  put_little_endian(out, std::bit_cast<uint32_t>(value));
}
void put_int(std::string& out, int field, int64_t value) {
  put_key(out, field, 0);
  put_varint(out, static_cast<uint64_t>(value));
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string event_path(const std::string& folder) {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0') {
    std::strcpy(host.data(), "localhost");
  }
  return str_cat(folder, "/events.out.tfevents.", static_cast<int64_t>(now()), ".", host.data(), ".", getpid());
}

}  // namespace

uint32_t masked_crc32c(std::string_view bytes) {
  uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) {
    crc = kTable[(crc ^ static_cast<uint8_t>(c)) & 0xFFU] ^ (crc >> 8);
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

std::string tf_record(std::string_view bytes) {
  std::string record;
  put_little_endian(record, static_cast<uint64_t>(bytes.size()));
  put_little_endian(record, masked_crc32c(record));
  record += bytes;
  put_little_endian(record, masked_crc32c(bytes));
  return record;
}

// tensorflow.Event: 1 wall_time, 2 step, 3 file_version, 5 summary, 7 session_log; Summary: 1 value; Value: 1 tag,
// 2 simple_value; SessionLog: 1 status.
std::string scalar_event(double wall_time, int64_t step, const std::vector<std::pair<std::string, double>>& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    std::string entry;
    put_bytes(entry, 1, tag);
    put_float(entry, 2, static_cast<float>(value));
    put_bytes(summary, 1, entry);
  }
  std::string event;
  put_double(event, 1, wall_time);
  put_int(event, 2, step);
  put_bytes(event, 5, summary);
  return event;
}

TensorBoardWriter::TensorBoardWriter(const std::string& folder, int64_t first_step)
    : path_(event_path(folder)), file_(std::fopen(path_.c_str(), "wb"), &std::fclose) {
  if (file_ == nullptr) {
    throw_file_error("cannot write the file", path_, errno);
  }
  std::string version;
  put_double(version, 1, now());
  put_bytes(version, 3, "brain.Event:2");
  append(version);
  if (first_step > 0) {
    std::string session;
    put_int(session, 1, 1);  // START: what was written from this step on is void
    std::string start;
    put_double(start, 1, now());
    put_int(start, 2, first_step);
    put_bytes(start, 7, session);
    append(start);
  }
}

void TensorBoardWriter::scalars(int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  append(scalar_event(now(), step, values));
}

void TensorBoardWriter::append(const std::string& event) {
  const std::string record = tf_record(event);
  if (std::fwrite(record.data(), 1, record.size(), file_.get()) != record.size() || std::fflush(file_.get()) != 0) {
    throw_file_error("cannot write the file", path_, errno);
  }
}

}  // namespace flexor::train
