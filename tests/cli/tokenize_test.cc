// The options of `tokenize`.
#include "command_fixture.h"

namespace longformer {
namespace {

using Tokenize = Command;

std::vector<Json> tokens_of(const Outcome& result) {
  std::vector<Json> tokens;
  for (const Json& line : json_lines(result.out)) tokens.push_back(line["tokens"]);
  return tokens;
}

TEST_F(Tokenize, RecordHasAllKeys) {
  put(path("a.txt"), "the foxs");
  const std::vector<Json> lines = json_lines(run("tokenize --model bert --json a.txt").out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], Json::parse(R"({"file": "a.txt", "window": 0, "input_ids": [2, 12, 8, 30, 3],
      "tokens": ["[CLS]", "the", "fox", "##s", "[SEP]"],
      "offsets": [[0, 0], [0, 3], [4, 7], [7, 8], [0, 0]], "type_ids": [0, 0, 0, 0, 0],
      "sequence_ids": [-1, 0, 0, 0, -1], "words": [-1, 0, 1, 1, -1]})"));
}

TEST_F(Tokenize, Pairs) {
  put(path("a.txt"), "the fox");
  put(path("b.txt"), "\xC3\xA9 hen");
  const Outcome result = run("tokenize --model bert --json a.txt --pair b.txt");
  ASSERT_EQ(result.code, 0) << result.err;
  const Json record = json_lines(result.out).at(0);
  EXPECT_EQ(record["tokens"],
            Json::parse(R"(["[CLS]", "the", "fox", "[SEP]", "[UNK]", "hen", "[SEP]"])"));
  EXPECT_EQ(record["type_ids"], Json::parse("[0, 0, 0, 0, 1, 1, 1]"));
  EXPECT_EQ(record["sequence_ids"], Json::parse("[-1, 0, 0, -1, 1, 1, -1]"));
  EXPECT_EQ(record["offsets"][5], Json::parse("[2, 5]"));
}

TEST_F(Tokenize, NothingIsCutUnlessAsked) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "fox ";
  put(path("a.txt"), text);
  // The tokenizer's files say 128.
  EXPECT_EQ(json_lines(run("tokenize --model bert --json a.txt").out).at(0)["input_ids"].size(),
            302u);
  const Outcome result = run("tokenize --model bert --json --max-length 102 --stride 20 a.txt");
  EXPECT_EQ(result.code, 0);
  const std::vector<Json> windows = json_lines(result.out);
  ASSERT_EQ(windows.size(), 4u);
  for (size_t i = 0; i < windows.size(); ++i) {
    EXPECT_EQ(windows[i]["window"], i);
    EXPECT_EQ(windows[i]["offsets"][1][0], 4 * 80 * i);
  }
  EXPECT_EQ(windows[3]["input_ids"].size(), 62u);
  EXPECT_NE(result.err.find("1 of 1 text does not fit in 102 tokens"), std::string::npos)
      << result.err;
}

TEST_F(Tokenize, StrategiesAndSides) {
  put(path("a.txt"), "one two three four five");
  put(path("b.txt"), "fox hen barn");
  const auto tokens = [&](const std::string& options) {
    return tokens_of(run("tokenize --model bert --json --special-tokens false a.txt " + options));
  };
  EXPECT_EQ(tokens("--max-length 4"),
            (std::vector<Json>{{"one", "two", "three", "four"}, {"five"}}));
  EXPECT_EQ(tokens("--max-length 4 --truncation-side left"),
            (std::vector<Json>{{"two", "three", "four", "five"}, {"one"}}));
  EXPECT_EQ(tokens("--max-length 6 --pair b.txt"),
            (std::vector<Json>{{"one", "two", "three", "fox", "hen", "barn"},
                               {"four", "five", "fox", "hen", "barn"}}));
  EXPECT_EQ(tokens("--max-length 6 --pair b.txt --truncation only-second"),
            (std::vector<Json>{{"one", "two", "three", "four", "five", "fox"},
                               {"one", "two", "three", "four", "five", "hen"},
                               {"one", "two", "three", "four", "five", "barn"}}));
}

TEST_F(Tokenize, Words) {
  put(path("w.txt"), "the foxs\r\n\nhen");
  put(path("w.json"), R"(["the foxs", "", "hen"])");
  const std::vector<Json> lines =
      json_lines(run("tokenize --model bert --json --words w.txt w.json").out);
  ASSERT_EQ(lines.size(), 2u);
  for (const Json& line : lines) {
    EXPECT_EQ(line["tokens"], Json::parse(R"(["[CLS]", "the", "fox", "##s", "hen", "[SEP]"])"));
    EXPECT_EQ(line["words"], Json::parse("[-1, 0, 0, 0, 2, -1]"));
    EXPECT_EQ(line["offsets"], Json::parse("[[0, 0], [0, 3], [4, 7], [7, 8], [0, 3], [0, 0]]"));
  }
  put(path("bad.json"), R"(["a", 1])");
  const Outcome bad = run("tokenize --model bert --json --words bad.json w.txt");
  EXPECT_EQ(bad.code, 3);
  EXPECT_NE(bad.err.find("must be a list of strings"), std::string::npos) << bad.err;
}

TEST_F(Tokenize, DecodesWhatItPrints) {
  put(path("a.txt"), "the foxs , old");
  put(path("ids.txt"), run("tokenize --model bert --json a.txt").out + "2 12, 8\n[30,3]\n\n");
  const Outcome plain = run("tokenize --model bert --decode ids.txt");
  EXPECT_EQ(plain.out, "the foxs, old\nthe fox\n##s\n\n") << plain.err;
  const Outcome kept =
      run("tokenize --model bert --decode --skip-special-tokens false --json ids.txt");
  const std::vector<Json> lines = json_lines(kept.out);
  ASSERT_EQ(lines.size(), 4u) << kept.err;
  EXPECT_EQ(lines[0],
            Json::parse(R"({"file": "ids.txt", "line": 1, "text": "[CLS] the foxs, old [SEP]"})"));
  EXPECT_EQ(lines[3]["line"], 4);
}

TEST_F(Tokenize, DecodeSaysWhatItLeftOut) {
  put(path("ids.txt"), "12 99999 8\n");
  const Outcome result = run("tokenize --model bert --decode ids.txt");
  EXPECT_EQ(result.out, "the fox\n");
  EXPECT_NE(result.err.find("1 id has no token"), std::string::npos) << result.err;
  for (const std::string bad : {"12 x", "12 -1", "[1, \"a\"]", "{\"ids\": [1]}", "[[1]]", "[1",
                                "1.5", "99999999999999999999"}) {
    put(path("bad.txt"), "1\n" + bad + "\n");
    const Outcome refused = run("tokenize --model bert --decode bad.txt");
    EXPECT_EQ(refused.code, 2) << bad;
    EXPECT_NE(refused.err.find("line 2"), std::string::npos) << bad << refused.err;
  }
}

TEST_F(Tokenize, RefusesWhatCannotBeMet) {
  expect_refused("tokenize --model bert --max-length 2 text.txt", "leaves no room for text");
  expect_refused("tokenize --model bert --max-length 10 --stride 8 text.txt", "must lie in 0..7");
  expect_refused("tokenize --model bert --stride 8 text.txt", "--max-length");
  expect_refused("tokenize --model bert --max-length 9 --truncation only-second text.txt",
                 "needs a second text");
  expect_refused("tokenize --model bert --decode --words text.txt", "--words");
  expect_refused("tokenize --model bert --skip-special-tokens false text.txt", "--decode");
  expect_refused("tokenize --model bert --special-tokens maybe text.txt", "maybe");
  expect_refused("tokenize --model bert --pair gone.txt text.txt", "--pair gone.txt");
  expect_refused("tokenize --model bert --pair - -", "only one of the two texts");
}

// Settings that one text cannot meet: it is skipped with the reason, the others are printed.
TEST_F(Tokenize, TextsThatCannotBeCutAreSkipped) {
  put(path("short.txt"), "fox");
  put(path("long.txt"), "one two three four five fox hen");
  put(path("b.txt"), "one two three");
  const Outcome result = run(
      "tokenize --model bert --json --max-length 8 --stride 2 --truncation only-first --pair b.txt "
      "long.txt short.txt");
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_EQ(tokens_of(result),
            (std::vector<Json>{{"[CLS]", "fox", "[SEP]", "one", "two", "three", "[SEP]"}}));
  EXPECT_NE(result.err.find("long.txt"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("choose a smaller stride"), std::string::npos) << result.err;
}

// A large file comes in parts; offsets and windows count on.
TEST_F(Tokenize, LargeFilesCountOn) {
  // Long words, each one unknown token: many bytes, few tokens.
  const std::string row = "\xC3\xA9" + std::string(2000, 'x') + " fox\n";
  const int64_t rows = (9 << 20) / static_cast<int64_t>(row.size());
  std::string text;
  for (int64_t i = 0; i < rows; ++i) text += row;
  text += "moon";
  put(path("large.txt"), text);
  const std::vector<Json> lines = json_lines(run("tokenize --model bert --json large.txt").out);
  ASSERT_GE(lines.size(), 2u);
  int64_t tokens = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["window"], i);
    tokens += static_cast<int64_t>(lines[i]["input_ids"].size()) - 2;
  }
  const int64_t characters = rows * static_cast<int64_t>(row.size() - 1);
  EXPECT_EQ(tokens, rows * 2 + 1);
  const Json& last = lines.back()["offsets"];
  EXPECT_EQ(last[last.size() - 2], Json({characters, characters + 4}));
}

}  // namespace
}  // namespace longformer
