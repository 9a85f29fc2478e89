// Which tokens a layer reads, seen from outside: one token is changed, and after each layer exactly
// those rows differ that have a row that differed before in reach. Everything else keeps its bits.
#include <gtest/gtest.h>

#include <set>

#include "longformer/encoder.h"
#include "support/random_model.h"

namespace longformer {
namespace {

constexpr int64_t kLength = 300;
constexpr int64_t kChanged = 150;
constexpr int64_t kHidden = 32;

// One layer: a row reads rows i + step * s, -left <= s <= right; no window: all rows.
struct Reach {
  int64_t left = 0;
  int64_t right = 0;
  int64_t step = 1;
  bool full = false;
};

struct Case {
  const char* name;
  const char* fields;  // of config.json
  LoadOptions options;
  std::vector<Reach> layers;
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

std::set<int64_t> rows_that_read(const std::set<int64_t>& changed, const Reach& reach) {
  std::set<int64_t> rows = changed;
  for (int64_t i = 0; i < kLength; ++i) {
    for (const int64_t j : changed) {
      const int64_t steps = (j - i) / reach.step;
      const bool seen = (j - i) % reach.step == 0 && -reach.left <= steps && steps <= reach.right;
      if (reach.full || seen) rows.insert(i);
    }
  }
  return rows;
}

std::set<int64_t> differing_rows(const std::vector<float>& a, const std::vector<float>& b) {
  std::set<int64_t> rows;
  for (int64_t i = 0; i < kLength; ++i) {
    if (!std::equal(&a[i * kHidden], &a[i * kHidden] + kHidden, &b[i * kHidden])) rows.insert(i);
  }
  return rows;
}

class ReceptiveField : public testing::TestWithParam<Case> {};

TEST_P(ReceptiveField, IsExactAfterEachLayer) {
  const Case& c = GetParam();
  const std::string json =
      "{" + std::string(c.fields) +
      R"(, "vocab_size": 50, "hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 48,
         "max_position_embeddings": 400, "type_vocab_size": 1, "pad_token_id": 1})";
  const EncoderConfig config = read_encoder_config(io::Config::parse(json, "config.json"));
  test::TemporaryDirectory directory;
  test::write_checkpoint(directory.path(), json, config, test::random_tensors(config, 7, 0.3f));
  LoadOptions options = c.options;
  options.threads = 1;
  Encoder encoder = Encoder::load(directory.path(), options);
  std::mt19937 engine(3);
  EncoderInput text;
  text.lengths = {kLength};
  for (int64_t t = 0; t < kLength; ++t) text.input_ids.push_back(3 + engine() % 47);
  const EncoderOutput before = encoder.encode(text, {.hidden_states = true});
  text.input_ids[kChanged] = text.input_ids[kChanged] == 4 ? 5 : 4;
  const EncoderOutput after = encoder.encode(text, {.hidden_states = true});

  ASSERT_EQ(before.hidden_states.size(), c.layers.size() + 1);
  std::set<int64_t> expected = {kChanged};
  EXPECT_EQ(differing_rows(before.hidden_states[0], after.hidden_states[0]), expected);
  for (size_t layer = 0; layer < c.layers.size(); ++layer) {
    expected = rows_that_read(expected, c.layers[layer]);
    EXPECT_EQ(differing_rows(before.hidden_states[layer + 1], after.hidden_states[layer + 1]),
              expected)
        << "after layer " << layer;
  }
}

constexpr const char* kLong =
    R"("model_type": "longformer", "num_hidden_layers": 3, "attention_window": [6, 20, 12])";
constexpr const char* kBert = R"("model_type": "bert", "num_hidden_layers": 3)";
constexpr const char* kModern =
    R"("model_type": "modernbert", "num_hidden_layers": 4, "local_attention": 7,
       "layer_types": ["sliding_attention", "sliding_attention", "full_attention",
                       "sliding_attention"])";
constexpr const char* kOriginal =
    R"("model_type": "roberta", "num_hidden_layers": 3, "attention_mode": "tvm",
       "attention_window": [3, 5, 4], "attention_dilation": [1, 3, 2])";

Reach both(int64_t side, int64_t step = 1) { return {side, side, step}; }
Reach full() { return {0, 0, 1, true}; }

INSTANTIATE_TEST_SUITE_P(
    Models, ReceptiveField,
    testing::Values(
        Case{"AsTheFileSays", kLong, {}, {both(3), both(10), both(6)}},
        Case{"OneWindowForAll", kLong, {.attention_window = {16}}, {both(8), both(8), both(8)}},
        Case{"AWindowEach", kLong, {.attention_window = {2, 9, 0}}, {both(1), both(4), full()}},
        Case{"ADilationForAll",
             kLong,
             {.attention_dilation = {4}},
             {both(3, 4), both(10, 4), both(6, 4)}},
        Case{"WindowAndDilationEach",
             kLong,
             {.attention_window = {4, 8, 6}, .attention_dilation = {1, 2, 5}},
             {both(2), both(4, 2), both(3, 5)}},
        Case{"BertIsFull", kBert, {}, {full(), full(), full()}},
        Case{"BertWithAWindow", kBert, {.attention_window = {10}}, {both(5), both(5), both(5)}},
        Case{"RobertaWithAWindowInOneLayer",
             R"("model_type": "roberta", "num_hidden_layers": 2)",
             {.attention_window = {12, 0}},
             {both(6), full()}},
        Case{"OddWidthIsHalvedDown", kModern, {}, {both(3), both(3), full(), both(3)}},
        Case{"OnlyLocalLayersChange",
             kModern,
             {.attention_window = {11}},
             {both(5), both(5), full(), both(5)}},
        Case{"DilationOfLocalLayers",
             kModern,
             {.attention_dilation = {3}},
             {both(3, 3), both(3, 3), full(), both(3, 3)}},
        Case{"WidthOneIsTheTokenItself",
             kModern,
             {.attention_window = {1, 1, 5, 1}},
             {both(0), both(0), both(2), both(0)}},
        Case{"OneSidedList", kOriginal, {}, {both(3), both(5, 3), both(4, 2)}},
        Case{"Causal",
             R"("num_hidden_layers": 3, "attention_mode": "tvm", "autoregressive": true,
                "attention_window": [3, 5, 4], "attention_dilation": [1, 3, 2])",
             {},
             {{3, 0, 1}, {5, 0, 3}, {4, 0, 2}}},
        Case{"N2IsFull",
             R"("model_type": "roberta", "num_hidden_layers": 2, "attention_mode": "n2",
                "attention_window": [3, 3])",
             {},
             {full(), full()}}),
    [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace longformer
