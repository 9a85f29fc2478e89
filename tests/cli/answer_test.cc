// answer: sources, records, exit codes, over a model whose logits are known.
#include "cli/command_fixture.h"
#include "tasks/word_logits_model.h"

namespace longformer {
namespace {

class AnswerCommand : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    test::write_word_logits_model(path("qa"), "longformer", 32,
                                  {{"fox", {6, 5}}, {"hen", {3, 2}}, {"[CLS]", {1, 1}}});
    put(path("fox.txt"), "rain\r\nin the night\r\nthe old F\xC3\xB3x runs\r\n");
    put(path("hen.md"), "# Barn\n\nred hen eats\n");
    put(path("none.txt"), "rain in the night\n");
  }

  std::vector<Json> records(const std::string& arguments, int code = 0) {
    const Outcome result = run("answer --model qa " + arguments);
    EXPECT_EQ(result.code, code) << arguments << "\n" << result.err;
    err_ = result.err;
    return json_lines(result.out);
  }

  std::string err_;
};

TEST_F(AnswerCommand, SaysWhereTheWordsStand) {
  const std::vector<Json> got = records("'one ?' fox.txt hen.md --json");
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0]["answer"], "F\xC3\xB3x");
  EXPECT_EQ(got[0]["file"], "fox.txt");
  EXPECT_EQ(got[0]["start"], 28);
  EXPECT_EQ(got[0]["end"], 31);
  EXPECT_EQ(got[0]["byte_start"], 28);
  EXPECT_EQ(got[0]["byte_end"], 32);
  EXPECT_EQ(got[0]["line_start"], 3);
  EXPECT_EQ(got[0]["line_end"], 3);
  EXPECT_EQ(got[0]["rank"], 1);
  EXPECT_EQ(got[0]["no_answer"], false);
  EXPECT_EQ(got[0]["question"], "one ?");
  EXPECT_EQ(got[0]["global_tokens"], 3);
  EXPECT_TRUE(got[0]["line"].is_null());
  EXPECT_TRUE(got[0]["id"].is_null());
  EXPECT_EQ(got[1]["answer"], "hen");
  EXPECT_EQ(got[1]["headings"], Json::array({"Barn"}));
  EXPECT_EQ(got[1]["kind"], "markdown");

  const Outcome shown = run("answer --model qa 'one ?' fox.txt hen.md");
  EXPECT_NE(shown.out.find("F\xC3\xB3x\n        fox.txt:3\n"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("hen\n        hen.md:3 \xE2\x80\x94 Barn\n"), std::string::npos);
}

TEST_F(AnswerCommand, ReadsLines) {
  put(path("in.jsonl"),
      R"({"question": "one ?", "context": "a fox", "id": "x1"})"
      "\n{\"question\": \"one ?\"}\n"
      "no JSON\n"
      R"({"question": "one ?", "context": "", "id": 7})"
      "\n"
      R"({"question": "a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a", "context": "fox"})"
      "\n"
      R"({"question": "two ?", "context": "a hen in rain", "id": 8})"
      "\n");
  const std::vector<Json> got = records("--input in.jsonl", 3);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0]["line"], 1);
  EXPECT_EQ(got[0]["id"], "x1");
  EXPECT_EQ(got[0]["answer"], "fox");
  EXPECT_EQ(got[1]["line"], 6);
  EXPECT_EQ(got[1]["id"], "8");
  EXPECT_EQ(got[1]["question"], "two ?");
  EXPECT_EQ(got[1]["start"], 2);
  for (const char* says : {"line 2: ", "line 3: ", "line 4: the text is empty",
                           "line 5: the question has 35 tokens", "skipped 4 lines"}) {
    EXPECT_NE(err_.find(says), std::string::npos) << says << "\n" << err_;
  }
  // One question for all, other names, an output that is continued.
  put(path("other.jsonl"), "{\"body\": \"a fox\"}\n{\"body\": \"a hen\"}\n");
  EXPECT_TRUE(records("'one ?' --input other.jsonl --field body --output out.jsonl").empty());
  const std::string whole = io::read_file(path("out.jsonl"), 1 << 20);
  ASSERT_EQ(json_lines(whole).size(), 2u);
  EXPECT_EQ(json_lines(whole)[1]["answer"], "hen");
  put(path("out.jsonl"), whole.substr(0, whole.size() - 5));
  EXPECT_TRUE(records("'one ?' --input other.jsonl --field body --output out.jsonl").empty());
  EXPECT_EQ(io::read_file(path("out.jsonl"), 1 << 20), whole);
}

TEST_F(AnswerCommand, NoAnswerIsAnAnswer) {
  const std::string files = "'one ?' none.txt fox.txt hen.md ";
  std::vector<Json> got = records(files + "--json --handle-impossible true");
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0]["no_answer"], true);
  EXPECT_EQ(got[0]["answer"], "");
  EXPECT_EQ(got[0]["end"], 0);
  EXPECT_TRUE(got[0]["line_start"].is_null());
  EXPECT_EQ(got[0]["score"], got[0]["null_score"]);
  EXPECT_EQ(got[1]["answer"], "F\xC3\xB3x");
  // Nothing but "no answer": a search that found nothing; of lines, an answer like others.
  got = records("'one ?' none.txt --json --no-answer-threshold 0", 4);
  EXPECT_EQ(got.at(0)["no_answer"], true);
  EXPECT_NE(err_.find("no answer found"), std::string::npos);
  EXPECT_EQ(records("'one ?' none.txt --json --no-answer-threshold 1").at(0)["no_answer"], false);
  put(path("in.jsonl"), "{\"context\": \"rain\"}\n");
  EXPECT_EQ(records("'one ?' --input in.jsonl --handle-impossible true").at(0)["no_answer"], true);
}

TEST_F(AnswerCommand, BestOfAllTexts) {
  const std::string files = "'one ?' none.txt hen.md fox.txt --json --best ";
  std::vector<Json> got = records(files);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0]["file"], "fox.txt");
  got = records(files + "--top-k 3");
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[1]["file"], "hen.md");
  EXPECT_EQ(got[2]["rank"], 3);
  EXPECT_GE(got[1]["score"], got[2]["score"]);
  got = records("'one ?' none.txt --json --best --handle-impossible true", 4);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0]["no_answer"], true);
  EXPECT_TRUE(got[0]["file"].is_null());
}

TEST_F(AnswerCommand, ReadsTheBestDocumentsOfAnIndex) {
  ASSERT_EQ(run("index --model model fox.txt hen.md none.txt --output index").code, 0);
  const std::vector<Json> all = records("'hen eats' --index index --documents 3 --json");
  EXPECT_EQ(all.size(), 3u);
  const std::vector<Json> found = json_lines(run("search 'hen eats' --index index --json").out);
  const std::vector<Json> one = records("'hen eats' --index index --documents 1 --json");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]["file"], found.at(0)["file"]);
  EXPECT_EQ(records("'hen eats' --index index --path '*.md' --json").at(0)["answer"], "hen");
  // What is gone is named; the rest is read.
  fs::remove(path("none.txt"));
  EXPECT_EQ(records("'hen eats' --index index --json", 3).size(), 2u);
  EXPECT_NE(err_.find("none.txt"), std::string::npos);
}

TEST_F(AnswerCommand, WindowsAreNamed) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "a ";
  put(path("long.txt"), text + "fox");
  const std::vector<Json> got =
      records("'one ?' long.txt --json --max-seq-len 16 --stride 1 --batch-tokens 1");
  EXPECT_EQ(got.at(0)["windows"], 4);
  EXPECT_EQ(got[0]["tokens"], 43);
  EXPECT_EQ(got[0]["start"], 80);
  EXPECT_NE(err_.find("longer than the 16 tokens"), std::string::npos) << err_;
}

TEST_F(AnswerCommand, RefusesWhatMakesNoSense) {
  expect_refused("answer --model qa", "the QUESTION is missing");
  expect_refused("answer --model qa ''", "the QUESTION is empty");
  expect_refused("answer --model qa 'one ?'", "nothing to read");
  expect_refused("answer --model qa 'one ?' fox.txt --text fox", "more than one thing to read");
  expect_refused("answer --model qa 'one ?' fox.txt --max-seq-len 33", "reads: 32 tokens");
  expect_refused("answer --model qa 'one ?' --text fox --stride 99",
                 "a stride of 99 must be below");
  expect_refused("answer --model qa 'one ?' --input x --best", "--input excludes --best");
  expect_refused("answer --model qa 'one ?' fox.txt --top-k 0", "--top-k");
  expect_refused("answer --model qa 'one ?' fox.txt --documents 2", "--documents requires --index");
  expect_refused("answer --model model 'one ?' fox.txt", "qa_outputs");
}

}  // namespace
}  // namespace longformer
