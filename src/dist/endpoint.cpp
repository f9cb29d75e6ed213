#include "dist/endpoint.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str_cat.h"

namespace flexor::dist {
namespace {

constexpr int kConnectMs = 1000;

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolve(const std::string& host, int64_t port, int type, std::string& why) {
  addrinfo hints{};
  hints.ai_socktype = type;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) {
    why = str_cat("the name '", host, "' is not known: ", ::gai_strerror(code));
    found = nullptr;
  }
  return {found, &::freeaddrinfo};
}

Socket open_socket(const addrinfo& address, int flags) {
  return Socket(::socket(address.ai_family, address.ai_socktype | flags | SOCK_CLOEXEC, address.ai_protocol));
}

/// 0, or the error number.
int try_connect(const Socket& socket, const addrinfo& address) {
  if (socket.get() < 0) {
    return errno;
  }
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) {
    return 0;
  }
  if (errno != EINPROGRESS) {
    return errno;
  }
  pollfd wanted{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  if (::poll(&wanted, 1, kConnectMs) != 1) {
    return ETIMEDOUT;
  }
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace

std::optional<Socket> connect_to(const std::string& host, int64_t port, std::string& why) {
  const Addresses addresses = resolve(host, port, SOCK_STREAM, why);
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    Socket socket = open_socket(*address, SOCK_NONBLOCK);
    const int error = try_connect(socket, *address);
    if (error == 0) {
      return socket;
    }
    why = std::strerror(error);
  }
  return std::nullopt;
}

std::string address_towards(const std::string& host, int64_t port) {
  std::string ignored;
  const Addresses addresses = resolve(host, port, SOCK_DGRAM, ignored);
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    const Socket socket = open_socket(*address, 0);
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    std::array<char, NI_MAXHOST> text{};
    if (socket.get() >= 0 && ::connect(socket.get(), address->ai_addr, address->ai_addrlen) == 0 &&
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        ::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) ==
            0) {
      return text.data();
    }
  }
  return {};
}

std::string host_name() {
  std::array<char, 256> text{};
  return ::gethostname(text.data(), text.size() - 1) == 0 ? std::string(text.data()) : std::string("unknown");
}

}  // namespace flexor::dist
