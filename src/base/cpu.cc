#include "base/cpu.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include "base/control_groups.h"

namespace longformer {
namespace {

namespace fs = std::filesystem;

// Names as the kernel writes them. x86 first, then ARM.
constexpr std::array<std::string_view, 24> kFeatures = {
    "sse4_1",      "sse4_2",      "f16c",     "fma",      "avx",      "avx2",
    "avx_vnni",    "avx512f",     "avx512dq", "avx512bw", "avx512vl", "avx512_vnni",
    "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8", "asimd",
    "asimdhp",     "asimddp",     "bf16",     "i8mm",     "sve",      "sve2"};

std::optional<double> parse_positive(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return static_cast<double>(value);
}

// cpu.max holds "QUOTA PERIOD" in microseconds, or "max PERIOD".
std::optional<double> quota_v2(const fs::path& group) {
  std::istringstream in(read_text(group / "cpu.max"));
  std::string quota, period;
  if (!(in >> quota >> period)) return std::nullopt;
  const auto q = parse_positive(quota), p = parse_positive(period);
  if (!q || !p) return std::nullopt;
  return *q / *p;
}

std::optional<double> quota_v1(const fs::path& group) {
  const auto q = parse_positive(trim(read_text(group / "cpu.cfs_quota_us")));
  const auto p = parse_positive(trim(read_text(group / "cpu.cfs_period_us")));
  if (!q || !p) return std::nullopt;
  return *q / *p;
}

}  // namespace

CpuInfo parse_cpuinfo(std::string_view text) {
  CpuInfo info;
  info.brand = "unknown";
  std::vector<std::string> present;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) {
      if (!present.empty()) break;  // the blank line after the first processor
      continue;
    }
    const std::string_view key = trim(std::string_view(line).substr(0, colon));
    const std::string_view value = trim(std::string_view(line).substr(colon + 1));
    if (key == "model name" && info.brand == "unknown" && !value.empty()) info.brand = value;
    if (key == "flags" || key == "Features") {
      std::istringstream words{std::string(value)};
      for (std::string word; words >> word;) present.push_back(word);
    }
  }
  for (const std::string_view feature : kFeatures) {
    if (std::find(present.begin(), present.end(), feature) != present.end()) {
      info.features.emplace_back(feature);
    }
  }
  return info;
}

int affinity_cores() noexcept {
  // The kernel refuses a mask that is smaller than its own: grow until it fits.
  for (int cpus = 1024; cpus <= (1 << 20); cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (set == nullptr) break;
    const size_t size = CPU_ALLOC_SIZE(cpus);
    const int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

int quota_cores(const fs::path& root) {
  std::optional<double> smallest;
  visit_control_groups(root, "cpu", [&](const fs::path& group, GroupVersion version) {
    const auto cores = version == GroupVersion::kV2 ? quota_v2(group) : quota_v1(group);
    if (cores && (!smallest || *cores < *smallest)) smallest = cores;
  });
  if (!smallest) return 0;
  return static_cast<int>(std::clamp(std::ceil(*smallest), 1.0, 1e6));
}

CpuInfo cpu_info() {
  CpuInfo info = parse_cpuinfo(read_text("/proc/cpuinfo"));
  info.affinity_cores = affinity_cores();
  info.quota_cores = quota_cores();
  return info;
}

}  // namespace longformer
