#include "base/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/control_groups.h"

namespace longformer {
namespace {

namespace fs = std::filesystem;

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  text = trim(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The number behind `key` in lines of "KEY VALUE …".
std::optional<uint64_t> field(const std::string& text, std::string_view key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word, value;
    if (words >> word >> value && word == key) return number(value);
  }
  return std::nullopt;
}

uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

// What a group may still take: pages of files that count as its use can be taken back.
std::optional<uint64_t> group_room(const fs::path& group, GroupVersion version) {
  const bool v2 = version == GroupVersion::kV2;
  const auto limit = number(read_text(group / (v2 ? "memory.max" : "memory.limit_in_bytes")));
  if (!limit) return std::nullopt;  // "max", or no such controller
  const auto use = number(read_text(group / (v2 ? "memory.current" : "memory.usage_in_bytes")));
  if (!use) return std::nullopt;
  const std::string stat = read_text(group / "memory.stat");
  uint64_t files = 0;
  for (const char* key : {"inactive_file", "active_file"}) {
    files += field(stat, std::string(v2 ? "" : "total_") + key).value_or(0);
  }
  return minus(*limit, minus(*use, files));
}

std::optional<uint64_t> address_room(const fs::path& root) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  std::istringstream in(read_text(root / "proc/self/statm"));
  uint64_t pages = 0;
  if (!(in >> pages)) return std::nullopt;
  return minus(limit.rlim_cur, pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
}

// Of a line "NAME: NUMBER kB".
uint64_t status_bytes(std::string_view name) {
  return field(read_text("/proc/self/status"), name).value_or(0) * 1024;
}

}  // namespace

uint64_t resident_bytes() { return status_bytes("VmRSS:"); }

uint64_t peak_resident_bytes() { return status_bytes("VmHWM:"); }

bool reset_peak_resident() {
  std::ofstream out("/proc/self/clear_refs");
  out << "5";
  out.close();
  return out.good();
}

MemoryRoom memory_room(const fs::path& root) {
  MemoryRoom room;
  const auto bound = [&room](std::optional<uint64_t> bytes, const char* limit) {
    if (bytes && *bytes < room.bytes) room = {*bytes, limit};
  };
  if (const auto kilobytes = field(read_text(root / "proc/meminfo"), "MemAvailable:")) {
    bound(*kilobytes * 1024, "memory of this machine");
  }
  visit_control_groups(root, "memory", [&](const fs::path& group, GroupVersion version) {
    bound(group_room(group, version), "memory limit of the control group");
  });
  bound(address_room(root), "limit of the address space, ulimit -v");
  return room;
}

std::string memory_text(uint64_t bytes) {
  const double megabytes = static_cast<double>(bytes) / 1e6;
  char text[32];
  if (megabytes < 1000) {
    std::snprintf(text, sizeof text, "%.0f MB", megabytes);
  } else if (megabytes < 1e6) {
    std::snprintf(text, sizeof text, "%.1f GB", megabytes / 1000);
  } else {
    std::snprintf(text, sizeof text, "%.1f TB", megabytes / 1e6);
  }
  return text;
}

}  // namespace longformer
