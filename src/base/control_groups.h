// The control groups around this process, as /proc/self/cgroup names them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace longformer {

std::string read_text(const std::filesystem::path& path);  // empty where it cannot be read
std::string_view trim(std::string_view text);

enum class GroupVersion { kV1, kV2 };

// A limit counts for everything below it, so visit() sees every directory from the group up to the
// mount point. Inside a container the group's path may not exist below the mount: the mount point
// itself is then the group. `controller` is that of version 1: "cpu", "memory". `root` stands
// before /proc and /sys.
void visit_control_groups(
    const std::filesystem::path& root, std::string_view controller,
    const std::function<void(const std::filesystem::path& group, GroupVersion version)>& visit);

}  // namespace longformer
