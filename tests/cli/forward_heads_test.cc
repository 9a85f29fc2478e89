// forward with the head of a task: which class, which outputs, which tokens are global.
#include "command_fixture.h"

namespace longformer {
namespace {

class ForwardHeads : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    write_inputs({integers("input_ids", {2, 6}, {2, 8, 3, 9, 10, 3, 2, 11, 12, 3, 9, 3})});
  }

  static constexpr const char* kForward = "forward --inputs in --outputs out --model ";

  std::map<std::string, Shape> outputs(const std::string& arguments) {
    const Outcome result = run(kForward + arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    err_ = result.err;
    std::map<std::string, Shape> shapes;
    const io::SafetensorsFile file = io::read_safetensors(path("out"));
    for (const io::NamedTensor& tensor : file.tensors) {
      shapes[tensor.name] = tensor.tensor.shape;
      values_[tensor.name] = to_f32(tensor.tensor);
    }
    const auto found = file.metadata.find("global_tokens");
    global_ = found == file.metadata.end() ? "absent" : found->second;
    return shapes;
  }

  std::string err_;
  std::string global_;
  std::map<std::string, std::vector<float>> values_;
};

using Shapes = std::map<std::string, Shape>;

TEST_F(ForwardHeads, EachClassHasTheOutputsOfTheReference) {
  const std::string head = "model --allow-new-head --class Longformer";
  EXPECT_EQ(outputs(head + "ForMaskedLM"), (Shapes{{"logits", {2, 6, 36}}}));
  EXPECT_EQ(outputs(head + "ForSequenceClassification"), (Shapes{{"logits", {2, 2}}}));
  EXPECT_EQ(global_, "1,1");
  EXPECT_EQ(outputs(head + "ForTokenClassification"), (Shapes{{"logits", {2, 6, 2}}}));
  EXPECT_EQ(outputs(head + "ForQuestionAnswering --hidden-states"),
            (Shapes{{"start_logits", {2, 6}},
                    {"end_logits", {2, 6}},
                    {"hidden_states.0", {2, 6, 16}},
                    {"hidden_states.1", {2, 6, 16}},
                    {"hidden_states.2", {2, 6, 16}}}));
  EXPECT_EQ(outputs("model").count("last_hidden_state"), 1u);
  EXPECT_EQ(global_, "0,0");
  EXPECT_EQ(outputs("bert --class BertModel").count("last_hidden_state"), 1u);
  EXPECT_EQ(global_, "absent");
  write_inputs({integers("input_ids", {1, 3, 4}, {2, 8, 3, 3, 2, 8, 9, 3, 2, 8, 10, 3})});
  EXPECT_EQ(outputs(head + "ForMultipleChoice"), (Shapes{{"logits", {1, 3}}}));
}

TEST_F(ForwardHeads, NewHeadsAreNamedAndFollowTheSeed) {
  const std::string head = "model --allow-new-head --class LongformerForTokenClassification";
  outputs(head);
  EXPECT_NE(err_.find("classifier.weight, classifier.bias are random"), std::string::npos) << err_;
  const std::vector<float> first = values_["logits"];
  outputs(head + " --seed 0");
  EXPECT_EQ(values_["logits"], first);
  outputs(head + " --seed 5");
  EXPECT_NE(values_["logits"], first);
}

TEST_F(ForwardHeads, GlobalRulesReplaceTheDefaultAndTheMask) {
  const std::string head = "model --allow-new-head --class LongformerForQuestionAnswering";
  // The tiny vocabulary's separator is 3; the configuration names none, and 2 is the default.
  outputs(head);
  EXPECT_EQ(global_, "0,0");
  outputs(head + " --global token:3");
  EXPECT_EQ(global_, "2,2");
  EXPECT_NE(err_.find("global tokens of a sequence: 2"), std::string::npos) << err_;
  outputs(head + " --global 0,4-9");
  EXPECT_EQ(global_, "3,3");
  const std::vector<float> with = values_["start_logits"];
  write_inputs({integers("input_ids", {2, 6}, {2, 8, 3, 9, 10, 3, 2, 11, 12, 3, 9, 3}),
                integers("global_attention_mask", {2, 6}, std::vector<int64_t>(12, 1))});
  outputs(head + " --global 0,4-9");
  EXPECT_EQ(values_["start_logits"], with);
  outputs(head + " --global none");
  EXPECT_EQ(global_, "0,0");
  outputs(head);
  EXPECT_EQ(global_, "6,6");
}

TEST_F(ForwardHeads, RefusesWhatDoesNotFit) {
  const std::string forward = kForward;
  expect_refused(forward + "model --class LongformerForMaskedLM", "lm_head.dense.weight");
  expect_refused(forward + "model --class BertModel", "LongformerForMaskedLM");
  expect_refused(forward + "model --class LongformerForSummaries", "LongformerForMaskedLM");
  expect_refused(forward + "model --allow-new-head", "LongformerModel has no head");
  expect_refused(forward + "model --seed 3", "--allow-new-head");
  expect_refused(forward + "model --global everything", "allowed are none, first");
  expect_refused(forward + "model --global regex:fox", "needs a text");
  expect_refused(forward + "bert --global first", "no global attention");
  write_inputs({integers("input_ids", {1, 2, 3}, {2, 8, 3, 2, 9, 3})});
  expect_refused(forward + "model", "[batch, seq]");
  write_inputs({integers("input_ids", {6}, {2, 8, 3, 2, 9, 3})});
  expect_refused(forward + "model", "[batch, choices, seq]");
}

}  // namespace
}  // namespace longformer
