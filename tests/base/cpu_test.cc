#include "base/cpu.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace longformer {
namespace {

namespace fs = std::filesystem;

// A directory that stands in for "/".
class QuotaCores : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "longformer-cpu-XXXXXX").string();
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

TEST_F(QuotaCores, NothingKnownIsNoQuota) { EXPECT_EQ(quota_cores(root_), 0); }

TEST_F(QuotaCores, Version2RoundsUpAndTakesTheSmallestOnTheWayUp) {
  put("proc/self/cgroup", "0::/a/b\n");
  put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(quota_cores(root_), 0);
  put("sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  EXPECT_EQ(quota_cores(root_), 3);
  put("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota_cores(root_), 1);
}

TEST_F(QuotaCores, Version2ContainerSeesOnlyItsMountPoint) {
  put("proc/self/cgroup", "0::/../outside\n");
  put("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota_cores(root_), 2);
}

TEST_F(QuotaCores, Version1) {
  put("proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/docker/1\n0::/\n");
  put("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "-1\n");
  put("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota_cores(root_), 0);
  put("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(quota_cores(root_), 2);
}

TEST_F(QuotaCores, BrokenFilesAreNoQuota) {
  put("proc/self/cgroup", "0::/\nnonsense\n7:\n");
  for (const char* const text : {"", "x y\n", "0 0\n", "100000 0\n", "-5 100000\n", "100000\n"}) {
    put("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(quota_cores(root_), 0) << text;
  }
}

TEST(CpuInfo, ReadsTheFirstProcessor) {
  const CpuInfo info = parse_cpuinfo(
      "processor\t: 0\nmodel name\t: Made Up CPU @ 2.40GHz\n"
      "flags\t\t: fpu avx avx2 avx512_bf16 avx512f avx512_vnni fma\n\n"
      "processor\t: 1\nmodel name\t: Other\nflags\t\t: amx_tile\n");
  EXPECT_EQ(info.brand, "Made Up CPU @ 2.40GHz");
  EXPECT_EQ(info.features, (std::vector<std::string>{"fma", "avx", "avx2", "avx512f", "avx512_vnni",
                                                     "avx512_bf16"}));
}

TEST(CpuInfo, ReadsArmAndUnknownText) {
  EXPECT_EQ(parse_cpuinfo("Features\t: fp asimd i8mm bf16\n").features,
            (std::vector<std::string>{"asimd", "bf16", "i8mm"}));
  EXPECT_EQ(parse_cpuinfo("").brand, "unknown");
  EXPECT_TRUE(parse_cpuinfo(":::\n\n").features.empty());
}

TEST(CpuInfo, AffinityFollowsTheMask) {
  int narrowed = 0;
  std::thread([&] {
    cpu_set_t all, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &all)) {
        CPU_SET(i, &one);
        break;
      }
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    narrowed = affinity_cores();
  }).join();
  EXPECT_EQ(narrowed, 1);
  EXPECT_GE(cpu_info().affinity_cores, 1);
}

}  // namespace
}  // namespace longformer
