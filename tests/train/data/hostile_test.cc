// Files that somebody broke: an error or fewer examples, never more than that.
#include <functional>

#include "base/random.h"
#include "train/data/answer_data.h"
#include "train/data/choose_data.h"
#include "train/data/classify_data.h"
#include "train/data/data_fixture.h"
#include "train/data/mlm_data.h"
#include "train/data/tag_data.h"

namespace longformer::train {
namespace {

class HostileData : public DataTest {
 protected:
  // Reads copies of `text` in which a few bytes are replaced, removed or doubled.
  void mutate(const std::string& name, const std::string& text,
              const std::function<std::unique_ptr<TrainingData>(const DataOptions&)>& read) {
    const std::string bytes = std::string("\"{}[]:,\\\t\n 0-9e.\0\xff\xc3", 19);
    for (uint64_t round = 0; round < 60; ++round) {
      auto below = [&, draw = uint64_t{0}](size_t end) mutable {
        return static_cast<size_t>(random_bits(round, draw++) % end);
      };
      std::string broken = text;
      for (size_t edit = 0; edit < 1 + round % 4; ++edit) {
        const size_t at = below(broken.size());
        const size_t kind = below(3);
        if (kind == 0) broken[at] = bytes[below(bytes.size())];
        if (kind == 1) broken.erase(at, 1 + below(6));
        if (kind == 2) broken.insert(at, broken.substr(at, below(40)));
      }
      put(name, broken);
      DataOptions options = this->options({path(name)});
      options.bad = round % 2 == 0 ? BadRecords::kSkip : BadRecords::kRefuse;
      std::filesystem::remove_all(options.cache);
      try {
        const auto data = read(options);
        for (int64_t i = 0; i < data->examples(); ++i) {
          const TrainingBatch batch = data->example(i, round, 0);
          ASSERT_EQ(std::ssize(batch.input.input_ids), data->tokens(i));
        }
      } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      }
    }
  }
};

TEST_F(HostileData, Rows) {
  DataModel model = this->model(Task::kSequenceClassification, 12, {"a", "b"});
  model.info.problem = Problem::kMultiLabel;
  const auto read = [&](const DataOptions& options) { return classify_data(model, options); };
  mutate(
      "a.jsonl",
      R"({"text": "the old fox runs in the night, the hen sleeps in a barn", "label": ["a", "b"]})"
      "\n"
      R"({"text": "é fox", "text_pair": "hen", "label": "a"})"
      "\n",
      read);
  mutate("a.csv", "text,text_pair,label\n\"the, fox\",\"a\nhen\",a\nold dog,rain,\"a,b\"\n", read);
  mutate("b.jsonl",
         R"({"context": "the fox", "question": "?", "choices": ["a", "hen"], "label": 1})",
         [&](const DataOptions& options) {
           return choose_data(this->model(Task::kMultipleChoice, 12), options);
         });
}

TEST_F(HostileData, Tags) {
  const DataModel model = this->model(Task::kTokenClassification, 8, {"B-A", "I-A", "O"});
  const auto read = [&](const DataOptions& options) { return tag_data(model, options); };
  mutate("a.conll", "-DOCSTART- O\n\nthe O\nfoxs B-A\nhens I-A\n\nrain O\nin O\nthe O\nnight B-A\n",
         read);
  mutate(
      "a.jsonl",
      R"({"text": "é the red foxs, in rain", "spans": [{"start": 6, "end": 14, "label": "A"}, [19, 23, "A"]]})"
      "\n"
      R"({"words": ["dogs", "run"], "tags": ["B-A", "O"]})"
      "\n",
      read);
  put("b.txt", "the réd fox\nruns in rain");
  mutate("b.ann", "T1\tA 4 11\tred fox\nT2\tA 20 24\train\n", [&](DataOptions options) {
    options.paths = {path("b.txt")};
    return tag_data(model, options);
  });
}

TEST_F(HostileData, Answers) {
  const DataModel model = this->model(Task::kQuestionAnswering, 12);
  const auto read = [&](const DataOptions& options) { return answer_data(model, options); };
  mutate(
      "a.json",
      R"({"data": [{"paragraphs": [{"context": "é the red fox runs in the night and the old hen sleeps",
             "qas": [{"id": "1", "question": "one ?", "answers": [{"text": "red fox", "answer_start": 6}]}]}]}]})",
      read);
  mutate(
      "a.jsonl",
      R"({"question": "one ?", "context": "The FOX, the fox and a foxs old hen.", "answers": ["Fox", "é"]})"
      "\n"
      R"({"question": "?", "context": "the hen", "answers": {"text": ["hen"], "answer_start": [4]}})"
      "\n",
      read);
}

TEST_F(HostileData, Texts) {
  const DataModel model = this->model(Task::kMaskedLm, 6);
  for (const TextFiles files : {TextFiles::kDocument, TextFiles::kDocumentALine}) {
    mutate("a.txt", "the old fox\n\nruns é in the night\r\nrain\n",
           [&](const DataOptions& options) {
             return mlm_data(model, options, {.files = files, .mask_id = kMask});
           });
  }
}

}  // namespace
}  // namespace longformer::train
