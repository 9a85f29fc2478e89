// Checkpoints on a disk that fails in every way we can think of.
#include "train/run_directory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "io/files.h"
#include "support/expect_error.h"
#include "train/memory_directory.h"
#include "train/recorded_calls.h"
#include "train/tiny_task.h"

namespace longformer::train {
namespace {

namespace fs = std::filesystem;
using test::expect_error;

void ignore(const std::string&) {}

class RunDirectoryTest : public testing::Test {
 protected:
  RunDirectoryTest() : optimizer_(make_optimizer({}, task_.parameters())), pool_(1) {}

  fs::path run() const { return directory_.path() / "run"; }

  // The content of `step`: weights that tell it.
  CheckpointContent content(int64_t step) {
    task_.parameters().at("out.bias").value[0] = static_cast<float>(step);
    task_.parameters().clear_gradients(pool_);
    optimizer_->step(task_.parameters(), {0, 1}, pool_);
    state_.step = step;
    state_.optimizer_steps = optimizer_->steps();
    state_.options = {{"seed", 42}};
    state_.identity = "a\nb";
    return {task_.parameters(), *optimizer_, state_, "0.1"};
  }

  void save(RunDirectory& directory, int64_t step, const KeepRule& keep = {}) {
    EXPECT_EQ(directory.save(content(step), keep), "");
  }

  static std::vector<std::string> names(const fs::path& path) {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(path)) {
      found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  // The step whose weights a new process would continue with; -1: none.
  int64_t found_step(const fs::path& path, std::string* notices = nullptr) {
    RunDirectory directory(path, RunStart::kContinue, real_system_calls());
    const auto step = directory.newest_valid([&](const std::string& notice) {
      if (notices != nullptr) *notices += notice + "\n";
    });
    if (!step) return -1;
    TinyTask other;
    read_weights(directory.checkpoint(*step), other.parameters());
    EXPECT_EQ(read_state(directory.checkpoint(*step)).step, *step);
    EXPECT_EQ(other.parameters().at("out.bias").value[0], static_cast<float>(*step));
    return *step;
  }

  using TinyTask = test::TinyTask;
  test::MemoryDirectory directory_;
  TinyTask task_;
  std::unique_ptr<Optimizer> optimizer_;
  TrainingState state_;
  ThreadPool pool_;
};

TEST_F(RunDirectoryTest, WhatIsSavedIsReadAgain) {
  RunDirectory directory(run(), RunStart::kNew, real_system_calls());
  EXPECT_EQ(directory.newest_valid(ignore), std::nullopt);
  state_.best = BestModel{0.1, 3};
  state_.metrics = {{"loss", 1.0 / 3}, {"odd", std::nan("")}};
  state_.position = {2, 17};
  state_.loss_window = {0.1, 1e-300};
  save(directory, 5);
  EXPECT_EQ(names(run()), (std::vector<std::string>{"LATEST", "LOCK", "step-5"}));
  EXPECT_EQ(names(run() / "step-5"),
            (std::vector<std::string>{"MANIFEST.json", "optimizer.safetensors", "state.json",
                                      "weights.safetensors"}));
  EXPECT_EQ(io::read_file(run() / "LATEST", 100), "step-5\n");
  EXPECT_EQ(directory.newest_valid(ignore), 5);

  TinyTask other;
  const auto optimizer = make_optimizer({}, other.parameters());
  const TrainingState state = read_state(directory.checkpoint(5));
  read_weights(directory.checkpoint(5), other.parameters());
  read_optimizer(directory.checkpoint(5), *optimizer, state);
  EXPECT_EQ(test::weight_bytes(other.parameters()), test::weight_bytes(task_.parameters()));
  EXPECT_EQ(optimizer->steps(), optimizer_->steps());
  EXPECT_EQ(state_json(state).dump(), state_json(state_).dump());
  EXPECT_EQ(state.loss_window, state_.loss_window);
  EXPECT_TRUE(std::isnan(state.metrics.at("odd")));
}

TEST_F(RunDirectoryTest, KeepsTheNewestAndTheBest) {
  RunDirectory directory(run(), RunStart::kNew, real_system_calls());
  for (const int64_t step : {1, 2, 3, 4, 10}) save(directory, step, {.limit = 2, .best = 2});
  EXPECT_EQ(directory.steps(), (std::vector<int64_t>{2, 4, 10}));
  save(directory, 11, {.limit = 1, .best = 11});
  EXPECT_EQ(directory.steps(), (std::vector<int64_t>{11}));
  save(directory, 12);
  save(directory, 13);
  EXPECT_EQ(directory.steps(), (std::vector<int64_t>{11, 12, 13}));
}

TEST_F(RunDirectoryTest, NewIsRefusedWhereATrainingIs) {
  {
    RunDirectory directory(run(), RunStart::kNew, real_system_calls());
    save(directory, 1);
  }
  expect_error(ErrorCode::kInvalidArgument, {run().string(), "holds a training already"},
               [&] { RunDirectory(run(), RunStart::kNew, real_system_calls()); });
  EXPECT_EQ(found_step(run()), 1);
}

TEST_F(RunDirectoryTest, WhatIsNoTrainingHereIsLeftAlone) {
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(run() / name) << text;
  };
  for (const char* name : {"model/precious.txt", "metrics.csv", "events.out.tfevents.1.other"}) {
    fs::remove_all(run());
    fs::create_directories((run() / name).parent_path());
    write(name, "kept");
    for (const RunStart start : {RunStart::kNew, RunStart::kContinue}) {
      expect_error(ErrorCode::kInvalidArgument, {run().string(), "would be replaced"}, [&] {
        fs::remove(run() / "LOCK");
        RunDirectory(run(), start, real_system_calls());
      });
    }
    EXPECT_EQ(io::read_file(run() / name, 10), "kept");
  }
  // A training that ended before its first checkpoint left its logs, and begins anew.
  fs::remove_all(run());
  { const RunDirectory begun(run(), RunStart::kNew, real_system_calls()); }
  write("metrics.csv", "step\n");
  write("metrics.jsonl", "");
  EXPECT_EQ(RunDirectory(run(), RunStart::kContinue, real_system_calls()).steps().size(), 0u);
}

TEST_F(RunDirectoryTest, TwoAtOnceAreRefusedAndADeadOneIsNot) {
  const RunDirectory first(run(), RunStart::kNew, real_system_calls());
  expect_error(ErrorCode::kInvalidArgument,
               {run().string(), "process " + std::to_string(getpid()) + " is training"},
               [&] { RunDirectory(run(), RunStart::kContinue, real_system_calls()); });
  // Another process takes a lock and ends without a word.
  const fs::path other = directory_.path() / "other";
  const pid_t child = fork();
  if (child == 0) {
    RunDirectory mine(other, RunStart::kNew, real_system_calls());
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(io::read_file(other / "LOCK", 100), std::to_string(child) + "\n");
  RunDirectory(other, RunStart::kContinue, real_system_calls());
}

TEST_F(RunDirectoryTest, LeftoversAreRemovedAndNothingElse) {
  { RunDirectory directory(run(), RunStart::kNew, real_system_calls()); }
  for (const char* name : {"step-7.tmp-123", "step-4.tmp-old-9", "model.tmp-new-5", "step-x.tmp-1",
                           "notes.tmp-1", "step-08", ".model.tmp-new-5.tmp-5-0"}) {
    fs::create_directories(run() / name);
    std::ofstream(run() / name / "file") << "x";
  }
  std::ofstream(run() / "LATEST.tmp-5") << "x";
  EXPECT_EQ(found_step(run()), -1);
  EXPECT_EQ(names(run()),
            (std::vector<std::string>{"LOCK", "notes.tmp-1", "step-08", "step-x.tmp-1"}));
}

// Every byte of every file: the hash of the manifest covers all, the manifest's own itself.
TEST_F(RunDirectoryTest, OneWrongByteAndTheOlderIsUsed) {
  {
    RunDirectory directory(run(), RunStart::kNew, real_system_calls());
    save(directory, 1);
    save(directory, 2);
  }
  for (const char* name : {kWeightsFile, kOptimizerFile, kStateFile, kManifestFile}) {
    const fs::path path = run() / "step-2" / name;
    const std::string bytes = io::read_file(path, 1 << 20);
    for (size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 41) {
      std::string wrong = bytes;
      wrong[at] = static_cast<char>(wrong[at] ^ (1 << (at % 8)));
      std::ofstream(path, std::ios::binary) << wrong;
      std::string notices;
      EXPECT_EQ(found_step(run(), &notices), 1) << name << " " << at;
      EXPECT_NE(notices.find(path.string()), std::string::npos) << notices;
    }
    for (const std::string& other :
         {bytes.substr(0, bytes.size() - 1), bytes + " ", std::string()}) {
      std::ofstream(path, std::ios::binary) << other;
      EXPECT_EQ(found_step(run()), 1) << name;
    }
    fs::remove(path);
    EXPECT_EQ(found_step(run()), 1) << name;
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_EQ(found_step(run()), 2) << name;
  }
}

TEST_F(RunDirectoryTest, ADamagedOneIsReplacedOrPrunedAndNeverCounts) {
  {
    RunDirectory directory(run(), RunStart::kNew, real_system_calls());
    for (const int64_t step : {1, 2, 3}) save(directory, step);
  }
  fs::remove(run() / "step-2" / kStateFile);
  fs::remove(run() / "step-3" / kStateFile);
  RunDirectory directory(run(), RunStart::kContinue, real_system_calls());
  EXPECT_EQ(directory.newest_valid(ignore), 1);
  save(directory, 2, {.limit = 2});
  EXPECT_EQ(directory.steps(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(directory.newest_valid(ignore), 2);
}

TEST_F(RunDirectoryTest, NoneThatIsValidIsAnError) {
  {
    RunDirectory directory(run(), RunStart::kNew, real_system_calls());
    save(directory, 1);
  }
  fs::remove(run() / "step-1" / kWeightsFile);
  expect_error(ErrorCode::kInvalidFile, {run().string(), "no checkpoint can be used", "weights"},
               [&] { found_step(run()); });
}

TEST_F(RunDirectoryTest, TheModelAndOptimizerMustFit) {
  RunDirectory directory(run(), RunStart::kNew, real_system_calls());
  save(directory, 1);
  ParameterSet other({{"hidden.weight", {2, 2}}});
  expect_error(ErrorCode::kInvalidFile, {kWeightsFile, "holds 5 tensors, and the model has 1"},
               [&] { read_weights(directory.checkpoint(1), other); });
  ParameterSet same_count({{"a", {1}}, {"b", {1}}, {"c", {1}}, {"d", {1}}, {"e", {1}}});
  expect_error(ErrorCode::kInvalidFile, {kWeightsFile, "does not belong"},
               [&] { read_weights(directory.checkpoint(1), same_count); });
  const auto sgd = make_optimizer({.kind = OptimizerKind::kSgd}, task_.parameters());
  expect_error(ErrorCode::kInvalidFile, {kOptimizerFile, "same optimizer"},
               [&] { read_optimizer(directory.checkpoint(1), *sgd, state_); });
}

TEST_F(RunDirectoryTest, ShortWritesAreContinued) {
  test::RecordedCalls calls;
  calls.most_bytes = 7;
  {
    RunDirectory directory(run(), RunStart::kNew, calls);
    save(directory, 3);
  }
  EXPECT_EQ(found_step(run()), 3);
}

TEST_F(RunDirectoryTest, TooLittleSpaceIsSaidBeforeAnythingIsWritten) {
  test::RecordedCalls calls;
  RunDirectory directory(run(), RunStart::kNew, calls);
  save(directory, 1);
  const size_t before = calls.log.size();
  const int64_t needed = checkpoint_bytes(task_.parameters(), *optimizer_);
  calls.free = needed + needed / 10;  // more than it takes, less than 1.2 times
  expect_error(ErrorCode::kIo, {run().string(), "MB", "make room"},
               [&] { directory.save(content(2), {}); });
  EXPECT_EQ(calls.log.size(), before);
  calls.free = -1;  // unknown
  save(directory, 2);
}

// A disk that is full, or broken, from call number n on, or only there, for every n.
TEST_F(RunDirectoryTest, WhateverCallFailsTheOlderCheckpointIsGood) {
  for (const int error : {ENOSPC, EIO, EDQUOT}) {
    for (const bool stays : {true, false}) {
      for (size_t n = 0;; ++n) {
        const fs::path path = directory_.path() / "faults";
        fs::remove_all(path);
        test::RecordedCalls calls;
        int64_t saved = 1;
        bool faulty = false;
        {
          RunDirectory directory(path, RunStart::kNew, calls);
          save(directory, 1);
          size_t number = 0;
          calls.fault = [&](const test::Call& call, size_t) {
            const bool deletes = call.kind == test::Call::kRemove;
            if (number++ < n || (faulty && !stays) || (deletes && error != EIO)) return 0;
            faulty = true;
            return error;
          };
          try {
            directory.save(content(2), {.limit = 1});
            saved = 2;
          } catch (const Error& failure) {
            EXPECT_EQ(failure.code(), ErrorCode::kIo);
            EXPECT_NE(std::string(failure.what()).find(path.string()), std::string::npos);
          }
        }
        EXPECT_GE(found_step(path), saved) << error << " " << n;
        if (!faulty) break;  // went through without a fault: all were tried
        ASSERT_LT(n, 200u);
      }
    }
  }
}

TEST_F(RunDirectoryTest, ReadOnlyDirectoriesAreRefused) {
  if (geteuid() == 0) GTEST_SKIP() << "this user may write anywhere";
  fs::create_directories(run());
  fs::permissions(run(), fs::perms::owner_read | fs::perms::owner_exec);
  expect_error(ErrorCode::kIo, {run().string(), "Permission denied"},
               [&] { RunDirectory(run(), RunStart::kNew, real_system_calls()); });
  fs::permissions(run(), fs::perms::owner_all);
}

TEST_F(RunDirectoryTest, TheModelIsReplacedAsAWhole) {
  RunDirectory directory(run(), RunStart::kNew, real_system_calls());
  const auto put = [&](const std::string& text) {
    directory.write_model([&](const fs::path& path) { std::ofstream(path / "weights") << text; });
  };
  put("one");
  put("two");
  EXPECT_THROW(directory.write_model([](const fs::path&) { throw Error(ErrorCode::kIo, "no"); }),
               Error);
  EXPECT_EQ(io::read_file(run() / "model" / "weights", 100), "two");
  EXPECT_EQ(names(run()), (std::vector<std::string>{"LOCK", "model"}));
}

// Power loss after each call of four saves: what was saved before is found, whatever of the
// unsynced bytes and names reached the disk.
class PowerLoss : public RunDirectoryTest {
 protected:
  struct Run {
    std::vector<test::Call> log;
    std::vector<std::pair<size_t, int64_t>> saved;  // calls after which this step is safe
  };

  Run record() {
    test::RecordedCalls calls;
    Run result;
    RunDirectory directory(run(), RunStart::kNew, calls);
    for (const int64_t step : {2, 4, 6, 8}) {
      save(directory, step, {.limit = 2, .best = 2});
      result.saved.emplace_back(calls.log.size(), step);
    }
    result.log = calls.log;
    return result;
  }

  // How many of the states after a loss have less than what was saved, or cannot be read.
  int64_t losses(const Run& recorded) {
    using Disk = test::CachedDisk;
    Disk disk(run().string());
    int64_t bad = 0;
    for (size_t n = 0; n <= recorded.log.size(); ++n) {
      int64_t safe = -1;
      for (const auto& [calls, step] : recorded.saved) {
        if (n >= calls) safe = step;
      }
      for (const auto& [names, data] : {std::pair{Disk::Names::kAll, Disk::Data::kSynced},
                                        std::pair{Disk::Names::kAll, Disk::Data::kHalf},
                                        std::pair{Disk::Names::kAll, Disk::Data::kAll},
                                        std::pair{Disk::Names::kSynced, Disk::Data::kSynced},
                                        std::pair{Disk::Names::kSynced, Disk::Data::kAll}}) {
        const fs::path path = directory_.path() / "after";
        fs::remove_all(path);
        fs::create_directories(path);
        disk.materialize(path, names, data);
        try {
          bad += found_step(path) < safe ? 1 : 0;
        } catch (const Error&) {
          ++bad;
        }
      }
      if (n < recorded.log.size()) disk.apply(recorded.log[n]);
    }
    return bad;
  }
};

TEST_F(PowerLoss, NothingThatWasSavedIsLost) {
  const Run recorded = record();
  EXPECT_GT(recorded.log.size(), 100u);
  EXPECT_EQ(losses(recorded), 0);
}

// The same without some of the syncs must show, or the test above proves nothing.
TEST_F(PowerLoss, EachKindOfSyncIsNeeded) {
  const Run recorded = record();
  const auto without = [&](const std::function<bool(const std::string&)>& drop) {
    Run less = recorded;
    for (test::Call& call : less.log) {
      if (call.kind == test::Call::kSync && drop(call.path)) call.kind = test::Call::kClose;
    }
    return losses(less);
  };
  EXPECT_GT(without([](const std::string& path) { return path.ends_with(".safetensors"); }), 0);
  EXPECT_GT(without([](const std::string& path) { return path.ends_with("MANIFEST.json"); }), 0);
  const auto is_step = [](const std::string& path) {
    return fs::path(path).filename().string().starts_with("step-");
  };
  EXPECT_GT(without(is_step), 0);
  EXPECT_GT(without([&](const std::string& path) { return path == run().string(); }), 0);
}

}  // namespace
}  // namespace longformer::train
