#include "dist/local_host.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cctype>
#include <climits>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::dist {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string address_text(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address->sa_family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  } else if (address->sa_family == AF_INET6) {
    bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  }
  const bool is_known = bytes != nullptr && ::inet_ntop(address->sa_family, bytes, text.data(), text.size()) != nullptr;
  return is_known ? std::string(text.data()) : std::string();
}

void add_new(std::vector<std::string>& list, const std::string& text) {
  if (!text.empty() && std::ranges::find(list, text) == list.end()) {
    list.push_back(text);
  }
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

std::string first_part(const std::string& name) {
  return name.substr(0, name.find('.'));
}

bool has_domain(const std::string& name) {
  return name.find('.') != std::string::npos;
}

/// "node1" is "node1.cluster", and the other way round where this machine does not know its domain.
bool is_name_of(const std::string& host, const std::vector<std::string>& names) {
  const bool compares_whole = has_domain(host) && std::ranges::any_of(names, has_domain);
  return std::ranges::any_of(names, [&](const std::string& name) {
    return compares_whole ? lower(name) == lower(host) : lower(first_part(name)) == lower(first_part(host));
  });
}

bool has(const std::vector<std::string>& list, const std::string& text) {
  return std::ranges::find(list, text) != list.end();
}

bool is_local(const std::string& host, const LocalHost& local, const Resolver& resolver) {
  if (is_address(host)) {
    return has(local.addresses, lower(host));
  }
  if (is_name_of(host, local.names)) {
    return true;
  }
  return std::ranges::any_of(resolver(host), [&](const std::string& address) { return has(local.addresses, address); });
}

}  // namespace

std::vector<std::string> resolve_host(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::vector<std::string> addresses;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) {
    return addresses;
  }
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    add_new(addresses, address_text(entry->ai_addr));
  }
  ::freeaddrinfo(found);
  return addresses;
}

LocalHost local_host() {
  LocalHost local;
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) {
    add_new(local.names, name.data());
    add_new(local.names, first_part(name.data()));
    addrinfo hints{};
    hints.ai_flags = AI_CANONNAME;
    if (addrinfo* found = nullptr; ::getaddrinfo(name.data(), nullptr, &hints, &found) == 0) {
      add_new(local.names, found->ai_canonname != nullptr ? found->ai_canonname : "");
      ::freeaddrinfo(found);
    }
  }
  add_new(local.names, "localhost");
  if (ifaddrs* interfaces = nullptr; ::getifaddrs(&interfaces) == 0) {
    for (const ifaddrs* entry = interfaces; entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_addr != nullptr) {
        add_new(local.addresses, address_text(entry->ifa_addr));
      }
    }
    ::freeifaddrs(interfaces);
  }
  return local;
}

size_t find_local_host(const std::vector<HostSlots>& hosts, const LocalHost& local, const Resolver& resolver,
                       const std::string& where) {
  std::vector<size_t> found;
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (is_local(hosts[i].host, local, resolver)) {
      found.push_back(i);
    }
  }
  if (found.size() == 1) {
    return found[0];
  }
  if (found.empty()) {
    throw Error(ErrorKind::kConfig,
                str_cat("this machine is none of the hosts; its names are ", join_text(local.names, ", "),
                        ", its addresses ", join_text(local.addresses, ", ")),
                where, "add a line for it, or say which line it is: --node-rank 0 for the first");
  }
  throw Error(ErrorKind::kConfig,
              str_cat("two hosts are this machine: '", hosts[found[0]].host, "' and '", hosts[found[1]].host, "'"),
              where, "one line for each host; or say which line this process stands for: --node-rank 0 for the first");
}

}  // namespace flexor::dist
