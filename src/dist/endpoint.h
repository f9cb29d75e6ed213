#pragma once
#include <cstdint>
#include <string>

namespace flexor::dist {

/// Whether something listens there; gives up after a second. @param why  set to the reason if not
bool can_connect(const std::string& host, int64_t port, std::string& why);

/// This machine's address on the way to `host`, as numbers ("10.0.0.2"); "" if it cannot be told. Nothing is sent.
std::string address_towards(const std::string& host, int64_t port);

/// Name of this machine.
std::string host_name();

}  // namespace flexor::dist
