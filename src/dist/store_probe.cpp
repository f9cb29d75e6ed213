#include "dist/store_probe.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

#include <torch/csrc/distributed/c10d/TCPStoreBackend.hpp>

namespace flexor::dist {
namespace {

constexpr uint32_t kNonce = 0x0F1E70A5;
constexpr size_t kWord = sizeof kNonce;

/// VALIDATE with its magic number, which has no answer, and PING, whose answer is the nonce.
std::array<uint8_t, 2 * (1 + kWord)> store_question() {
  std::array<uint8_t, 2 * (1 + kWord)> bytes{};
  const auto put = [&](size_t at, c10d::detail::QueryType type, uint32_t word) {
    bytes[at] = static_cast<uint8_t>(type);
    std::memcpy(&bytes[at + 1], &word, kWord);
  };
  put(0, c10d::detail::QueryType::VALIDATE, c10d::detail::validationMagicNumber);
  put(1 + kWord, c10d::detail::QueryType::PING, kNonce);
  return bytes;
}

}  // namespace

StoreProbe::StoreProbe(Socket socket) : socket_(std::move(socket)) {
  const auto bytes = store_question();  // a fresh connection has room for ten bytes
  is_sent_ = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

StoreAnswer StoreProbe::answer(int wait_ms) {
  if (!is_sent_) {
    return StoreAnswer::kClosed;
  }
  pollfd wanted{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&wanted, 1, wait_ms) != 1) {
    return StoreAnswer::kNone;
  }
  std::array<uint8_t, kWord> bytes{};
  const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
    return StoreAnswer::kNone;
  }
  if (count <= 0) {
    return StoreAnswer::kClosed;
  }
  const bool is_ours = std::memcmp(bytes.data(), &kNonce, static_cast<size_t>(count)) == 0;
  return is_ours ? StoreAnswer::kStore : StoreAnswer::kOther;
}

}  // namespace flexor::dist
