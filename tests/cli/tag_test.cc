// tag as a command: records, formats, odd texts and labels, exit codes.
#include "cli/command_fixture.h"

namespace longformer {
namespace {

class TagCommand : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    put_labels(R"({"0": "O", "1": "B-ANIMAL", "2": "I-ANIMAL", "3": "B-PLACE", "4": "I-PLACE"})");
  }
  void put_labels(const std::string& labels) {
    put(path("model/config.json"),
        test::tiny_config("longformer", 65,
                          R"("initializer_range": 1.0, "id2label": )" + labels + ", "));
  }
  Outcome tag(const std::string& arguments, const std::string& input = "/dev/null") {
    return run("tag --model model --allow-new-head " + arguments, "", input);
  }
  Json record(const std::string& arguments) {
    const Outcome result = tag(arguments + " --json");
    EXPECT_TRUE(result.code == 0 || result.code == 4) << result.err;
    return json_lines(result.out).at(0);
  }
  std::string content(const std::string& name) const { return io::read_file(path(name), 64 << 20); }
};

constexpr const char* kAll = " --ignore-labels ''";

TEST_F(TagCommand, EntitiesSayWhereTheyStand) {
  const Json found = record("text.txt" + std::string(kAll));
  EXPECT_EQ(found["file"], "text.txt");
  EXPECT_TRUE(found["line"].is_null());
  EXPECT_EQ(found["windows"], 1);
  EXPECT_EQ(found["labels"], Json::array());
  const std::string text = content("text.txt");
  ASSERT_FALSE(found["entities"].empty());
  size_t end = 0;
  for (const Json& entity : found["entities"]) {
    const auto begin = entity["byte_start"].get<size_t>();
    EXPECT_GE(begin, end);
    end = entity["byte_end"].get<size_t>();
    EXPECT_EQ(entity["text"], text.substr(begin, end - begin));
    EXPECT_EQ(entity["start"], entity["byte_start"]);
    EXPECT_EQ(entity["line_start"], 1 + std::count(text.begin(), text.begin() + long(begin), '\n'));
    EXPECT_TRUE(entity["line_end"] >= entity["line_start"]);
    EXPECT_FALSE(entity.contains("index"));
    EXPECT_FALSE(entity.contains("page_start"));
  }
  const Json tokens = record("text.txt --aggregation none" + std::string(kAll));
  EXPECT_EQ(std::ssize(tokens["entities"]), tokens["tokens"].get<int64_t>());
  int64_t index = 0;
  for (const Json& entity : tokens["entities"]) {
    EXPECT_EQ(entity["index"], ++index);
    EXPECT_FALSE(entity.contains("entity_group"));
  }
}

TEST_F(TagCommand, PeopleReadLines) {
  const Outcome all = tag("text.txt" + std::string(kAll));
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_TRUE(all.out.starts_with("text.txt:\n  0.")) << all.out;
  EXPECT_NE(all.out.find("(line 1, 0-"), std::string::npos) << all.out;
  EXPECT_EQ(std::count(all.out.begin(), all.out.end(), '{'), 0);
  const Outcome none = tag("text.txt --threshold 1.5");
  EXPECT_EQ(none.code, 4);
  EXPECT_NE(none.out.find("no entities"), std::string::npos);
  // Names and texts may hold anything.
  put_labels(R"({"0": "a\u001b[31m", "1": "b\u0007"})");
  const Outcome odd = tag("--text 'fox \x1b[31m dog'");
  EXPECT_EQ(odd.code, 0) << odd.err;
  EXPECT_EQ(odd.out.find('\x1b'), std::string::npos);
  EXPECT_NE(odd.err.find("no label O"), std::string::npos) << odd.err;
  EXPECT_EQ(odd.err.find('\x1b'), std::string::npos);
}

TEST_F(TagCommand, LinesHoldTextsOrWords) {
  put(path("in.jsonl"), R"({"text": "the fox sleeps"})"
                        "\n"
                        R"({"words": ["the", "fox", "", "runs"]})"
                        "\nnonsense\n"
                        R"({"words": ["fox", 7]})"
                        "\n"
                        R"({"other": 1})"
                        "\n"
                        R"({"text": "", "words": ["fox"]})"
                        "\n"
                        R"({"words": []})"
                        "\n");
  const Outcome result = tag("--input in.jsonl" + std::string(kAll));
  EXPECT_EQ(result.code, 3);
  const std::vector<Json> lines = json_lines(result.out);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0]["labels"], Json::array());
  EXPECT_EQ(lines[1]["line"], 2);
  ASSERT_EQ(lines[1]["labels"].size(), 4u);
  EXPECT_EQ(lines[1]["labels"][2], "O");
  for (const Json& entity : lines[1]["entities"]) {
    EXPECT_LT(entity["word_start"], entity["word_end"]);
  }
  EXPECT_EQ(lines[2]["line"], 6);
  EXPECT_TRUE(lines[2]["entities"].empty());
  EXPECT_TRUE(lines[3]["labels"].empty());
  EXPECT_NE(result.err.find("line 3"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("line 4"), std::string::npos);
  EXPECT_NE(result.err.find("list of strings"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("skipped 3 lines"), std::string::npos) << result.err;
  // A field that is named is the only one that is looked at.
  EXPECT_EQ(json_lines(tag("--input in.jsonl --field words").out).size(), 3u);
  EXPECT_EQ(json_lines(tag("--input in.jsonl --field text").out).size(), 2u);
}

TEST_F(TagCommand, OutputsAreContinued) {
  std::string lines;
  for (int i = 0; i < 40; ++i)
    lines += R"({"text": "the old fox runs in the night"})"
             "\n";
  put(path("in.jsonl"), lines);
  ASSERT_EQ(tag("--input in.jsonl --output whole.jsonl").code, 0);
  const std::string whole = content("whole.jsonl");
  put(path("part.jsonl"), whole.substr(0, whole.size() / 2));
  const Outcome result = tag("--input in.jsonl --output part.jsonl");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(content("part.jsonl"), whole);
  EXPECT_NE(result.err.find("continued"), std::string::npos) << result.err;
}

TEST_F(TagCommand, ColumnsHoldEachWord) {
  const Outcome result = tag("text.txt --format conll" + std::string(kAll));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("-DOCSTART-\tO\n\nThe\t")) << result.out;
  EXPECT_TRUE(result.out.ends_with("\n\n"));
  // Words in order, a blank line between the four sentences.
  std::string words;
  int sentences = 0;
  for (size_t at = result.out.find("\n\n") + 2; at < result.out.size();) {
    const size_t end = result.out.find('\n', at);
    const std::string line = result.out.substr(at, end - at);
    if (line.empty()) {
      ++sentences;
    } else {
      EXPECT_EQ(std::count(line.begin(), line.end(), '\t'), 1) << line;
      words += line.substr(0, line.find('\t')) + " ";
    }
    at = end + 1;
  }
  EXPECT_EQ(sentences, 4);
  EXPECT_EQ(words,
            "The fox sleeps in the barn . The hen runs . The old dog eats corn . Rain comes in the "
            "night . ");
  put(path("in.jsonl"), R"({"words": ["the old", "fo\tx", "", "\u001bdog"]})"
                        "\n");
  const Outcome file = tag("--input in.jsonl --format conll --output out.conll");
  ASSERT_EQ(file.code, 0) << file.err;
  EXPECT_EQ(file.out, "");
  const std::string lines = content("out.conll");
  EXPECT_TRUE(lines.starts_with("the_old\t")) << lines;
  EXPECT_NE(lines.find("\nfo_x\t"), std::string::npos) << lines;
  EXPECT_NE(lines.find("\n_\tO\n"), std::string::npos) << lines;
  EXPECT_EQ(lines.find('\x1b'), std::string::npos);
}

TEST_F(TagCommand, BratReadsTheDirectory) {
  // One entity over line breaks of all kinds: fragments between them.
  put_labels(R"({"0": "I-Big Place"})");
  put(path("a/x.txt"), "🙂 fox\r\n  dog\n\nbarn\xE2\x80\xA8hen\n");
  put(path("b/x.txt"), "fox");
  const Outcome result = tag("a/x.txt b/x.txt --format brat --output brat");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(content("brat/x.txt"), content("a/x.txt"));
  EXPECT_EQ(content("brat/x.ann"), "T1\tBig_Place 0 5;9 12;14 18;19 22\t🙂 fox dog barn hen\n");
  EXPECT_EQ(content("brat/x-2.ann"), "T1\tBig_Place 0 3\tfox\n");
  EXPECT_TRUE(content("brat/annotation.conf").starts_with("[entities]\nBig_Place\n"));
  // What is there is not overwritten.
  expect_refused("tag --model model --allow-new-head a/x.txt --format brat --output a", "a");
  EXPECT_FALSE(fs::exists(path("a/x.ann")));
  EXPECT_EQ(tag("gone.txt --format brat --output none").code, 2);
  EXPECT_FALSE(fs::exists(path("none")));
}

TEST_F(TagCommand, OddTexts) {
  for (const std::string text : {"", " ", "\n\n", "\r\n"}) {
    put(path("odd.jsonl"), Json({{"text", text}}).dump() + "\n");
    const Outcome result = tag("--input odd.jsonl" + std::string(kAll));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(json_lines(result.out).at(0)["entities"].empty());
    EXPECT_EQ(tag("--input odd.jsonl --format conll").code, 0);
  }
  EXPECT_EQ(tag("--text ''").code, 4);
  // Characters outside the basic plane, combining ones, CR LF: offsets are code points.
  put(path("odd.jsonl"), Json({{"text", "👩‍👩‍👧 e\u0301 fox\r\nhen"}}).dump() + "\n");
  const Json found =
      json_lines(tag("--input odd.jsonl --aggregation none" + std::string(kAll)).out).at(0);
  const Json& last = found["entities"].back();
  EXPECT_EQ(last["text"], "hen");
  EXPECT_EQ(last["start"], 14);
  EXPECT_EQ(last["line_start"], 2);
  // Bytes that are no UTF-8 become U+FFFD, which the normalizer of BERT removes.
  EXPECT_EQ(record("--text 'fox \xff dog'" + std::string(kAll))["tokens"], 2);
}

TEST_F(TagCommand, ALineOfAMegabyte) {
  std::string text;
  while (text.size() < (1 << 20)) text += "the old fox runs in the long night . ";
  put(path("long.txt"), text);
  const Outcome result = tag("long.txt --format conll --output out.conll");
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string lines = content("out.conll");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\t'),
            1 + std::count(text.begin(), text.end(), ' '));
}

TEST_F(TagCommand, LabelsMayBeAnything) {
  for (const std::string labels :
       {R"({"0": "B", "1": "-"})", R"({"0": "B-", "1": "I-"})", R"({"0": "", "1": "O"})",
        R"({"0": "O"})", R"({"0": "B-A", "1": "E-A", "2": "O"})"}) {
    put_labels(labels);
    for (const std::string aggregation : {"none", "simple", "average"}) {
      const Outcome result = tag("text.txt --json --aggregation " + aggregation + kAll);
      EXPECT_EQ(result.code, 0) << labels << result.err;
      EXPECT_FALSE(json_lines(result.out).at(0)["entities"].empty()) << labels;
    }
  }
  // No names at all.
  put(path("model/config.json"),
      test::tiny_config("longformer", 65, R"("initializer_range": 1.0, )"));
  const Json found = record("text.txt --aggregation none");
  for (const Json& entity : found["entities"]) {
    EXPECT_TRUE(entity["entity"].get<std::string>().starts_with("LABEL_"));
  }
}

TEST_F(TagCommand, BadUsage) {
  const std::string start = "tag --model model --allow-new-head --text fox ";
  expect_refused("tag --model model --text fox", "classifier");
  expect_refused(start + "--aggregation median", "--aggregation");
  expect_refused(start + "--scheme iob7", "--scheme");
  expect_refused(start + "--format xml", "--format");
  expect_refused(start + "--format brat", "--output");
  expect_refused(start + "--format conll --json", "--json");
  expect_refused(start + "--aggregation none --stride 4", "--stride");
  expect_refused(start + "--stride -1", "--stride");
}

TEST_F(TagCommand, LabelsToLeaveOutMustExist) {
  const Outcome result = tag("--text fox --ignore-labels O,PERSON");
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("--ignore-labels: \"PERSON\" is the name of no entity; there are "
                            "ANIMAL, O, PLACE"),
            std::string::npos)
      << result.err;
  EXPECT_EQ(tag("text.txt --ignore-labels O,ANIMAL,PLACE").code, 4);
  EXPECT_EQ(tag("text.txt --ignore-labels B-ANIMAL --aggregation none").code, 0);
}

TEST_F(TagCommand, LongTextsAreNoticed) {
  std::string text;
  for (int i = 0; i < 150; ++i) text += i % 3 == 0 ? "fox " : "rain ";
  put(path("long.txt"), text);
  const Outcome result = tag("long.txt --json" + std::string(kAll));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("longer than the 64 tokens"), std::string::npos) << result.err;
  const Json found = json_lines(result.out).at(0);
  EXPECT_EQ(found["tokens"], 150);
  EXPECT_GT(found["windows"], 2);
  const Json stride = record("long.txt --stride 10");
  EXPECT_EQ(stride["windows"], 3);
  EXPECT_EQ(tag("long.txt --stride 62").code, 2);
}

}  // namespace
}  // namespace longformer
