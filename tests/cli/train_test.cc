// train through the command: a model that has no weights yet.
#include "command_fixture.h"

namespace longformer {
namespace {

class Train : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    fs::remove(model() / "model.safetensors");
    std::string rows;
    for (const char* animal : {"fox", "hen", "dog"}) {
      for (const char* rest : {"sleeps", "runs in the barn", "eats corn"}) {
        rows += std::string(R"({"text": "the )") + animal + " " + rest + R"(", "label": ")" +
                animal + "\"}\n";
      }
    }
    put(path("rows.jsonl"), rows);
  }
  std::string arguments(const std::string& output, const std::string& more) {
    return "train classify rows.jsonl --model model --output " + output + " --json true " + more;
  }
};

TEST_F(Train, NeedsWeightsUnlessItIsToldToBeginWithNewOnes) {
  expect_refused(arguments("run", ""), "holds no weights: none of model.safetensors");
  expect_refused(arguments("run", ""), "; --from-scratch true begins with new weights");
  expect_refused("train mlm text.txt --model model --output long --to-long 128 --from-scratch true",
                 "--from-scratch and --to-long");
}

TEST_F(Train, FromScratchLearnsAndIsTheSameWhenItWasInterrupted) {
  const std::string options =
      "--from-scratch true --eval rows.jsonl --learning-rate 0.01 --per-device-train-batch-size 9 "
      "--save-steps 20 --seed 7 ";
  const Outcome whole = run(arguments("whole", options + "--max-steps 60"));
  ASSERT_EQ(whole.code, 0) << whole.err;
  EXPECT_NE(whole.err.find("every weight is new: random numbers from seed 7"), std::string::npos);
  EXPECT_EQ(json_lines(whole.out).back()["metrics"]["accuracy"], 1.0);
  const std::string weights = io::read_file(path("whole/model/model.safetensors"), 1 << 24);

  fs::create_directories(path("part"));
  for (const auto& entry : fs::directory_iterator(path("whole"))) {
    if (entry.path().filename() == "step-40" || entry.path().filename() == "cache") {
      fs::copy(entry.path(), path("part") / entry.path().filename(), fs::copy_options::recursive);
    }
  }
  const Outcome rest = run(arguments("part", options + "--max-steps 60 --resume true"));
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(io::read_file(path("part/model/model.safetensors"), 1 << 24), weights);

  const Outcome other = run(
      arguments("other",
                "--from-scratch true --seed 8 --learning-rate 0.01 --per-device-train-batch-size 9 "
                "--max-steps 1"));
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_NE(json_lines(other.out).back()["loss"], json_lines(whole.out).front()["loss"]);
}

}  // namespace
}  // namespace longformer
