// What the processor offers and how much of it this process may use.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace longformer {

struct CpuInfo {
  std::string brand;  // e.g. "Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", or "unknown"
  std::vector<std::string>
      features;            // those that matter here, in a fixed order: "avx2", "avx512f", ...
  int affinity_cores = 1;  // logical processors in the affinity mask
  int quota_cores = 0;     // cgroup CPU quota rounded up; 0: no quota
};

CpuInfo cpu_info();

// Fills brand and features from text in the form of /proc/cpuinfo (first processor).
CpuInfo parse_cpuinfo(std::string_view text);

// Logical processors in the calling thread's affinity mask, at least 1.
int affinity_cores() noexcept;

// The smallest CPU quota of the control groups around this process (version 2 cpu.max, version 1
// cfs quota), in cores and rounded up; 0 where there is none. `root` stands before /proc and /sys,
// for tests.
int quota_cores(const std::filesystem::path& root = "/");

}  // namespace longformer
