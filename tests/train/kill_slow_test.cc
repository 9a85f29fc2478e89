// Processes that are killed while they train, half of them inside a save: whoever goes on ends with
// the same bytes. LONGFORMER_TEST_KILLS says how many runs (10).
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/random.h"
#include "io/files.h"
#include "train/memory_directory.h"
#include "train/recorded_calls.h"
#include "train/tiny_task.h"
#include "train/trainer.h"

namespace longformer::train {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSeed = 20240607;
constexpr int64_t kSteps = 60;

// The system's calls, and the end of the process instead of call number n.
class DeadlyCalls final : public SystemCalls {
 public:
  explicit DeadlyCalls(int64_t calls) : left_(calls) {}
  int open(const char* path, int flags, mode_t mode) override {
    count();
    return SystemCalls::open(path, flags, mode);
  }
  ssize_t write(int file, const void* data, size_t size) override {
    count();
    // Also in the middle of a file.
    return SystemCalls::write(file, data, std::min<size_t>(size, 200));
  }
  int fsync(int file) override {
    count();
    return SystemCalls::fsync(file);
  }
  int rename(const char* from, const char* to) override {
    count();
    return SystemCalls::rename(from, to);
  }
  int remove(const char* path) override {
    count();
    return SystemCalls::remove(path);
  }

 private:
  void count() {
    if (left_ >= 0 && left_-- == 0) kill(getpid(), SIGKILL);
  }
  int64_t left_;
};

struct Child {
  int64_t calls = -1;         // that it makes before it dies; -1: as many as it wants
  int64_t microseconds = -1;  // after which it is killed; -1: never
};

TrainerSettings settings_of(const fs::path& directory, SystemCalls& calls) {
  TrainerSettings settings;
  settings.options.learning_rate = 0.02;
  settings.options.max_steps = kSteps;
  settings.options.per_device_train_batch_size = 3;
  settings.options.gradient_accumulation_steps = 2;
  settings.options.warmup_steps = 5;
  settings.options.weight_decay = 0.01;
  settings.options.save_steps = 3;
  settings.options.logging_steps = 2;
  settings.options.eval_steps = 4;
  settings.options.outlier_zscore = 6;
  settings.directory = directory;
  settings.start = RunStart::kContinue;
  settings.calls = &calls;
  return settings;
}

// Trains in a process of its own. Returns whether it came to the end of the training.
bool run_child(const fs::path& directory, const Child& child) {
  const pid_t process = fork();
  if (process == 0) {
    try {
      DeadlyCalls calls(child.calls);
      test::TinyTask task;
      task.sleep_microseconds = child.microseconds >= 0 ? 200 : 0;
      ThreadPool pool(2);
      train(task, settings_of(directory, calls), pool);
      io::write_file_atomic(directory / "final.bin", test::weight_bytes(task.parameters()));
      _exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
      _exit(9);
    }
  }
  if (child.microseconds >= 0) {
    usleep(static_cast<useconds_t>(child.microseconds));
    kill(process, SIGKILL);
  }
  int status = 0;
  waitpid(process, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << "a child failed";
  return WIFEXITED(status);
}

// Whatever moment it was: what is there can be read.
void expect_readable(const fs::path& directory) {
  if (!fs::exists(directory)) return;
  RunDirectory run(directory, RunStart::kContinue, real_system_calls());
  const auto step = run.newest_valid(
      [](const std::string& notice) { ADD_FAILURE() << "damaged by a kill: " << notice; });
  if (step) {
    EXPECT_EQ(read_state(run.checkpoint(*step)).step, *step);
  }
}

TEST(Kill, TheWeightsAreThoseOfAnUninterruptedRun) {
  const char* const runs_text = std::getenv("LONGFORMER_TEST_KILLS");
  const int64_t runs = runs_text != nullptr ? std::atoll(runs_text) : 10;
  const test::MemoryDirectory directory;
  ASSERT_TRUE(run_child(directory.path() / "whole", {}));
  const std::string expected = io::read_file(directory.path() / "whole" / "final.bin", 1 << 20);
  const std::string log = io::read_file(directory.path() / "whole" / "metrics.jsonl", 1 << 20);
  int64_t kills = 0, inside_saves = 0;
  for (int64_t r = 0; r < runs; ++r) {
    const fs::path run = directory.path() / ("run" + std::to_string(r));
    for (int64_t k = 0; k < 3; ++k) {
      const auto index = static_cast<uint64_t>(10 * r + k);
      const bool inside = (r + k) % 2 == 0;
      Child child;
      if (inside) {
        child.calls = static_cast<int64_t>(random_bits(kSeed, index) % 700);
      } else {
        child.microseconds = static_cast<int64_t>(random_bits(kSeed, index) % 60'000);
      }
      const bool ended = run_child(run, child);
      kills += ended ? 0 : 1;
      inside_saves += !ended && inside ? 1 : 0;
      expect_readable(run);
    }
    ASSERT_TRUE(run_child(run, {}));
    ASSERT_EQ(io::read_file(run / "final.bin", 1 << 20), expected) << "run " << r;
    const std::string other = io::read_file(run / "metrics.jsonl", 1 << 20);
    EXPECT_EQ(std::count(other.begin(), other.end(), '\n'),
              std::count(log.begin(), log.end(), '\n'));
    fs::remove_all(run);
  }
  EXPECT_GE(kills, runs);
  EXPECT_GE(inside_saves, runs / 2);
  std::printf("%lld runs, %lld kills, %lld of them inside a save\n", static_cast<long long>(runs),
              static_cast<long long>(kills), static_cast<long long>(inside_saves));
}

}  // namespace
}  // namespace longformer::train
