#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "dist/hostfile.h"

namespace flexor::dist {

/// What this machine is called.
struct LocalHost {
  std::vector<std::string> names;      ///< host name, its first part, its canonical name, "localhost"
  std::vector<std::string> addresses;  ///< of its interfaces, IPv4 and IPv6, as text
};

LocalHost local_host();

/// Addresses of a name by /etc/hosts and the system's resolver, as text; nothing for a name that is not known.
std::vector<std::string> resolve_host(const std::string& name);
using Resolver = std::function<std::vector<std::string>(const std::string& name)>;

/// Which of the hosts this machine is: by name (without domain where one side has none), by address, or by a name that
/// resolves to one of its addresses.
/// @param where  what errors name, usually the hostfile
/// @throws Error(kConfig) if none is, with the names and addresses that were tried, or if several are
size_t find_local_host(const std::vector<HostSlots>& hosts, const LocalHost& local, const Resolver& resolver,
                       const std::string& where);

}  // namespace flexor::dist
