#include "base/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>

namespace longformer {
namespace {

void wait(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

class Profile : public ::testing::Test {
 protected:
  void SetUp() override {
    take_profile();
    set_profiling(true);
  }
  void TearDown() override { set_profiling(false); }
};

TEST_F(Profile, CountsNothingWhileOff) {
  set_profiling(false);
  { const ProfileScope scope({"off"}, 5.0); }
  EXPECT_TRUE(take_profile().empty());
  // A scope counts by what holds at its beginning.
  {
    const ProfileScope scope({"off"});
    set_profiling(true);
  }
  EXPECT_TRUE(take_profile().empty());
  {
    const ProfileScope scope({"on"});
    set_profiling(false);
  }
  EXPECT_EQ(take_profile().size(), 1u);
}

TEST_F(Profile, JoinsEqualKeysAndSortsByTime) {
  const std::string copy = "short";  // the same text at another place
  for (int i = 0; i < 3; ++i) const ProfileScope scope({"short", {2, 3, 4}, "f32", "fast"}, 48.0);
  { const ProfileScope scope({copy.c_str(), {2, 3, 4}, "f32", "fast"}, 48.0); }
  {
    const ProfileScope scope({"long", {7}});
    wait(0.02);
  }
  { const ProfileScope scope({"short", {2, 3, 4}, "bf16", "fast"}, 48.0); }
  const std::vector<ProfileLine> lines = take_profile();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].operation, "long");
  EXPECT_EQ(lines[0].shape, "7");
  EXPECT_EQ(lines[0].implementation, "");
  EXPECT_EQ(lines[0].calls, 1u);
  EXPECT_GE(lines[0].seconds, 0.02);
  EXPECT_EQ(lines[0].flop, 0.0);
  EXPECT_GE(lines[1].seconds, lines[2].seconds);
  const auto f32 = std::find_if(lines.begin(), lines.end(), [](const ProfileLine& line) {
    return line.shape == "2 x 3 x 4 f32";
  });
  ASSERT_NE(f32, lines.end());
  EXPECT_EQ(f32->operation, "short");
  EXPECT_EQ(f32->implementation, "fast");
  EXPECT_EQ(f32->calls, 4u);
  EXPECT_EQ(f32->flop, 4 * 48.0);
  EXPECT_TRUE(take_profile().empty()) << "taken twice";
}

TEST_F(Profile, AnInnerScopeTakesItsTimeFromTheOuterOne) {
  const auto start = std::chrono::steady_clock::now();
  {
    const ProfileScope outer({"outer"});
    wait(0.005);
    {
      const ProfileScope middle({"middle"});
      const ProfileScope inner({"inner"});
      wait(0.03);
    }
    { const ProfileScope inner({"inner"}); }
  }
  const double all =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::vector<ProfileLine> lines = take_profile();
  ASSERT_EQ(lines.size(), 3u);
  double sum = 0.0;
  for (const ProfileLine& line : lines) {
    sum += line.seconds;
    if (line.operation == "outer") {
      EXPECT_GE(line.seconds, 0.005);
    }
    if (line.operation == "inner") {
      EXPECT_EQ(line.calls, 2u);
      EXPECT_GE(line.seconds, 0.03);
    }
  }
  EXPECT_LE(sum, all) << "counted twice";
}

TEST_F(Profile, ThreadsAddUpWhileTheyRunAndAfterwards) {
  const auto work = [] {
    for (int i = 0; i < 1000; ++i) const ProfileScope scope({"work"}, 2.0);
  };
  std::thread first(work);
  std::thread second(work);
  uint64_t calls = 0;
  double flop = 0.0;
  const auto take = [&] {
    for (const ProfileLine& line : take_profile()) {
      calls += line.calls;
      flop += line.flop;
    }
  };
  for (int i = 0; i < 20; ++i) take();  // while they run
  first.join();
  second.join();
  work();
  take();
  EXPECT_EQ(calls, 3000u);
  EXPECT_EQ(flop, 6000.0);
}

}  // namespace
}  // namespace longformer
