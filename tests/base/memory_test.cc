#include "base/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace longformer {
namespace {

namespace fs = std::filesystem;

class MemoryRoomTest : public testing::Test {
 protected:
  MemoryRoomTest() {
    std::string pattern = (fs::temp_directory_path() / "longformer-test-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~MemoryRoomTest() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  fs::path root_;
};

TEST_F(MemoryRoomTest, WhatTheSystemDoesNotTellBoundsNothing) {
  EXPECT_EQ(memory_room(root_).bytes, UINT64_MAX);
  put("proc/self/cgroup", "0::/\nnonsense\n7:\n");
  for (const char* text : {"", "max\n", "-1\n", "x\n", "1 2\n"}) {
    put("sys/fs/cgroup/memory.max", text);
    put("sys/fs/cgroup/memory.current", "5\n");
    put("proc/meminfo", text);
    EXPECT_EQ(memory_room(root_).bytes, UINT64_MAX) << text;
  }
}

TEST_F(MemoryRoomTest, AvailableMemoryNotFreeMemoryNorSwap) {
  put("proc/meminfo",
      "MemTotal:       24000000 kB\nMemFree:          300000 kB\nMemAvailable:    5000000 kB\n"
      "SwapFree:        9000000 kB\n");
  const MemoryRoom room = memory_room(root_);
  EXPECT_EQ(room.bytes, 5'120'000'000u);
  EXPECT_EQ(room.limit, "memory of this machine");
}

TEST_F(MemoryRoomTest, GroupsOfVersion2UpToTheMount) {
  put("proc/meminfo", "MemAvailable: 5000000 kB\n");
  put("proc/self/cgroup", "0::/a/b\n");
  put("sys/fs/cgroup/a/b/memory.max", "max\n");
  put("sys/fs/cgroup/a/b/memory.current", "1000\n");
  EXPECT_EQ(memory_room(root_).bytes, 5'120'000'000u);
  // Pages of files can be taken back; shared and anonymous memory cannot.
  put("sys/fs/cgroup/a/memory.max", "3000000\n");
  put("sys/fs/cgroup/a/memory.current", "2000000\n");
  put("sys/fs/cgroup/a/memory.stat",
      "anon 1000000\nfile 900000\nshmem 100000\n"
      "inactive_file 500000\nactive_file 300000\n");
  EXPECT_EQ(memory_room(root_).bytes, 1800000u);
  EXPECT_EQ(memory_room(root_).limit, "memory limit of the control group");
  put("sys/fs/cgroup/a/b/memory.max", "900\n");  // below what is used
  EXPECT_EQ(memory_room(root_).bytes, 0u);
}

TEST_F(MemoryRoomTest, GroupsOfVersion1) {
  put("proc/self/cgroup", "5:cpuset:/x\n4:memory:/docker/1\n0::/\n");
  put("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "4000000\n");
  put("sys/fs/cgroup/memory/docker/1/memory.usage_in_bytes", "3000000\n");
  put("sys/fs/cgroup/memory/docker/1/memory.stat",
      "inactive_file 1\ntotal_inactive_file 200000\ntotal_active_file 50000\n");
  EXPECT_EQ(memory_room(root_).bytes, 1250000u);
  // The number that stands for no limit.
  put("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_GT(memory_room(root_).bytes, uint64_t{1} << 60);
}

TEST_F(MemoryRoomTest, AddressSpace) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  if (before.rlim_cur != RLIM_INFINITY) GTEST_SKIP() << "this process has a limit of its own";
  put("proc/self/statm", "1000 1 1 1 0 1 0\n");
  rlimit limit = before;
  limit.rlim_cur = rlim_t{1} << 46;  // beyond what sanitizers map
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  const MemoryRoom room = memory_room(root_);
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(room.bytes, (uint64_t{1} << 46) - 1000 * static_cast<uint64_t>(getpagesize()));
}

TEST(MemoryText, Units) {
  EXPECT_EQ(memory_text(41'400'000), "41 MB");
  EXPECT_EQ(memory_text(3'210'000'000), "3.2 GB");
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
