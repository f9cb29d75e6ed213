#include "recap/file_hashes.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <span>
#include <sys/stat.h>
#include <vector>

#include "base/content_hash.h"
#include "base/error.h"
#include "base/str_cat.h"

namespace flexor::recap {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNanoseconds = 1'000'000'000;
constexpr int64_t kFreshNs = kNanoseconds / 5;  // much longer than a tick of the clock that stamps files

std::string hex(uint64_t value) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(value));
  return text.data();
}

int64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

FileHashes::FileHashes(const Json& notes) {
  for (const auto& [path, note] : notes.is_object() ? notes.as_object() : Json::Object{}) {
    if (note.is_array() && note.size() == 3) {
      const Json::Array& parts = note.as_array();
      if (parts[0].is_int() && parts[1].is_int() && parts[2].is_string()) {
        earlier_[path] = {parts[0].as_int(), parts[1].as_int(), parts[2].as_string()};
      }
    }
  }
}

std::string FileHashes::file(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return {};
  }
  Note now{.size = static_cast<int64_t>(info.st_size),
           .mtime_ns = static_cast<int64_t>(info.st_mtim.tv_sec) * kNanoseconds + info.st_mtim.tv_nsec,
           .hash = {}};
  for (const auto* known : {&notes_, &earlier_}) {
    const auto found = known->find(path);
    if (found != known->end() && found->second.size == now.size && found->second.mtime_ns == now.mtime_ns) {
      now.hash = found->second.hash;
    }
  }
  if (now.hash.empty()) {
    now.hash = hex(hash_file(path));
  }
  const std::string hash = now.hash;
  if (now_ns() - now.mtime_ns > kFreshNs) {
    notes_[path] = std::move(now);
  } else {
    notes_.erase(path);
  }
  return hash;
}

std::string FileHashes::folder(const std::string& folder, const std::function<bool(std::string_view)>& takes) {
  std::vector<std::string> names;
  std::error_code code;
  constexpr auto kOptions = fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator entry(folder, kOptions, code), end; !code && entry != end;
       entry.increment(code)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) {
      names.push_back(entry->path().lexically_relative(folder).generic_string());
    }
  }
  if (code && code != std::errc::no_such_file_or_directory && code != std::errc::not_a_directory) {
    throw Error(ErrorKind::kFile, code.message(), folder);
  }
  std::sort(names.begin(), names.end());
  std::string all;
  for (const std::string& name : names) {
    if (!takes || takes(name)) {
      all += str_cat(name, '\n', file(str_cat(folder, "/", name)), '\n');
    }
  }
  return all.empty() ? std::string() : hash_of_text(all);
}

std::string FileHashes::path(const std::string& path) {
  return fs::is_directory(path) ? folder(path) : file(path);
}

Json FileHashes::notes() const {
  Json::Object files;
  for (const auto& [path, note] : notes_) {
    files.emplace_back(path, Json(Json::Array{note.size, note.mtime_ns, note.hash}));
  }
  return files;
}

std::string hash_of_text(std::string_view text) {
  ContentHash hash;
  hash.add(std::as_bytes(std::span(text.data(), text.size())));
  return hex(hash.value());
}

}  // namespace flexor::recap
