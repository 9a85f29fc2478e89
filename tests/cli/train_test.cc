// train through the command: what it refuses, what it leaves, models that have no weights yet.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "command_fixture.h"
#include "io/checkpoint/checkpoint.h"

namespace longformer {
namespace {

class Train : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    std::string rows;
    for (const char* animal : {"fox", "hen", "dog"}) {
      for (const char* rest : {"sleeps", "runs in the barn", "eats corn"}) {
        rows += std::string(R"({"text": "the )") + animal + " " + rest + R"(", "label": ")" +
                animal + "\"}\n";
      }
    }
    put(path("rows.jsonl"), rows);
  }
  // Bad input that is found behind messages on what was read: the last line names it.
  void expect_stopped(const std::string& arguments, const std::string& says) {
    const Outcome result = run(arguments);
    EXPECT_EQ(result.code, 2) << arguments << "\n" << result.err;
    EXPECT_EQ(result.out, "") << arguments;
    const size_t last = result.err.rfind('\n', result.err.size() - 2);
    EXPECT_NE(result.err.find(says, last == std::string::npos ? 0 : last), std::string::npos)
        << arguments << "\n"
        << result.err;
  }
  std::string arguments(const std::string& output, const std::string& more) {
    return "train classify rows.jsonl --model model --output " + output + " --json true " + more;
  }
};

// What a run that was refused must not leave: a model, or a checkpoint that was not there.
TEST_F(Train, BadDataIsNamedAndLeavesNoModel) {
  const auto refused = [&](const std::string& task, const std::string& data,
                           const std::string& says, const std::string& more = "") {
    put(path("bad.jsonl"), data);
    expect_stopped("train " + task + " bad.jsonl --model bert --output bad --max-steps 1 " + more,
                   says);
    EXPECT_FALSE(fs::exists(path("bad/model")));
    EXPECT_FALSE(fs::exists(path("bad/LATEST")));
  };
  const std::string good = R"({"text": "the fox", "label": "a"})"
                           "\n";
  refused("classify", good + R"({"text": "hen"})", "bad.jsonl line 2: ", "--labels data");
  refused("classify", good + R"({"text": "", "label": "b"})",
          "bad.jsonl line 2: ", "--labels data");
  refused("classify",
          good +
              R"({"text": "hen", "label": "b"})"
              "\n" +
              R"({"text": "dog", )",
          "bad.jsonl line 3: ", "--labels data");
  refused("classify", good + R"({"text": "hen", "label": "other"})",
          "--labels model: the checkpoint has no head", "--labels model");
  refused("classify", "", "there is no example in it", "--labels data");
  refused(
      "answer",
      R"({"question": "the ?", "context": "the fox", "answers": {"text": ["dog"], "answer_start": [90]}})",
      "bad.jsonl line 1: ");
  refused(
      "answer",
      R"({"question": "the ?", "context": "the fox", "answers": {"text": ["dog"], "answer_start": [4]}})",
      "bad.jsonl line 1: ");
  refused("tag", R"({"text": "the fox", "spans": [{"start": 4, "end": 9, "label": "A"}]})",
          "bad.jsonl line 1: ", "--labels data");
  refused("tag", R"({"words": ["the", "fox"], "labels": ["O"]})",
          "bad.jsonl line 1: ", "--labels data");
  refused("choose", R"({"question": "the fox", "choices": ["a", "b"], "label": 2})",
          "bad.jsonl line 1: ");
  std::string words;
  for (int word = 0; word < 200; ++word) words += "fox ";
  refused("classify", "{\"text\": \"" + words + "\", \"label\": \"b\"}\n" + good,
          "bad.jsonl line 1: ", "--labels data --long error");
}

TEST_F(Train, ARunIsKeptFromOtherOptionsOtherDataAndOtherTrainers) {
  const std::string options = "--labels data --save-steps 2 --logging-steps 1 --max-steps ";
  ASSERT_EQ(run(arguments("run", options + "4")).code, 0);
  const std::string weights = io::read_file(path("run/model/model.safetensors"), 1 << 24);
  const std::string log = io::read_file(path("run/metrics.jsonl"), 1 << 20);

  expect_stopped(arguments("run", options + "4"), "holds a training already; resume it");
  expect_stopped(arguments("run", options + "6 --resume true --learning-rate 0.5"),
                 "learning_rate");
  expect_stopped(arguments("run", options + "6 --resume true --seed 5"), "seed");
  {
    std::ofstream more(path("rows.jsonl"), std::ios::app);
    more << R"({"text": "the dog runs", "label": "dog"})"
            "\n";
  }
  expect_stopped(arguments("run", options + "6 --resume true"), "data");

  const int held = open(path("run/LOCK").c_str(), O_RDWR);
  ASSERT_GE(held, 0);
  ASSERT_EQ(flock(held, LOCK_EX | LOCK_NB), 0);
  expect_stopped(arguments("run", options + "4 --resume true"), "is training in this directory");
  close(held);
  EXPECT_EQ(io::read_file(path("run/model/model.safetensors"), 1 << 24), weights);
  EXPECT_EQ(io::read_file(path("run/metrics.jsonl"), 1 << 20), log);

  put(path("file"), "no directory");
  expect_stopped(arguments("file", options + "1"), "file: --output: cannot be made or written: ");
  expect_stopped(arguments("file/run", options + "1"),
                 "file/run: --output: cannot be made or written: ");
}

TEST_F(Train, OptionsThatCanDoNothingAreRefused) {
  const auto refused = [&](const std::string& more, const std::string& says) {
    expect_stopped(arguments("run", "--max-steps 1 --labels data " + more), says);
    EXPECT_FALSE(fs::exists(path("run/metrics.jsonl")));
  };
  refused("--group-by label", "--group-by keeps records together where --eval-share");
  refused("--eval-on-start true", "--eval-on-start needs an evaluation set");
  refused("--eval-steps 1", "--eval-steps needs an evaluation set");
  refused("--early-stopping-patience 1", "--early-stopping-patience needs an evaluation set");
  refused("--load-best-model-at-end true", "--load-best-model-at-end needs an evaluation set");
  refused("--eval rows.jsonl --metric-for-best-model f1", "gives loss, accuracy");
  refused("--freeze-layers 3", "--freeze-layers 3: the model has 2");
  refused("--freeze-layers 1 --train head", "--freeze-layers and --train head: give one");
  refused("--train positions", "the model has no head for this task");
  put(path("rows.jsonl"), R"({"text": "the fox", "label": "a"})"
                          "\n");
  refused("", "every record has the same label");
}

TEST_F(Train, LeftOutRecordsAreInTheExitCode) {
  {
    std::ofstream more(path("rows.jsonl"), std::ios::app);
    more << "{\"text\": \"\", \"label\": \"dog\"}\n";
  }
  const Outcome trained = run(arguments("run", "--max-steps 1 --labels data --skip-bad true"));
  EXPECT_EQ(trained.code, 3) << trained.err;
  EXPECT_NE(trained.err.find("rows.jsonl line 10"), std::string::npos) << trained.err;
  const Outcome used = run("classify text.txt --model run");
  EXPECT_EQ(used.code, 2);
  EXPECT_NE(used.err.find("its model is run/model"), std::string::npos) << used.err;
}

// Of texts that are one window each, the evaluation of a training says what `evaluate` says.
TEST_F(Train, EvaluationsAgreeWithEvaluate) {
  std::string rows;
  for (int row = 0; row < 24; ++row) {
    const char* const animals[] = {"fox", "hen", "dog"};
    rows += std::string(R"({"text": "the )") + animals[row % 3] + " eats " + animals[row % 2] +
            R"(", "label": [")" + animals[row % 3] + "\"" + (row % 2 == 0 ? "" : R"(, "corn")") +
            "]}\n";
  }
  put(path("several.jsonl"), rows);
  const std::map<std::string, std::string> tasks = {
      {"classification", "train classify rows.jsonl --eval rows.jsonl --labels data"},
      {"multi-label",
       "train classify several.jsonl --eval several.jsonl --problem-type "
       "multi_label_classification --labels data"}};
  for (const auto& [task, train] : tasks) {
    const Outcome trained = run(train + " --model model --output " + task +
                                " --max-steps 4 --learning-rate 0.01 --json true");
    ASSERT_EQ(trained.code, 0) << trained.err;
    const Json metrics = json_lines(trained.out).back()["metrics"];
    const Outcome evaluated =
        run("evaluate --json --task " + task + " --model " + task + "/model --data " +
            (task == "classification" ? "rows.jsonl" : "several.jsonl"));
    ASSERT_EQ(evaluated.code, 0) << evaluated.err;
    EXPECT_NEAR(metrics["accuracy"].get<double>(),
                json_lines(evaluated.out).back()["metrics"]["accuracy"].get<double>(), 1e-6)
        << task;
  }
}

// Without global tokens their projections take no part: what no gradient reaches must not decay.
TEST_F(Train, UnusedParametersDoNotDecay) {
  put(path("tags.jsonl"), R"({"words": ["the", "fox"], "tags": ["O", "A"]})"
                          "\n");
  const Outcome trained =
      run("train tag tags.jsonl --model model --output run --labels data --max-steps 3 "
          "--weight-decay 0.5 --learning-rate 0.1");
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto values = [&](const std::string& directory, const std::string& name) {
    return to_f32(io::Checkpoint::open(path(directory)).tensor(name));
  };
  const std::string layer = "encoder.layer.0.attention.self.";
  EXPECT_EQ(values("model", layer + "query_global.weight"),
            values("run/model", "longformer." + layer + "query_global.weight"));
  EXPECT_NE(values("model", layer + "query.weight"),
            values("run/model", "longformer." + layer + "query.weight"));
}

TEST_F(Train, NeedsWeightsUnlessItIsToldToBeginWithNewOnes) {
  fs::remove(model() / "model.safetensors");
  expect_refused(arguments("run", ""), "holds no weights: none of model.safetensors");
  expect_refused(arguments("run", ""), "; --from-scratch true begins with new weights");
  expect_refused("train mlm text.txt --model model --output long --to-long 128 --from-scratch true",
                 "--from-scratch and --to-long");
}

TEST_F(Train, FromScratchLearnsAndIsTheSameWhenItWasInterrupted) {
  fs::remove(model() / "model.safetensors");
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
