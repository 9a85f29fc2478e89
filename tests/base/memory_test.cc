#include "base/memory.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <string>

namespace longformer {
namespace {

namespace fs = std::filesystem;

// A directory that stands in for "/".
class AvailableMemory : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "longformer-memory-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  fs::path root_;
};

TEST_F(AvailableMemory, NothingKnownIsNothing) { EXPECT_FALSE(available_memory(root_)); }

TEST_F(AvailableMemory, TheMachineAlone) {
  put("proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\nMemAvailable:    1000 kB\n");
  EXPECT_EQ(available_memory(root_), 1000u * 1024);
}

TEST_F(AvailableMemory, Version2TakesTheSmallestOnTheWayUp) {
  put("proc/meminfo", "MemAvailable: 1000 kB\n");
  put("proc/self/cgroup", "0::/a/b\n");
  put("sys/fs/cgroup/a/b/memory.max", "max\n");
  put("sys/fs/cgroup/a/b/memory.current", "5000\n");
  EXPECT_EQ(available_memory(root_), 1000u * 1024);
  put("sys/fs/cgroup/a/memory.max", "90000\n");
  put("sys/fs/cgroup/a/memory.current", "50000\n");
  EXPECT_EQ(available_memory(root_), 40000u);
  put("sys/fs/cgroup/a/memory.stat", "active_file 7\ninactive_file 10000\n");
  EXPECT_EQ(available_memory(root_), 50000u);
  put("sys/fs/cgroup/a/memory.current", "100001\n");
  EXPECT_EQ(available_memory(root_), 0u);
}

TEST_F(AvailableMemory, Version1AndAGroupOfAnotherNamespace) {
  put("proc/self/cgroup", "5:cpuset:/x\n4:memory:/../outside\n0::/\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("sys/fs/cgroup/memory/memory.usage_in_bytes", "4096\n");
  EXPECT_EQ(available_memory(root_), 9223372036854771712u - 4096u);
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "10000\n");
  put("sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 96\n");
  EXPECT_EQ(available_memory(root_), 6000u);
}

TEST(ResidentMemory, FollowsWhatIsTouched) {
  constexpr size_t kBytes = 64u << 20;
  reset_peak_resident();
  const uint64_t before = resident_bytes();
  ASSERT_GT(before, 0u);
  // Pages of the system, which go back at once; a heap may keep them.
  void* const block =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  std::memset(block, 1, kBytes);
  EXPECT_GE(resident_bytes(), before + kBytes / 2);
  munmap(block, kBytes);
  EXPECT_LT(resident_bytes(), before + kBytes / 2);
  EXPECT_GE(peak_resident_bytes(), before + kBytes / 2);
  if (reset_peak_resident()) {
    EXPECT_LT(peak_resident_bytes(), before + kBytes / 2);
  }
}

}  // namespace
}  // namespace longformer
