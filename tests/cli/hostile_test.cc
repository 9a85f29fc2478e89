// What a hostile model or a hard system may do; none may end in a crash, a silent answer or
#include <gtest/gtest.h>

#include <limits>

#include "cli/command_fixture.h"

namespace longformer {
namespace {

// left-over files.

TEST_F(Command, ATruncatedMappingEndsWithAMessage) {
  const std::string big = std::string(LONGFORMER_BINARY) + " embed --model model - ";
  const std::string script = "cd " + directory_.path().string() +
                             " && (sleep 0.3; truncate -s 100 model/model.safetensors; " +
                             "echo the fox runs) | LONGFORMER_THREADS=1 " + big +
                             " >/dev/null 2>stderr.txt";
  const int status = std::system(script.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_NE(WEXITSTATUS(status), 0);
  EXPECT_NE(io::read_file(path("stderr.txt"), 1 << 20), "");
}

TEST_F(Command, ASignalRemovesWhatIsHalfWritten) {
  const std::string script = "cd " + directory_.path().string() + " && (sleep 0.4 | " +
                             LONGFORMER_BINARY +
                             " embed --model model --output v.jsonl - 2>/dev/null & p=$!; sleep "
                             "0.2; kill -TERM $p; wait $p)";
  const int status = std::system(script.c_str());
  EXPECT_TRUE(WIFEXITED(status));
  for (const auto& entry : fs::directory_iterator(directory_.path())) {
    EXPECT_EQ(entry.path().filename().string().find("tmp"), std::string::npos) << entry.path();
  }
}

TEST_F(Command, ClosedStandardErrorDoesNotReachTheOutputFile) {
  put(path("binary"), std::string("\0\1\2\3", 4));
  const std::string script = "cd " + directory_.path().string() + " && " + LONGFORMER_BINARY +
                             " embed --model model text.txt binary --output v.jsonl 2>&-";
  EXPECT_EQ(WEXITSTATUS(std::system(script.c_str())), 3);
  EXPECT_EQ(json_lines(io::read_file(path("v.jsonl"), 1 << 20)).size(), 1u);
}

TEST_F(Command, AFileSizeLimitIsAnOrdinaryFailure) {
  const std::string script = "cd " + directory_.path().string() + " && ulimit -f 1 && " +
                             LONGFORMER_BINARY +
                             " convert --to-long 200 --attention-window 8 bert long 2>/dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(script.c_str())), 1);
  for (const auto& entry : fs::directory_iterator(directory_.path())) {
    EXPECT_EQ(entry.path().filename().string().find("tmp"), std::string::npos) << entry.path();
  }
}

TEST_F(Command, OutputThatCannotBeWrittenIsAFailureEverywhere) {
  EXPECT_EQ(run("info --model model >/dev/full").code, 1);
  EXPECT_EQ(run("--help >/dev/full").code, 1);
}

TEST_F(Command, BrokenWeightsAreAnErrorNotAnAnswer) {
  const EncoderConfig config = read_encoder_config(io::Config::read(model() / "config.json"));
  test::Tensors tensors = test::random_tensors(config, 1);
  tensors["encoder.layer.0.output.dense.bias"][0] = std::numeric_limits<float>::quiet_NaN();
  const std::string json = io::read_file(model() / "config.json", 1 << 20);
  test::write_checkpoint(model(), json, config, tensors);
  expect_refused("embed --model model text.txt", "not finite");
  expect_refused("search --model model 'the fox' text.txt", "not finite");
}

TEST_F(Command, ALinkToNowhereIsNoAbsentFile) {
  fs::remove(model() / "tokenizer_config.json");
  fs::create_symlink("gone", model() / "tokenizer_config.json");
  expect_refused("embed --model model text.txt", "tokenizer_config.json");
}

TEST_F(Command, ConvertDoesNotPublishFilesFromElsewhere) {
  put(path("secret.txt"), "secret");
  fs::create_symlink(path("secret.txt"), path("bert") / "README.md");
  expect_refused("convert --to-long 200 --attention-window 8 bert long", "README.md");
  EXPECT_FALSE(fs::exists(path("long")));
}

TEST_F(Command, MessagesAreOneLineWhateverAFileHolds) {
  put(model() / "config.json", "{\"model_type\": \"a\\n\\u001b[31mb\"}");
  const Outcome result = run("info --model model");
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
  EXPECT_EQ(result.err.find('\x1b'), std::string::npos);
  put(model() / "config.json", "{\"model_type\": \"" + std::string(100'000, 'x') + "\"}");
  EXPECT_LT(run("info --model model").err.size(), 2000u);
}

TEST_F(Command, OddPathsAreBadUsage) {
  for (const std::string& name : {std::string(300, 'a'), std::string("text.txt/x")}) {
    EXPECT_EQ(run("embed --model " + name + " text.txt").code, 2) << name;
  }
  fs::create_symlink("loop", path("loop"));
  EXPECT_EQ(run("embed --model loop text.txt").code, 2);
  fs::remove(model() / "config.json");
  fs::create_directory(model() / "config.json");
  EXPECT_EQ(run("embed --model model text.txt").code, 2);
}

}  // namespace
}  // namespace longformer
