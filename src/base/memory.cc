#include "base/memory.h"

#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace longformer {
namespace {

namespace fs = std::filesystem;

// Files of one version of control groups: the limit, what is used, and the line of memory.stat
// with the page cache that the kernel drops first.
struct GroupFiles {
  const char* limit;
  const char* used;
  const char* droppable;
};
constexpr GroupFiles kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                  "total_inactive_file"};
constexpr GroupFiles kVersion2 = {"memory.max", "memory.current", "inactive_file"};

// The number behind `name` in lines "NAME VALUE …".
std::optional<uint64_t> find_number(const fs::path& path, std::string_view name) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string word;
    uint64_t value = 0;
    if (words >> word && word == name && words >> value) return value;
  }
  return std::nullopt;
}

// A file of one number; "max" is none.
std::optional<uint64_t> read_number(const fs::path& path) {
  std::ifstream in(path);
  std::string word;
  uint64_t value = 0;
  if (!(in >> word)) return std::nullopt;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

void take_smaller(std::optional<uint64_t>& smallest, std::optional<uint64_t> value) {
  if (value && (!smallest || *value < *smallest)) smallest = value;
}

std::optional<uint64_t> left_in_group(const fs::path& group, const GroupFiles& files) {
  const auto limit = read_number(group / files.limit);
  const auto used = read_number(group / files.used);
  if (!limit || !used) return std::nullopt;
  const uint64_t droppable = find_number(group / "memory.stat", files.droppable).value_or(0);
  const uint64_t held = *used > droppable ? *used - droppable : 0;
  return *limit > held ? *limit - held : 0;
}

// A limit counts for everything below it. Inside a container the group's path may not exist below
// the mount: the mount point itself is then the group.
std::optional<uint64_t> left_on_the_way_up(const fs::path& mount, const std::string& group,
                                           const GroupFiles& files) {
  std::optional<uint64_t> smallest;
  fs::path relative = fs::path(group).relative_path();
  for (const fs::path& part : relative) {
    if (part == "..") {
      relative.clear();
      break;
    }
  }
  for (;; relative = relative.parent_path()) {
    take_smaller(smallest, left_in_group(mount / relative, files));
    if (relative.empty()) return smallest;
  }
}

std::optional<uint64_t> left_by_groups(const fs::path& root) {
  std::optional<uint64_t> smallest;
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {  // "ID:CONTROLLERS:PATH"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      take_smaller(smallest, left_on_the_way_up(root / "sys/fs/cgroup", group, kVersion2));
    } else if (controllers == "memory") {
      take_smaller(smallest, left_on_the_way_up(root / "sys/fs/cgroup/memory", group, kVersion1));
    }
  }
  return smallest;
}

uint64_t status_bytes(std::string_view field) {
  return find_number("/proc/self/status", field).value_or(0) * 1024;  // the file counts in kB
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

std::optional<uint64_t> available_memory(const fs::path& root) {
  std::optional<uint64_t> smallest = left_by_groups(root);
  if (const auto kilobytes = find_number(root / "proc/meminfo", "MemAvailable:")) {
    take_smaller(smallest, *kilobytes * 1024);
  }
  return smallest;
}

}  // namespace longformer
