// Tags of words and spans on tokens, whatever the file.
#include "train/data/tag_data.h"

#include "train/data/data_fixture.h"

namespace longformer::train {
namespace {

class TagData : public DataTest {
 protected:
  DataModel tagger(int64_t max_tokens = 64,
                   std::vector<std::string> labels = {"B-A", "B-B", "I-A", "I-B", "O"}) const {
    return model(Task::kTokenClassification, max_tokens, std::move(labels));
  }
  // "fox/B-A ##s/- in/O", special tokens left out.
  std::string tagged(const TrainingData& data, int64_t example) const {
    const TrainingBatch batch = data.example(example, 0, 0);
    std::string text;
    for (size_t t = 0; t < batch.input.input_ids.size(); ++t) {
      const int64_t id = batch.input.input_ids[t];
      const int64_t label = batch.targets.classes[t];
      if (id == kCls || id == kSep) {
        EXPECT_EQ(label, kIgnoredLabel);
        continue;
      }
      text += (text.empty() ? "" : " ") + word(id) + "/" +
              (label == kIgnoredLabel ? "-" : data.labels()[static_cast<size_t>(label)]);
    }
    return text;
  }
};

TEST_F(TagData, TheFirstPieceOfAWordHasItsTag) {
  put("a.conll", "-DOCSTART- x O\n\nthe x O\nfoxs x B-A\nhens x I-A\n\nrain x O\n");
  put("b.jsonl", R"({"words": ["dogs", "run"], "tags": ["B-B", "O"]})"
                 "\n");
  const DataOptions options = this->options({path("a.conll"), path("b.jsonl")});
  EXPECT_EQ(tag_labels(options), (std::vector<std::string>{"B-A", "B-B", "I-A", "O"}));
  const auto data = tag_data(tagger(), options);
  ASSERT_EQ(data->examples(), 3);
  EXPECT_EQ(tagged(*data, 0), "the/O fox/B-A ##s/- hen/I-A ##s/-");
  EXPECT_EQ(tagged(*data, 1), "rain/O");
  EXPECT_EQ(tagged(*data, 2), "dog/B-B ##s/- [UNK]/O");
  const auto all = tag_data(tagger(), options, {.other_pieces = OtherPieces::kInside});
  EXPECT_EQ(tagged(*all, 0), "the/O fox/B-A ##s/I-A hen/I-A ##s/I-A");
  const auto column = tag_data(tagger(64, {"x"}), this->options({path("a.conll")}), {.column = 1});
  EXPECT_EQ(tagged(*column, 1), "rain/x");
}

TEST_F(TagData, SpansOfTextsCountCodePoints) {
  put("a.jsonl",
      R"({"text": "é the red foxs, in rain", "spans": [{"start": 6, "end": 14, "label": "A"}, [19, 23, "B"]]})"
      "\n"
      R"({"text": "old hen", "entities": []})"
      "\n");
  const DataOptions options = this->options({path("a.jsonl")});
  EXPECT_EQ(tag_labels(options), (std::vector<std::string>{"B-A", "B-B", "I-A", "I-B", "O"}));
  const auto data = tag_data(tagger(), options);
  EXPECT_EQ(tagged(*data, 0), "[UNK]/O the/O red/B-A fox/I-A ##s/- ,/O in/O rain/B-B");
  EXPECT_EQ(tagged(*data, 1), "old/O hen/O");
  EXPECT_EQ(data->notices().widened, 0);
  // Labels without B- and I-.
  EXPECT_EQ(tagged(*tag_data(tagger(64, {"A", "B", "O"}), options), 0),
            "[UNK]/O the/O red/A fox/A ##s/- ,/O in/O rain/B");
  put("part.jsonl", R"({"text": "foxs", "spans": [{"start": 1, "end": 2, "label": "A"}]})"
                    "\n");
  const auto part = tag_data(tagger(), this->options({path("part.jsonl")}));
  EXPECT_EQ(tagged(*part, 0), "fox/B-A ##s/-");
  EXPECT_EQ(part->notices().widened, 1);
}

TEST_F(TagData, ReadsBrat) {
  put("notes/1.txt", "the red fox\nruns in rain");
  put("notes/1.ann",
      "T1\tA 4 11\tred fox\nR1\tx Arg1:T1 Arg2:T2\nT2\tB 20 24\train\n#1\tNote T1\tx\n");
  for (const std::vector<std::string>& paths :
       {std::vector<std::string>{path("notes")}, {path("notes/1.txt")}, {path("notes/*.txt")}}) {
    const auto data = tag_data(tagger(), options(paths));
    ASSERT_EQ(data->examples(), 1);
    EXPECT_EQ(tagged(*data, 0), "the/O red/B-A fox/I-A runs/O in/O rain/B-B");
    EXPECT_NE(data->identity().find("1.ann"), std::string::npos);
  }
  put("notes/1.ann", "T1\tA 4 7;8 11\tred fox\nT2\tB 20 24\train\n");
  DataOptions options = this->options({path("notes")});
  expect_error(ErrorCode::kInvalidFile, {"1.ann line 1", "several places"},
               [&] { tag_data(tagger(), options); });
  options.bad = BadRecords::kSkip;
  const auto data = tag_data(tagger(), options);
  EXPECT_EQ(tagged(*data, 0), "the/O red/O fox/O runs/O in/O rain/B-B");
  EXPECT_EQ(data->notices().skipped, 1);
  put("notes/1.ann", "T1\tA 8 19\tfox runs in\n");  // brat writes line ends as spaces
  EXPECT_EQ(tagged(*tag_data(tagger(), options), 0), "the/O red/O fox/B-A runs/I-A in/I-A rain/O");
  options.bad = BadRecords::kRefuse;
  put("notes/1.ann", "T1\tA 3 10\tred fox\n");
  expect_error(ErrorCode::kInvalidFile, {"1.ann line 1", "is not where its text stands"},
               [&] { tag_data(tagger(), options); });
  put("one.conll", "fox\nhen\n");
  expect_error(ErrorCode::kInvalidFile, {"one.conll line 1", "has one column"},
               [&] { tag_data(tagger(), this->options({path("one.conll")})); });
  std::filesystem::remove(path("notes/1.txt"));
  expect_error(ErrorCode::kNotFound, {"1.ann", "has no text"},
               [&] { tag_data(tagger(), options); });
}

TEST_F(TagData, ATagCountsInOneWindow) {
  std::string rows;
  const std::vector<std::string>& all = test::tiny_words();
  for (size_t i = 0; i < 50; ++i) rows += all[8 + i % 20] + " " + (i % 5 == 0 ? "B-A" : "O") + "\n";
  put("a.conll", rows);
  DataOptions options = this->options({path("a.conll")});
  const auto data = tag_data(tagger(22), options);
  ASSERT_GT(data->examples(), 2);
  int64_t labels = 0;
  for (int64_t i = 0; i < data->examples(); ++i) {
    labels += count_labels(data->example(i, 0, 0).targets);
    EXPECT_LE(data->tokens(i), 22);
  }
  EXPECT_EQ(labels, 50);
  EXPECT_EQ(data->notices().windowed, 1);
  options.long_text = tasks::LongText::kTruncate;
  const auto cut = tag_data(tagger(22), options);
  EXPECT_EQ(cut->examples(), 1);
  EXPECT_EQ(cut->notices().truncated_tokens, 30);
  options.long_text = tasks::LongText::kRefuse;
  expect_error(ErrorCode::kInvalidFile, {"a.conll line 1", "50 tokens", "20"},
               [&] { tag_data(tagger(22), options); });
}

TEST_F(TagData, ASplitKeepsDocumentsWhole) {
  std::string rows;
  for (int document = 0; document < 40; ++document) {
    rows += "-DOCSTART- O\n\n";
    for (int sentence = 0; sentence < 3; ++sentence) {
      rows += test::tiny_words()[8 + static_cast<size_t>(document) % 20] + " O\n\n";
    }
  }
  put("a.conll", rows);
  DataOptions options = this->options({path("a.conll")});
  options.split = {SplitSide::kTraining, "", 0.5, 1};
  const auto training = tag_data(tagger(), options);
  options.split.side = SplitSide::kEvaluation;
  const auto evaluation = tag_data(tagger(), options);
  EXPECT_EQ(training->examples() + evaluation->examples(), 120);
  EXPECT_GT(training->examples(), 0);
  EXPECT_EQ(training->examples() % 3, 0);
  EXPECT_EQ(evaluation->examples() % 3, 0);
  options.split.group_field = "patient";
  expect_error(ErrorCode::kInvalidArgument, {"a.conll", "no fields"},
               [&] { tag_data(tagger(), options); });
}

TEST_F(TagData, BadRecordsAreNamed) {
  const auto expect = [&](const std::string& name, const std::string& text,
                          const std::vector<std::string>& parts) {
    put(name, text);
    expect_error(ErrorCode::kInvalidFile, parts,
                 [&] { tag_data(tagger(), options({path(name)})); });
  };
  const auto spans = [](const std::string& list) {
    return R"({"text": "the red fox", "spans": [)" + list + "]}\n";
  };
  expect("a.conll", "fox O\nhen B-C\n", {"a.conll line 1", "\"B-C\"", "5 labels"});
  expect("b.conll", "fox\thas\nhen\tO\n", {"b.conll", "\"has\""});
  expect("c.jsonl", R"({"words": ["a"], "tags": ["O", "O"]})",
         {"c.jsonl line 1", "1 words and 2 tags"});
  expect("d.jsonl", R"({"words": [], "tags": []})", {"has no words"});
  expect("e.jsonl", R"({"text": "fox"})", {"has no field \"spans\""});
  expect("f.jsonl", spans(R"({"start": 4, "end": 12, "label": "A"})"),
         {"f.jsonl line 1", "span 4", "12", "outside the document of 11 characters"});
  expect("g.jsonl", spans(R"({"start": 4, "end": 4, "label": "A"})"), {"the end behind the start"});
  expect("h.jsonl", spans(R"({"start": -1, "end": 4, "label": "A"})"), {"whole numbers from 0"});
  expect("i.jsonl", spans(R"({"start": 0.5, "end": 4, "label": "A"})"), {"whole numbers from 0"});
  expect("j.jsonl", spans(R"({"start": 0, "end": 5, "label": "A"}, [4, 7, "B"])"), {"overlaps"});
  expect("k.jsonl", spans(R"({"start": 3, "end": 4, "label": "A"})"), {"holds no word"});
  expect("l.jsonl", spans(R"({"start": 0, "end": 3, "label": "C"})"), {"\"B-C\"", "labels"});
  expect("m.jsonl", spans("7"), {"no {\"start\""});
  expect("n.jsonl", spans(R"({"start": 1e300, "end": 1e301, "label": "A"})"), {"outside"});
}

}  // namespace
}  // namespace longformer::train
