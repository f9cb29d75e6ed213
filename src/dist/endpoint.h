#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "dist/socket.h"

namespace flexor::dist {

/// A connection whose calls do not block; gives up after a second. @param why  set to the reason if there is none
std::optional<Socket> connect_to(const std::string& host, int64_t port, std::string& why);

/// This machine's address on the way to `host`, as numbers ("10.0.0.2"); "" if it cannot be told. Nothing is sent.
std::string address_towards(const std::string& host, int64_t port);

/// Name of this machine.
std::string host_name();

}  // namespace flexor::dist
