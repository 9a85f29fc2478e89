// What classify, fill-mask and choose share as commands: sources, JSON lines, continued outputs,
// exit codes; and what each prints.
#include <cmath>

#include "cli/command_fixture.h"

namespace longformer {
namespace {

class TextTasks : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    put(path("model/config.json"),
        test::tiny_config("longformer", 65,
                          R"("id2label": {"0": "farm", "1": "sky", "2": "sea"}, )"));
    put(path("choices.jsonl"), R"({"context": "the fox", "choices": ["runs", "sleeps"]})"
                               "\n"
                               R"({"question": "the hen", "choices": ["eats", "runs", "sleeps"]})"
                               "\n");
  }

  static constexpr const char* kModel = " --model model --allow-new-head ";
  Outcome classify(const std::string& arguments, const std::string& input = "/dev/null") {
    return run("classify" + std::string(kModel) + arguments, "", input);
  }
  std::string content(const std::string& name) const { return io::read_file(path(name), 64 << 20); }
  // Lines of two to nine words.
  void put_lines(const std::string& name, int count) {
    std::string lines;
    for (int i = 0; i < count; ++i) {
      std::string text = "the fox";
      for (int k = 0; k < i * i % 8; ++k)
        text += " " + test::tiny_words()[size_t(8 + (i + k) % 25)];
      lines += "{\"text\": \"" + text + "\"}\n";
    }
    put(path(name), lines);
  }
};

TEST_F(TextTasks, ThereIsOneSource) {
  for (const std::string command : {"classify", "fill-mask", "choose --choice a"}) {
    const std::string start = command + kModel;
    expect_refused(start, "nothing to read: name either FILES, or --text TEXT, or --input");
    expect_refused(start + "--text a text.txt", "more than one thing to read");
    expect_refused(start + "--text a --input text.txt", "more than one thing to read");
    expect_refused(start + "text.txt --input text.txt", "more than one thing to read");
    expect_refused(start + "--text a --field body", "--input");
    expect_refused(start + "--text a --batch-tokens 0", "--batch-tokens");
    expect_refused(start + "--input gone.jsonl", "gone.jsonl: No such file");
    expect_refused(start + "--text a --global nonsense", "--global");
    expect_refused(start + "--text a --include '*.x'", "--include: is for FILES");
    expect_refused(start + "text.txt --output ./text.txt", "is read as well");
    expect_refused(start + "--input text.txt --output text.txt", "is read as well");
  }
  expect_refused("choose --model model --text a", "--choice");
}

TEST_F(TextTasks, AHeadThatIsAbsentIsRefused) {
  expect_refused("classify --model model --text fox", "classifier");
  const Outcome made = classify("--text fox --json");
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.err.find("random"), std::string::npos) << made.err;
}

TEST_F(TextTasks, ClassifyPrintsRecords) {
  const Outcome result = classify("--text 'the fox sleeps' --json --top-k 0");
  ASSERT_EQ(result.code, 0) << result.err;
  const Json record = json_lines(result.out).at(0);
  EXPECT_TRUE(record["line"].is_null());
  EXPECT_TRUE(record["file"].is_null());
  EXPECT_EQ(record["tokens"], 3);
  EXPECT_EQ(record["windows"], 1);
  EXPECT_EQ(record["global_tokens"], 1);
  ASSERT_EQ(record["scores"].size(), 3u);
  double sum = 0;
  for (const Json& one : record["scores"]) sum += one["score"].get<double>();
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_EQ(record["label"], record["scores"][0]["label"]);
  EXPECT_EQ(record["score"], record["scores"][0]["score"]);

  const double best = record["score"].get<double>();
  const auto labels = [&](const std::string& options) {
    return json_lines(classify("--text 'the fox sleeps' --json " + options).out).at(0);
  };
  EXPECT_EQ(labels("")["scores"].size(), 1u);
  EXPECT_EQ(labels("--top-k 2")["scores"].size(), 2u);
  EXPECT_EQ(labels("--threshold 0")["scores"].size(), 3u);
  const double between = (best + record["scores"][1]["score"].get<double>()) / 2;
  EXPECT_EQ(labels("--threshold " + std::to_string(between))["scores"].size(), 1u);
  const Json none = labels("--threshold 1.5");
  EXPECT_TRUE(none["label"].is_null());
  EXPECT_TRUE(none["score"].is_null());
  EXPECT_EQ(none["scores"].size(), 0u);
  // A sigmoid of what a softmax is made of.
  const Json raw = labels("--function none --top-k 0")["scores"];
  const Json sigmoid = labels("--function sigmoid --top-k 0")["scores"];
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(sigmoid[i]["score"].get<double>(),
                1 / (1 + std::exp(-raw[i]["score"].get<double>())), 1e-6);
  }
  EXPECT_EQ(labels("--global none")["global_tokens"], 0);
  EXPECT_EQ(labels("--global 0-2")["global_tokens"], 3);
}

TEST_F(TextTasks, PeopleReadLabels) {
  const Outcome one = classify("--text 'the fox' --top-k 0");
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(std::count(one.out.begin(), one.out.end(), '\n'), 3) << one.out;
  EXPECT_EQ(one.out.find('{'), std::string::npos) << one.out;
  for (const std::string label : {"farm", "sky", "sea"}) {
    EXPECT_NE(one.out.find("  " + label + "\n"), std::string::npos) << one.out;
  }
  put(path("other.txt"), "rain in the night");
  const Outcome files = classify("text.txt other.txt");
  EXPECT_TRUE(files.out.starts_with("text.txt:\n  0.")) << files.out;
  EXPECT_NE(files.out.find("\nother.txt:\n  0."), std::string::npos) << files.out;
  // Names from config.json may hold anything.
  put(path("model/config.json"),
      test::tiny_config("longformer", 65,
                        R"("id2label": {"0": "a\u001b[31m", "1": "b\u001b[0m"}, )"));
  const Outcome odd = classify("--text fox --top-k 0");
  EXPECT_EQ(odd.code, 0) << odd.err;
  EXPECT_EQ(odd.out.find('\x1b'), std::string::npos);
}

TEST_F(TextTasks, FilesThatCannotBeReadAreSkipped) {
  const Outcome result = classify("text.txt gone.txt --json");
  EXPECT_EQ(result.code, 3) << result.err;
  ASSERT_EQ(json_lines(result.out).size(), 1u);
  EXPECT_EQ(json_lines(result.out)[0]["file"], "text.txt");
  EXPECT_NE(result.err.find("gone.txt"), std::string::npos) << result.err;
  const Outcome none = classify("gone.txt --output out.jsonl");
  EXPECT_EQ(none.code, 2);
  EXPECT_FALSE(fs::exists(path("out.jsonl")));
}

TEST_F(TextTasks, LongTexts) {
  std::string text;
  for (int i = 0; i < 150; ++i) text += i % 3 == 0 ? "fox " : "rain ";
  put(path("long.txt"), text);
  const auto record = [&](const std::string& options, int code, const std::string& says) {
    const Outcome result = classify("long.txt text.txt --json " + options);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_NE(result.err.find(says), std::string::npos) << result.err;
    return json_lines(result.out).at(0);
  };
  const Json windows = record("", 0, "1 of 2 documents is longer than the 64 tokens");
  EXPECT_EQ(windows["windows"], 3);
  EXPECT_EQ(windows["tokens"], 150);
  EXPECT_EQ(windows["truncated_tokens"], 0);
  const Json cut = record("--long truncate", 0, "cut off, 88 tokens left out");
  EXPECT_EQ(cut["windows"], 1);
  EXPECT_EQ(cut["truncated_tokens"], 88);
  EXPECT_EQ(
      record("--long error", 3, "long.txt: 152 tokens, and the model reads at most 64")["file"],
      "text.txt");
  expect_refused("classify --model model --text a --long maybe", "--long");
}

TEST_F(TextTasks, LinesThatCannotBeUsedAreNamed) {
  put(path("in.jsonl"),
      "\xEF\xBB\xBF{\"text\": \"the fox\"}\r\n\nnot json\n{\"body\": \"a\"}\n{\"text\": 5}\n[1]\n"
      "{\"text\": \"\xFF\"}\n{\"text\": \"the hen\", \"text_pair\": \"the dog\"}");
  const Outcome result = classify("--input in.jsonl");
  EXPECT_EQ(result.code, 3) << result.err;
  const std::vector<Json> records = json_lines(result.out);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]["line"], 1);
  EXPECT_EQ(records[0]["tokens"], 2);
  EXPECT_EQ(records[1]["line"], 8);
  EXPECT_EQ(records[1]["tokens"], 4);
  for (const std::string says :
       {"in.jsonl line 3: ", "in.jsonl line 4: has no field \"text\"; its fields are \"body\"",
        "in.jsonl line 5: the field \"text\" must be a string",
        "in.jsonl line 6: is no JSON object", "in.jsonl line 7: ", "skipped 5 lines"}) {
    EXPECT_NE(result.err.find(says), std::string::npos) << says << "\n" << result.err;
  }
  EXPECT_EQ(classify("--input in.jsonl --field body").code, 3);
  EXPECT_EQ(json_lines(classify("--input in.jsonl --field body").out).at(0)["line"], 4);
  // A pair field that is named must be there.
  EXPECT_EQ(json_lines(classify("--input in.jsonl --pair-field text_pair").out).size(), 1u);
  put(path("bad.jsonl"), "{\n");
  EXPECT_EQ(classify("--input bad.jsonl").code, 2);
  put(path("empty.jsonl"), "");
  EXPECT_EQ(classify("--input empty.jsonl").code, 2);
}

TEST_F(TextTasks, TheCallsOfTheModelDoNotMatter) {
  put_lines("in.jsonl", 60);
  const Outcome result = classify("--input in.jsonl --top-k 0");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(json_lines(result.out).size(), 60u);
  EXPECT_EQ(classify("--input in.jsonl --top-k 0 --batch-tokens 1").out, result.out);
  EXPECT_EQ(classify("--input in.jsonl --top-k 0 --batch-tokens 50").out, result.out);
  EXPECT_EQ(classify("--input - --top-k 0", "in.jsonl").out, result.out);
  ASSERT_EQ(classify("--input in.jsonl --top-k 0 --output out.jsonl").code, 0);
  EXPECT_EQ(content("out.jsonl"), result.out);
  const Outcome head =
      run("classify" + std::string(kModel) + "--input in.jsonl", "", "/dev/null", "| head -n 1");
  EXPECT_EQ(json_lines(head.out).size(), 1u);
  EXPECT_EQ(head.err.find("longformer: standard output"), std::string::npos) << head.err;
}

TEST_F(TextTasks, AnOutputIsContinuedByteByByte) {
  put_lines("in.jsonl", 12);
  std::string input = content("in.jsonl");
  input.insert(input.find('\n') + 1, "broken\n\n");
  put(path("in.jsonl"), input);
  const std::string command = "--input in.jsonl --output out.jsonl";
  const Outcome first = classify(command);
  EXPECT_EQ(first.code, 3) << first.err;
  const std::string whole = content("out.jsonl");
  for (const size_t size :
       {size_t{0}, size_t{3}, whole.size() / 3, whole.size() / 2, whole.size() - 1, whole.size()}) {
    put(path("out.jsonl"), whole.substr(0, size));
    const Outcome again = classify(command);
    // The line that was skipped in front of the resume point counts still.
    EXPECT_EQ(again.code, 3) << size << again.err;
    EXPECT_EQ(content("out.jsonl"), whole) << size;
    if (size > whole.size() / 4) {
      EXPECT_NE(again.err.find("continued: "), std::string::npos) << again.err;
    }
  }
  put(path("out.jsonl"), "a diary\n");
  expect_refused("classify" + std::string(kModel) + command, "out.jsonl: line 1 is no record");
  EXPECT_EQ(content("out.jsonl"), "a diary\n");
  // In the middle too, and where it ends without a line feed.
  for (const std::string foreign : {"{\"line\":2,\"foo\":\"other\"}\n", "{\"line\":2,}\n"}) {
    const size_t second = whole.find('\n') + 1;
    const std::string mixed =
        whole.substr(0, second) + foreign + whole.substr(whole.find('\n', second) + 1);
    put(path("out.jsonl"), mixed);
    expect_refused("classify" + std::string(kModel) + command, "out.jsonl: line 2 is no record");
    EXPECT_EQ(content("out.jsonl"), mixed);
  }
  put(path("out.jsonl"), "{\"line\":1,\"somebody else");
  expect_refused("classify" + std::string(kModel) + command, "out.jsonl: line 1 is no record");
  EXPECT_EQ(content("out.jsonl"), "{\"line\":1,\"somebody else");
  // The output of another command, and of another input.
  put(path("out.jsonl"), whole);
  const Outcome other = run("fill-mask" + std::string(kModel) + command);
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("no record of `fill-mask`"), std::string::npos) << other.err;
  put_lines("short.jsonl", 3);
  const Outcome shorter = classify("--input short.jsonl --output out.jsonl");
  EXPECT_EQ(shorter.code, 2);
  EXPECT_NE(shorter.err.find("output of another input"), std::string::npos) << shorter.err;
  EXPECT_EQ(content("out.jsonl"), whole);
}

TEST_F(TextTasks, ANumberThatIsNoneIsAnErrorNotALabel) {
  const std::string json = test::tiny_config("longformer", 65);
  const EncoderConfig config = read_encoder_config(io::Config::parse(json, "config.json"));
  test::Tensors tensors = test::random_tensors(config, 3);
  for (auto& [name, values] : tensors) {
    if (name.ends_with("output.LayerNorm.bias")) values[0] = std::nanf("");
  }
  fs::create_directories(path("nan"));
  test::write_checkpoint(path("nan"), json, config, tensors);
  test::put_vocabulary(path("nan"));
  for (const std::string command :
       {"classify --text fox", "tag --text fox", "fill-mask --text 'a [MASK]'",
        "choose --text a --choice b --choice fox", "answer 'fox ?' --text 'the fox'"}) {
    const Outcome result = run(command + " --allow-new-head --json --model nan");
    EXPECT_EQ(result.code, 2) << command << result.err;
    EXPECT_EQ(result.out, "") << command;
    EXPECT_NE(result.err.find("no finite number"), std::string::npos) << command << result.err;
  }
  for (const std::string option : {"classify --threshold", "tag --threshold"}) {
    expect_refused(option + " nan --model model --text fox", "must be a finite number");
  }
}

TEST_F(TextTasks, AnEmptyTextHasNoMatches) {
  put(path("in.jsonl"), "{\"text\": \"the fox\"}\n{\"text\": \"\"}\n{\"text\": \"a fox\"}\n");
  const Outcome result = classify("--input in.jsonl --global regex:fox");
  ASSERT_EQ(result.code, 0) << result.err;
  const std::vector<Json> records = json_lines(result.out);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0]["global_tokens"], 1);
  EXPECT_EQ(records[1]["global_tokens"], 0);
  EXPECT_EQ(records[2]["global_tokens"], 1);
}

TEST_F(TextTasks, AKilledRunIsContinued) {
  put_lines("in.jsonl", 4000);
  const std::string command =
      "classify" + std::string(kModel) + "--input in.jsonl --batch-tokens 64 --threads 1 --output ";
  const Outcome whole = run(command + "whole.jsonl");
  ASSERT_EQ(whole.code, 0) << whole.err;
  for (const std::string signal : {"KILL", "TERM"}) {
    const std::string output = signal + ".jsonl";
    const std::string script = "cd " + directory_.path().string() + " && { " + LONGFORMER_BINARY +
                               " " + command + output + " 2>log & pid=$!; while [ ! -s " + output +
                               " ] && kill -0 $pid; do sleep 0.005; done; kill -" + signal +
                               " $pid; wait $pid; }";
    const int status = std::system(("sh -c '" + script + "' 2>" + path("shell").string()).c_str());
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), signal == "KILL" ? 137 : 143) << content("log");
    const std::string part = content(output);
    EXPECT_TRUE(content("whole.jsonl").starts_with(part));
    EXPECT_LT(part.size(), content("whole.jsonl").size());
    const Outcome rest = run(command + output);
    EXPECT_EQ(rest.code, 0) << rest.err;
    EXPECT_EQ(content(output), content("whole.jsonl"));
  }
}

TEST_F(TextTasks, FillMask) {
  const auto fill = [&](const std::string& arguments) {
    return run("fill-mask --model bert --allow-new-head " + arguments);
  };
  const Outcome one = fill("--text 'the [MASK] sleeps' --json --top-k 3");
  ASSERT_EQ(one.code, 0) << one.err;
  const Json record = json_lines(one.out).at(0);
  ASSERT_EQ(record["masks"].size(), 1u);
  ASSERT_EQ(record["masks"][0].size(), 3u);
  const Json best = record["masks"][0][0];
  EXPECT_EQ(best["token_str"], test::tiny_words()[best["token"].get<size_t>()]);
  EXPECT_GE(best["score"], record["masks"][0][1]["score"]);
  EXPECT_EQ(json_lines(fill("--text '[MASK] [MASK]' --json").out).at(0)["masks"].size(), 2u);
  const Json targets =
      json_lines(fill("--text '[MASK]' --targets hen,fox --targets 'dog' --json").out).at(0);
  EXPECT_EQ(targets["masks"][0].size(), 3u);
  const Outcome people = fill("--text 'the [MASK] [MASK]' --top-k 2");
  EXPECT_TRUE(people.out.starts_with("mask 1:\n0.")) << people.out;
  EXPECT_EQ(std::count(people.out.begin(), people.out.end(), '\n'), 6) << people.out;
  const Outcome refused = fill("--text 'the fox'");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--text: has no mask token; write [MASK]"), std::string::npos)
      << refused.err;
  std::string text = "[MASK]";
  for (int i = 0; i < 150; ++i) text += " fox";
  put(path("long.txt"), text);
  const Outcome around = fill("long.txt --json");
  EXPECT_EQ(around.code, 0);
  EXPECT_NE(around.err.find("read around what was asked for"), std::string::npos) << around.err;
  EXPECT_EQ(json_lines(around.out).at(0)["tokens"], 151);
}

TEST_F(TextTasks, Choose) {
  const auto choose = [&](const std::string& arguments) {
    return run("choose" + std::string(kModel) + arguments);
  };
  const Outcome lines = choose("--input choices.jsonl");
  ASSERT_EQ(lines.code, 0) << lines.err;
  const std::vector<Json> records = json_lines(lines.out);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1]["scores"].size(), 3u);
  const size_t best = records[0]["choice"].get<size_t>();
  EXPECT_EQ(records[0]["text"], best == 0 ? "runs" : "sleeps");
  EXPECT_EQ(records[0]["score"], records[0]["scores"][best]);
  const Outcome text = choose("--text 'the fox' --choice runs --choice sleeps --json");
  EXPECT_EQ(json_lines(text.out).at(0)["scores"], records[0]["scores"]);
  EXPECT_EQ(json_lines(choose("--text 'the fox' --question runs --choice a --choice in --json").out)
                .at(0)["tokens"],
            4);
  const Outcome people = choose("--text 'the fox' --choice runs --choice sleeps");
  EXPECT_EQ(std::count(people.out.begin(), people.out.end(), '\n'), 2) << people.out;
  EXPECT_TRUE(
      people.out.substr(0, people.out.find('\n')).ends_with(records[0]["text"].get<std::string>()));
  put(path("bad.jsonl"),
      "{\"context\": \"a\", \"choices\": \"b\"}\n{\"context\": \"a\", \"choices\": [1]}\n"
      "{\"context\": \"a\"}\n{\"choices\": [\"a\"]}\n{\"context\": \"a\", \"choices\": []}\n"
      "{\"context\": \"the fox\", \"choices\": [\"runs\", \"sleeps\"]}\n");
  const Outcome bad = choose("--input bad.jsonl");
  EXPECT_EQ(bad.code, 3);
  ASSERT_EQ(json_lines(bad.out).size(), 1u) << bad.out;
  EXPECT_EQ(json_lines(bad.out)[0]["line"], 6);
  EXPECT_NE(bad.err.find("line 3: has no field \"choices\""), std::string::npos) << bad.err;
  EXPECT_NE(bad.err.find("line 4: has no field \"context\""), std::string::npos) << bad.err;
}

}  // namespace
}  // namespace longformer
