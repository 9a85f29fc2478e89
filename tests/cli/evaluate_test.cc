// evaluate: files of gold labels and predictions, small enough to count by hand.
#include <cmath>

#include "cli/command_fixture.h"
#include "tasks/word_logits_model.h"

namespace longformer {
namespace {

class Evaluate : public Command {
 protected:
  Json evaluate(const std::string& arguments, int code = 0) {
    const Outcome result = run("evaluate " + arguments + " --json");
    EXPECT_EQ(result.code, code) << result.err;
    err_ = result.err;
    return result.out.empty() ? Json() : Json::parse(result.out);
  }
  std::string err_;
};

constexpr const char* kSquad =
    R"({"version": "v2.0", "data": [{"paragraphs": [{"qas": [
      {"id": "1", "answers": [{"text": "The red fox"}]}, {"id": "2", "answers": []}]}]}]})";

TEST_F(Evaluate, ClassificationInOrderAndById) {
  put(path("gold.csv"), "text,label\r\n\"a, b\r\nc\",yes\r\n\"d \"\"e\"\"\",no\r\nf,yes\r\n");
  put(path("pred.jsonl"), "{\"label\": \"yes\"}\n{\"label\": \"yes\"}\n\n{\"label\": \"yes\"}\n");
  const Json result = evaluate("--task classification --data gold.csv --predictions pred.jsonl");
  EXPECT_EQ(result["items"], 3);
  EXPECT_DOUBLE_EQ(result["metrics"]["accuracy"].get<double>(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(result["metrics"]["f1_macro"].get<double>(), 0.4);
  EXPECT_EQ(result["labels"]["no"]["support"], 1);
  put(path("gold.tsv"), "id\tgold\na\t1\nb\t0\n");
  put(path("byid.jsonl"), "{\"id\": \"b\", \"guess\": 0}\n{\"id\": \"a\", \"guess\": 1.0}\n");
  EXPECT_EQ(evaluate("--task classification --data gold.tsv --predictions byid.jsonl "
                     "--label-field gold --prediction-field guess")["metrics"]["accuracy"],
            1);
}

// As many classes as a file may well have; a search for each name among the others takes minutes.
TEST_F(Evaluate, ManyClasses) {
  const int64_t count = 300'000;
  std::string classes, labels, tags;
  for (int64_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i), comma = i == 0 ? "" : ", ";
    classes += "{\"label\": " + number + "}\n";
    labels += comma + number;
    tags += comma + "\"B-" + number + "\"";
  }
  put(path("classes.jsonl"), classes);
  put(path("labels.jsonl"), "{\"label\": [" + labels + "]}\n");
  put(path("tags.jsonl"), "{\"tags\": [" + tags + "]}\n");
  for (const auto& [task, file] :
       {std::pair{"classification", "classes"}, {"multi-label", "labels"}, {"entities", "tags"}}) {
    const std::string name = std::string(file) + ".jsonl";
    const Outcome result = run("evaluate --json --task " + std::string(task) + " --data " + name +
                               " --predictions " + name);
    ASSERT_EQ(result.code, 0) << result.err;
    // Not Json: its objects are searched for each key.
    const auto record = nlohmann::json::parse(result.out);
    EXPECT_EQ(record["labels"].size(), static_cast<size_t>(count)) << task;
    EXPECT_EQ(record["labels"]["77777"]["recall"], 1) << task;
  }
}

TEST_F(Evaluate, BadRecordsAreNamedAndTheRestGoesOn) {
  put(path("gold.csv"), "label\na\n\"b\"x\n\"c\nc\",1\nd\n");
  put(path("pred.jsonl"),
      "{\"label\": \"a\"}\n{\"label\": \"b\"}\n{\"label\": \"c\"}\n{\"label\": [1]}\n");
  const Json result = evaluate("--task classification --data gold.csv --predictions pred.jsonl", 3);
  EXPECT_EQ(result["items"], 1);
  EXPECT_EQ(result["skipped"], 3);
  for (const char* says : {"gold.csv line 3: has text behind", "gold.csv line 4: has 2 fields",
                           "pred.jsonl line 4: the field"}) {
    EXPECT_NE(err_.find(says), std::string::npos) << says << "\n" << err_;
  }
}

TEST_F(Evaluate, WholeNumbersBeyond64BitsMustBeStrings) {
  const std::string large = "12345678901234567890123", next = "12345678901234567890124";
  put(path("gold.jsonl"), "{\"x\": [\"a\\\"1\", {\"y\": " + large + "}], \"label\": 1}\n" +
                              "{\"label\": " + large + "}\n{\"label\": \"" + next + "\"}\n" +
                              "{\"x\": 7, \"label\": -9223372036854775809}\n" +
                              "{\"label\": -9223372036854775808}\n" +
                              "{\"label\": 18446744073709551615}\n{\"label\": 1e30}\n");
  const std::string data = " --data gold.jsonl --predictions gold.jsonl";
  const Json result = evaluate("--task classification" + data, 3);
  EXPECT_EQ(result["items"], 5);
  EXPECT_EQ(result["labels"].size(), 5u);
  for (const char* line : {"line 2", "line 4"}) {
    EXPECT_NE(err_.find("gold.jsonl " + std::string(line) +
                        ": the field \"label\" is a whole number "
                        "beyond 64 bits: write it as a string"),
              std::string::npos)
        << err_;
  }
  put(path("sets.jsonl"), "{\"label\": [1, " + large + "]}\n{\"label\": [1]}\n");
  evaluate("--task multi-label --data sets.jsonl --predictions sets.jsonl", 3);
  EXPECT_NE(err_.find("holds a whole number beyond 64 bits"), std::string::npos) << err_;
  put(path("ids.jsonl"), "{\"id\": " + large + ", \"label\": 1}\n{\"id\": 2, \"label\": 1}\n");
  EXPECT_EQ(evaluate("--task classification --data ids.jsonl --predictions ids.jsonl", 3)["items"],
            1);
  put(path("run.jsonl"), "{\"query\": " + large + ", \"document\": 1, \"score\": 1}\n" +
                             "{\"query\": 1, \"document\": 1, \"score\": " + large + "}\n");
  put(path("qrels.jsonl"), "{\"query\": 1, \"document\": 1, \"relevance\": 1}\n");
  EXPECT_EQ(
      evaluate("--task ranking --data qrels.jsonl --predictions run.jsonl", 3)["metrics"]["map"],
      1);
  EXPECT_NE(err_.find("run.jsonl line 1: its query or document is a whole number beyond"),
            std::string::npos)
      << err_;
  put(path("squad.jsonl"), "{\"id\": " + large + ", \"answers\": [\"a\"], \"answer\": \"a\"}\n" +
                               "{\"id\": 1, \"answers\": [\"a\"], \"answer\": \"a\"}\n");
  EXPECT_EQ(evaluate("--task squad --data squad.jsonl --predictions squad.jsonl", 3)["items"], 1);
  EXPECT_NE(err_.find("squad.jsonl line 1: its id is a whole number beyond"), std::string::npos)
      << err_;
  // As a number it is as good as its double.
  put(path("one.jsonl"), "{\"label\": " + large + "}\n{\"label\": 0}\n");
  EXPECT_EQ(
      evaluate("--task regression --data one.jsonl --predictions one.jsonl")["metrics"]["mse"], 0);
}

TEST_F(Evaluate, MessagesNameFileAndPlace) {
  put(path("log.jsonl"),
      "{\"log_probability\": 1}\n{\"log_probability\": [-2, 0.5]}\n"
      "{\"log_probability\": -1}\n");
  const Json masked = evaluate("--task mlm --predictions log.jsonl", 3);
  EXPECT_EQ(masked["metrics"]["tokens"], 1);
  EXPECT_EQ(masked["metrics"]["loss"], 1);
  EXPECT_NE(err_.find("log.jsonl line 1: the field \"log_probability\" is above 0"),
            std::string::npos)
      << err_;
  EXPECT_NE(err_.find("log.jsonl line 2"), std::string::npos) << err_;
  put(path("none.jsonl"), "{\"log_probability\": []}\n");
  expect_refused("evaluate --task mlm --predictions none.jsonl", "none.jsonl: has no masked token");
  put(path("good.jsonl"), "{\"tags\": [\"B-A\"]}\n{\"tags\": [\"O\", \"O\"]}\n");
  put(path("bad.jsonl"), "{\"tags\": [\"B-A\"]}\n{\"tags\": [\"O\", \"X-A\"]}\n");
  const std::string entities = "evaluate --task entities ";
  expect_refused(entities + "--data good.jsonl --predictions bad.jsonl",
                 "bad.jsonl sentence 2: token 2 has a tag");
  expect_refused(entities + "--data bad.jsonl --predictions good.jsonl",
                 "bad.jsonl sentence 2: token 2 has a tag");
  put(path("empty.jsonl"), "");
  expect_refused(entities + "--data empty.jsonl --predictions empty.jsonl",
                 "empty.jsonl: there is nothing to evaluate");
  expect_refused("evaluate --task regression --data empty.jsonl --predictions empty.jsonl",
                 "empty.jsonl: there is nothing to evaluate");
  put(path("far.csv"), "label\n1e200\n");
  put(path("near.csv"), "label\n0\n");
  expect_refused("evaluate --task regression --data near.csv --predictions far.csv",
                 "far.csv: predictions differ so much");
}

TEST_F(Evaluate, HostileFiles) {
  put(path("gold.jsonl"), "{\"label\": 1}\n");
  const std::string deep(100000, '[');
  put(path("pred.jsonl"), deep + "\n");
  const std::string arguments = "evaluate --task classification --data gold.jsonl --predictions ";
  const Outcome outcome = run(arguments + "pred.jsonl");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("pred.jsonl line 1"), std::string::npos) << outcome.err;
  put(path("nul.jsonl"), std::string("{\"label\": \"\0\"}\n", 15));
  EXPECT_NE(run(arguments + "nul.jsonl").err.find("NUL"), std::string::npos);
  put(path("utf8.csv"), "label\n\xFF\n");
  EXPECT_NE(run(arguments + "utf8.csv").err.find("not valid UTF-8"), std::string::npos);
  put(path("open.csv"), "label\n\"a\nb\n");
  EXPECT_NE(run(arguments + "open.csv").err.find("never ends"), std::string::npos);
  put(path("twice.csv"), "label,label\n1,1\n");
  expect_refused(arguments + "twice.csv", "names column \"label\" twice");
  put(path("empty.csv"), "");
  expect_refused(arguments + "empty.csv", "header");
  expect_refused(arguments + "absent.csv", "absent.csv");
}

TEST_F(Evaluate, WhatDoesNotFitIsNamed) {
  put(path("two.jsonl"), "{\"label\": 1, \"id\": 1}\n{\"label\": 2, \"id\": 2}\n");
  put(path("one.jsonl"), "{\"label\": 1}\n");
  put(path("other.jsonl"), "{\"label\": 1, \"id\": 1}\n{\"label\": 2, \"id\": 3}\n");
  put(path("twice.jsonl"), "{\"label\": 1, \"id\": 1}\n{\"label\": 2, \"id\": 1}\n");
  const std::string gold = "evaluate --data two.jsonl --task classification --predictions ";
  expect_refused(gold + "one.jsonl", "has 1 records, two.jsonl has 2");
  expect_refused(gold + "other.jsonl", "other.jsonl line 2: its id is not in two.jsonl");
  expect_refused(gold + "twice.jsonl", "twice.jsonl line 2: its id stood");
  expect_refused(gold + "two.jsonl --prediction-field guess", "no record has the field \"guess\"");
  expect_refused(gold + "two.jsonl --scheme IOB2", "--scheme: does not go with classification");
  expect_refused("evaluate --task regression --predictions one.jsonl", "--data");
  expect_refused("evaluate --task mlm --data two.jsonl --predictions one.jsonl", "--data");
}

TEST_F(Evaluate, MultiLabelRegressionMaskedTokens) {
  put(path("gold.jsonl"), "{\"label\": [\"a\", \"b\"]}\n{\"label\": []}\n");
  put(path("pred.csv"), "label\n\"a\"\n,\n");
  put(path("pred.tsv"), "label\tx\na\t1\n\t1\n");
  const Json sets = evaluate("--task multi-label --data gold.jsonl --predictions pred.tsv");
  EXPECT_EQ(sets["metrics"]["accuracy"], 0.5);
  EXPECT_DOUBLE_EQ(sets["metrics"]["f1_micro"].get<double>(), 2.0 / 3);
  put(path("x.csv"), "label\n1\n2\n3\n");
  put(path("y.csv"), "label\n1\n1\n1e0\n");
  const Json numbers = evaluate("--task regression --data x.csv --predictions y.csv");
  EXPECT_DOUBLE_EQ(numbers["metrics"]["mse"].get<double>(), 5.0 / 3);
  EXPECT_TRUE(numbers["metrics"]["pearson"].is_null());
  put(path("log.jsonl"),
      "{\"log_probability\": [-0.6931471805599453, -2.0794415416798357]}\n"
      "{\"log_probability\": -1.3862943611198906}\n");
  const Json masked = evaluate("--task mlm --predictions log.jsonl");
  EXPECT_DOUBLE_EQ(masked["metrics"]["bits"].get<double>(), 2);
  EXPECT_EQ(masked["metrics"]["tokens"], 3);
}

TEST_F(Evaluate, Squad) {
  put(path("gold.json"), kSquad);
  put(path("pred.json"), R"({"1": "red fox", "2": "hen"})");
  put(path("none.json"), R"({"1": 0.1, "2": 0.9})");
  const Json plain = evaluate("--task squad --data gold.json --predictions pred.json")["metrics"];
  EXPECT_EQ(plain["exact"], 50);
  EXPECT_EQ(plain["HasAns_f1"], 100);
  EXPECT_EQ(plain["NoAns_exact"], 0);
  EXPECT_FALSE(plain.contains("best_f1"));
  const Json chosen = evaluate(
      "--task squad --data gold.json --predictions pred.json --no-answer-probabilities "
      "none.json --no-answer-threshold 0.5")["metrics"];
  EXPECT_EQ(chosen["exact"], 100);
  EXPECT_EQ(chosen["best_f1"], 100);
  EXPECT_EQ(chosen["best_f1_thresh"], 0.1);
  put(path("pred.jsonl"), "{\"id\": \"1\", \"answer\": \"fox\"}\n");
  expect_refused(
      "evaluate --task squad --data gold.json --predictions pred.jsonl --allow-missing "
      "--no-answer-threshold 0.5",
      "--no-answer-threshold: the predictions have no probabilities");
  expect_refused("evaluate --task squad --data gold.json --predictions pred.jsonl",
                 "question \"2\": has no prediction");
  const Json missing =
      evaluate("--task squad --data gold.json --predictions pred.jsonl --allow-missing");
  EXPECT_EQ(missing["missing"], 1);
  EXPECT_DOUBLE_EQ(missing["metrics"]["f1"].get<double>(), 100.0 / 3);
}

TEST_F(Evaluate, BrokenSquadFilesNameThePlace) {
  const auto refused = [&](const std::string& gold, const std::string& says) {
    put(path("gold.json"), gold);
    put(path("pred.json"), "{}");
    expect_refused("evaluate --task squad --data gold.json --predictions pred.json", says);
  };
  refused("{}", "has no \"data\"");
  refused("{\"data\": 1}", "gold.json.data: must be a list");
  refused("{\"data\": [{\"paragraphs\": [{\"qas\": [{\"id\": 1}]}]}]}",
          "gold.json.data[0].paragraphs[0].qas[0].id: must be a string");
  refused(R"({"data": [{"paragraphs": [{"qas": [{"id": "1", "answers": []},
             {"id": "1", "answers": []}]}]}]})",
          "qas[1]: its id stands twice");
  refused("{\"data\": []}", "no question");
  refused("[", "byte");
  put(path("gold.json"), kSquad);
  put(path("pred.json"), R"({"1": "x", "2": "", "3": ""})");
  expect_refused("evaluate --task squad --data gold.json --predictions pred.json",
                 "question \"3\": is predicted and not in the data");
}

TEST_F(Evaluate, TriviaQaByQuestionAndByDocument) {
  put(path("wiki.json"), R"({"Domain": "Wikipedia", "Data": [{"QuestionId": "q",
    "Answer": {"NormalizedAliases": ["sunset blvd"], "HumanAnswers": ["Sunset Boulevard!"]}}]})");
  put(path("pred.json"), R"({"q": "the Sunset_Boulevard"})");
  EXPECT_EQ(
      evaluate(
          "--task triviaqa --data wiki.json --predictions pred.json")["metrics"]["exact_match"],
      100);
  put(path("web.json"), R"({"Domain": "Web", "Data": [{"QuestionId": "q",
    "Answer": {"NormalizedAliases": ["x"]}, "EntityPages": [{"Filename": "a.txt"}],
    "SearchResults": [{"Filename": "b.txt"}]}]})");
  put(path("pred.json"), R"({"q--a.txt": "x", "q--b.txt": "y"})");
  EXPECT_EQ(evaluate("--task triviaqa --data web.json --predictions pred.json")["metrics"]["f1"],
            50);
}

TEST_F(Evaluate, Entities) {
  put(path("both.conll"),
      "-DOCSTART- O O\n\nAnna B-PER B-PER\nLee I-PER O\n\nParis\tB-LOC\tB-LOC\n");
  const Json result =
      evaluate("--task entities --data both.conll --predictions both.conll --label-column -2");
  EXPECT_EQ(result["items"], 2);
  EXPECT_EQ(result["metrics"]["overall_f1"], 0.5);
  EXPECT_EQ(result["labels"]["LOC"]["f1"], 1);
  put(path("bad.conll"), "Anna B-PER\nLee\n\nParis B-LOC\n");
  put(path("tags.jsonl"), "{\"tags\": [\"B-PER\", \"O\"]}\n{\"tags\": [\"B-LOC\"]}\n");
  const Json rest =
      evaluate("--task entities --data bad.conll --predictions tags.jsonl --label-column 1", 3);
  EXPECT_EQ(rest["items"], 1);
  EXPECT_NE(err_.find("bad.conll line 2: has 1 columns"), std::string::npos) << err_;
  expect_refused("evaluate --task entities --data both.conll --predictions tags.jsonl --scheme BIO",
                 "IOB2");
  put(path("short.jsonl"), "{\"tags\": [\"B-PER\"]}\n{\"tags\": [\"B-LOC\"]}\n");
  expect_refused("evaluate --task entities --data both.conll --predictions short.jsonl",
                 "sentence 1 has 1 tags, in both.conll 2");
}

TEST_F(Evaluate, Ranking) {
  put(path("qrels"), "q1 0 a 1\nq1 0 b 0\nq2 0 a 2\n");
  put(path("run"), "q1 Q0 b 1 2.5 x\nq1 Q0 a 2 1.5 x\nq3 Q0 a 1 1 x\nq1 Q0 a 3 1 x\nq1 Q0 c\n");
  const Json result = evaluate("--task ranking --data qrels --predictions run --cuts 1,2", 3);
  EXPECT_EQ(result["items"], 2);
  EXPECT_EQ(result["missing"], 1);
  EXPECT_EQ(result["metrics"]["recip_rank"], 0.25);
  EXPECT_EQ(result["metrics"]["recall_2"], 0.5);
  EXPECT_EQ(result["metrics"]["P_1"], 0);
  EXPECT_EQ(result["metrics"]["queries_without_judgements"], 1);
  EXPECT_NE(err_.find("run line 4: its query and document stood"), std::string::npos) << err_;
  EXPECT_NE(err_.find("run line 5: has 3 columns"), std::string::npos) << err_;
  put(path("beir.tsv"), "query-id\tcorpus-id\tscore\nq1\ta\t1\n");
  put(path("run.jsonl"), "{\"query\": \"q1\", \"document\": \"a\", \"score\": 0.5}\n");
  EXPECT_EQ(evaluate("--task ranking --data beir.tsv --predictions run.jsonl")["metrics"]["map"],
            1);
}

TEST_F(Evaluate, AModelAnswersTheQuestions) {
  // A fox answers with 6 + 5, a hen with 3 + 2, no answer scores 1 + 1, other words 0.
  test::write_word_logits_model(path("qa"), "bert", 32,
                                {{"fox", {6, 5}}, {"hen", {3, 2}}, {"[CLS]", {1, 1}}});
  const auto squad = [&](const std::string& third, int code = 0) {
    put(path("dev.json"), R"({"data": [{"paragraphs": [
      {"context": "the old fox runs", "qas": [
        {"id": "1", "question": "one ?", "answers": [{"text": "The fox"}]},
        {"id": "2", "question": "two ?", "answers": [{"text": "old fox"}, {"text": "runs"}]}]},
      {"context": "rain in the night", "qas": [)" +
                              third + "]}]}]}");
    return evaluate("--task squad --data dev.json --model qa", code);
  };
  // No answer is one, so "rain" has none: two of three, and of "fox" against "old fox" F1 is 2/3.
  const Json two = squad(R"({"id": "3", "question": "one ?", "answers": []})")["metrics"];
  EXPECT_DOUBLE_EQ(two["exact"].get<double>(), 200.0 / 3);
  EXPECT_DOUBLE_EQ(two["f1"].get<double>(), (100 + 200.0 / 3 + 100) / 3);
  EXPECT_EQ(two["NoAns_exact"], 100);
  EXPECT_EQ(two["best_exact"], two["exact"]);
  // Best where 1 is answered and 3 is not: at the probability of no answer for 1.
  const double e = std::exp(1.0);
  EXPECT_NEAR(two["best_exact_thresh"].get<double>(),
              e / (e + 3 + std::exp(6.0)) * e / (e + 3 + std::exp(5.0)), 1e-6);
  // Where every question has an answer, a model must find one.
  const Json one =
      squad(R"({"id": "3", "question": "one ?", "answers": [{"text": "hen"}]})")["metrics"];
  EXPECT_DOUBLE_EQ(one["exact_match"].get<double>(), 100.0 / 3);
  EXPECT_FALSE(one.contains("NoAns_exact"));

  test::write_word_logits_model(path("two"), "bert", 32, {{"fox", {6, 0}}, {"runs", {0, 5}}});
  const std::string length = "--task squad --data dev.json --model two --max-answer-length ";
  EXPECT_EQ(evaluate(length + "2")["metrics"]["f1"], evaluate(length + "15")["metrics"]["f1"]);
  // "fox" alone is right once, and "fox runs" never; of either one word is in "old fox".
  EXPECT_DOUBLE_EQ(evaluate(length + "1")["metrics"]["exact_match"].get<double>(), 100.0 / 3);
  EXPECT_EQ(evaluate(length + "2")["metrics"]["exact_match"], 0);

  put(path("rows.jsonl"),
      R"({"id": "a", "question": "one ?", "passage": "a hen in rain", "answers": ["hen"]})"
      "\n");
  EXPECT_EQ(
      evaluate("--task squad --data rows.jsonl --model qa --text-field passage")["metrics"]
                                                                                ["exact_match"],
      100);
  expect_refused("evaluate --task squad --data rows.jsonl --model qa",
                 "question \"a\": the text is empty");
  // One that cannot be asked is named and wrong; the rest goes on.
  const Json rest = squad(R"({"id": "3", "question": "", "answers": []})", 3);
  EXPECT_EQ(rest["missing"], 1);
  EXPECT_EQ(rest["skipped"], 1);
  EXPECT_DOUBLE_EQ(rest["metrics"]["exact"].get<double>(), 100.0 / 3);
  EXPECT_NE(err_.find("question \"3\": the question is empty; counts as wrong"), std::string::npos)
      << err_;
  put(path("gold.json"), kSquad);
  expect_refused("evaluate --task squad --data gold.json --model qa",
                 "question \"1\": the question is empty");
}

TEST_F(Evaluate, AModelNeedsTheHeadAndNoPredictions) {
  put(path("rows.jsonl"), R"({"text": "a fox", "label": "yes", "words": ["a"], "tags": ["O"]})"
                          "\n");
  const std::string start = "evaluate --data rows.jsonl --model model --task ";
  expect_refused(start + "classification", "classifier");
  expect_refused(start + "entities", "classifier");
  expect_refused(start + "mlm", "lm_head");
  expect_refused(start + "triviaqa", "does not go with triviaqa");
  expect_refused(start + "ranking", "does not go with ranking");
  expect_refused(start + "classification --predictions rows.jsonl", "either a file");
  expect_refused(start + "squad --allow-missing", "belongs to --predictions");
  expect_refused(start + "entities --prediction-column 1", "belongs to --predictions");
  expect_refused(start + "classification --id-field id", "--id-field: pairs records");
  expect_refused("evaluate --task squad --data a.json --predictions b.json --label-field x",
                 "--label-field: has no meaning for an official .json file");
  expect_refused("evaluate --task entities --data a.conll --model model --text-field x",
                 "--text-field: has no meaning for columns");
  expect_refused("evaluate --task mlm --data rows.jsonl --predictions rows.jsonl --seed 1",
                 "--model");
}

TEST_F(Evaluate, PrintsATableForPeople) {
  put(path("a.jsonl"), "{\"label\": \"yes\"}\n{\"label\": \"no\"}\n");
  const Outcome result = run("evaluate --task classification --data a.jsonl --predictions a.jsonl");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("accuracy                    1.000000\n"), std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("yes"), std::string::npos);
  EXPECT_NE(result.out.find("precision"), std::string::npos);
}

}  // namespace
}  // namespace longformer
