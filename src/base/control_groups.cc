#include "base/control_groups.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace longformer {
namespace {

namespace fs = std::filesystem;

bool lists(std::string_view controllers, std::string_view controller) {
  while (!controllers.empty()) {
    const size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == controller) return true;
    if (comma == std::string_view::npos) return false;
    controllers.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

void visit_control_groups(
    const fs::path& root, std::string_view controller,
    const std::function<void(const fs::path& group, GroupVersion version)>& visit) {
  const auto upwards = [&](const fs::path& mount, const std::string& group, GroupVersion version) {
    fs::path relative = fs::path(group).relative_path();
    if (std::find(relative.begin(), relative.end(), "..") != relative.end()) relative.clear();
    for (;; relative = relative.parent_path()) {
      visit(mount / relative, version);
      if (relative.empty()) return;
    }
  };
  std::istringstream lines(read_text(root / "proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {  // "ID:CONTROLLERS:PATH"
    const size_t first = line.find(':');
    if (first == std::string::npos) continue;
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    const fs::path mounts = root / "sys/fs/cgroup";
    if (controllers.empty()) {
      upwards(mounts, group, GroupVersion::kV2);
    } else if (lists(controllers, controller)) {
      const bool own = fs::exists(mounts / controllers);
      upwards(mounts / (own ? controllers : std::string(controller)), group, GroupVersion::kV1);
    }
  }
}

}  // namespace longformer
