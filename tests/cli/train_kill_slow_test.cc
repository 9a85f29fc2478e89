// `train` as a program that is killed at any moment and told to go on: it ends with the same bytes.
// LONGFORMER_TEST_KILLS says how many kills (10).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/random.h"
#include "io/files.h"
#include "tasks/tiny_model.h"
#include "train/memory_directory.h"
#include "train/run_directory.h"

namespace longformer {
namespace {

namespace fs = std::filesystem;
using test::put;

constexpr uint64_t kSeed = 20241130;
constexpr int64_t kSteps = 60, kMostBytes = int64_t{1} << 24;

class TrainKill : public testing::Test {
 protected:
  struct End {
    int code = -1;  // 128 + signal where one ended it
    std::string messages;
  };
  using Watch = std::function<void(pid_t process, int output)>;

  void SetUp() override {
    put(path("dropout.json"),
        test::tiny_config("longformer", 65,
                          R"("hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, )"));
    test::write_tiny_model(path("model"), "longformer", 64);
    fs::rename(path("dropout.json"), path("model") / "config.json");
    std::string rows[2];
    for (uint64_t row = 0; row < 32; ++row) {
      std::string text;
      for (uint64_t word = 0; word < 3 + row * 7 % 40; ++word) {
        text += test::tiny_words()[8 + random_bits(row, word) % 22] + " ";
      }
      rows[row < 24 ? 0 : 1] +=
          "{\"text\": \"" + text + "\", \"label\": \"" + (row % 3 == 0 ? "one" : "other") + "\"}\n";
    }
    put(path("train.jsonl"), rows[0]);
    put(path("eval.jsonl"), rows[1]);
  }

  fs::path path(const std::string& name) const { return directory_.path() / name; }

  End train(const std::string& run, int threads, const Watch& watch = {}) {
    const std::vector<std::string> words = {LONGFORMER_BINARY,
                                            "train",
                                            "classify",
                                            path("train.jsonl"),
                                            "--eval",
                                            path("eval.jsonl"),
                                            "--model",
                                            path("model"),
                                            "--output",
                                            path(run),
                                            "--resume",
                                            "true",
                                            "--threads",
                                            std::to_string(threads),
                                            "--max-steps",
                                            std::to_string(kSteps),
                                            "--save-steps",
                                            "3",
                                            "--eval-steps",
                                            "7",
                                            "--logging-steps",
                                            "1",
                                            "--learning-rate",
                                            "0.003",
                                            "--weight-decay",
                                            "0.01",
                                            "--warmup-steps",
                                            "5",
                                            "--per-device-train-batch-size",
                                            "3",
                                            "--gradient-accumulation-steps",
                                            "2",
                                            "--outlier-zscore",
                                            "8"};
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const std::string messages = path("messages.txt").string();
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t process = fork();
    if (process == 0) {
      const int errors = open(messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
      dup2(ends[1], 1);
      dup2(errors, 2);
      close(ends[0]);
      close(ends[1]);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    close(ends[1]);
    if (watch) watch(process, ends[0]);
    char buffer[4096];
    while (read(ends[0], buffer, sizeof buffer) > 0) {
    }
    close(ends[0]);
    int status = 0;
    waitpid(process, &status, 0);
    End end;
    end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    end.messages = io::read_file(messages, kMostBytes);
    return end;
  }

  // What a finished run leaves that must be the same: the weights, and every file of the model.
  std::map<std::string, std::string> result(const std::string& run) const {
    std::map<std::string, std::string> files;
    const fs::path last = path(run) / ("step-" + std::to_string(kSteps));
    for (const char* const name : {"weights.safetensors", "optimizer.safetensors"}) {
      files[name] = io::read_file(last / name, kMostBytes);
    }
    for (const auto& entry : fs::directory_iterator(path(run) / "model")) {
      files["model/" + entry.path().filename().string()] = io::read_file(entry.path(), kMostBytes);
    }
    return files;
  }

  // Losses, norms and rates of each step, once; not the times.
  std::vector<std::string> log(const std::string& run) const {
    std::vector<std::string> lines;
    const std::string text = io::read_file(path(run) / "metrics.jsonl", kMostBytes);
    for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
      io::Json line = io::parse_json(std::string_view(text).substr(at, text.find('\n', at) - at),
                                     "a line", io::DuplicateKeys::kRefused);
      line.erase("seconds");
      line.erase("tokens_per_second");
      lines.push_back(line.dump());
    }
    return lines;
  }

  void expect_same(const std::string& run, const std::string& other) const {
    const auto a = result(run), b = result(other);
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [name, bytes] : a) {
      const auto found = b.find(name);
      ASSERT_NE(found, b.end()) << name;
      EXPECT_TRUE(found->second == bytes) << name << " of " << run << " and " << other;
    }
    EXPECT_EQ(log(run), log(other));
  }

  test::MemoryDirectory directory_;
};

TEST_F(TrainKill, ThreadsDoNotChangeABit) {
  for (const int threads : {1, 2, 3}) {
    const End end = train("threads" + std::to_string(threads), threads);
    ASSERT_EQ(end.code, 0) << end.messages;
  }
  expect_same("threads2", "threads1");
  expect_same("threads3", "threads1");
}

TEST_F(TrainKill, KilledAtAnyMomentItEndsWithTheSameBytes) {
  const char* const text = std::getenv("LONGFORMER_TEST_KILLS");
  const int64_t wanted = text != nullptr ? std::atoll(text) : 10;
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(train("whole", 1).code, 0);
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - start);
  int64_t kills = 0, resumed = 0;
  uint64_t draw = 0;
  for (int64_t runs = 0; kills < wanted && runs < 4 * wanted; ++runs) {
    const std::string run = "run" + std::to_string(runs);
    for (bool ended = false; !ended; ++draw) {
      // A part of the way mostly, so that one run is killed several times.
      const double share = random_uniform(kSeed, draw);
      const auto pause = static_cast<useconds_t>(share * 0.6 * static_cast<double>(whole.count()));
      const End end = train(run, 1 + static_cast<int>(draw % 3), [&](pid_t process, int) {
        usleep(pause);
        kill(process, SIGKILL);
      });
      ASSERT_TRUE(end.code == 0 || end.code == 128 + SIGKILL) << end.code << ": " << end.messages;
      EXPECT_EQ(end.messages.find("cannot be used"), std::string::npos) << end.messages;
      ended = end.code == 0;
      kills += ended ? 0 : 1;
      resumed += fs::exists(path(run) / "LATEST") ? 1 : 0;
      // Enough of it: nothing is gained by a run that is never let to its end.
      if (!ended && draw % 5 == 4) {
        const End last = train(run, 2);
        ASSERT_EQ(last.code, 0) << last.messages;
        ended = true;
      }
    }
    ASSERT_NO_FATAL_FAILURE(expect_same(run, "whole"));
    for (const auto& entry : fs::directory_iterator(path(run))) {
      EXPECT_EQ(entry.path().filename().string().find(".tmp-"), std::string::npos) << entry.path();
    }
    fs::remove_all(path(run));
  }
  EXPECT_GE(kills, wanted);
  EXPECT_GT(resumed, 0);
  std::printf("%lld kills, %lld of them behind the first checkpoint\n",
              static_cast<long long>(kills), static_cast<long long>(resumed));
}

TEST_F(TrainKill, ToldToEndItSavesTheLastStepAndGoesOnFromThere) {
  ASSERT_EQ(train("whole", 1).code, 0);
  for (const int signal : {SIGTERM, SIGINT}) {
    const std::string run = "stopped" + std::to_string(signal);
    const End end = train(run, 2, [&](pid_t process, int output) {
      // Behind the second step, and so between two of the checkpoints that come by themselves.
      char letter = 0;
      for (int lines = 0; lines < 2 && read(output, &letter, 1) == 1;) lines += letter == '\n';
      kill(process, signal);
    });
    ASSERT_EQ(end.code, 128 + signal) << end.messages;
    EXPECT_NE(end.messages.find("--resume true"), std::string::npos) << end.messages;
    {
      const train::RunDirectory directory(path(run), train::RunStart::kContinue,
                                          train::real_system_calls());
      const std::vector<int64_t> steps = directory.steps();
      ASSERT_FALSE(steps.empty());
      EXPECT_GE(steps.back(), 2);
      EXPECT_LT(steps.back(), kSteps);
      train::verify_checkpoint(directory.checkpoint(steps.back()));
      EXPECT_EQ(io::read_file(path(run) / "LATEST", kMostBytes),
                "step-" + std::to_string(steps.back()) + "\n");
      EXPECT_FALSE(fs::exists(path(run) / "model"));
    }
    const End rest = train(run, 3);
    ASSERT_EQ(rest.code, 0) << rest.messages;
    expect_same(run, "whole");
  }
}

}  // namespace
}  // namespace longformer
