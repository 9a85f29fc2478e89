// Counts beside what others worked out: published numbers, the definition of a pattern pair by
// pair, and the products that the kernels really run.
#include "models/complexity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/profile.h"
#include "kernels/gemm.h"
#include "models/weights.h"
#include "support/random_model.h"

namespace longformer {
namespace {

struct Model {
  EncoderConfig config;
  std::optional<HeadConfig> head;
};

Model read(const std::string& json) {
  const io::Config file = io::Config::parse(json, "config.json");
  Model model{read_encoder_config(file), std::nullopt};
  model.head = stated_head(file, model.config);
  return model;
}

std::vector<ModuleCost> costs(const Model& model, int64_t length, int64_t globals = 0) {
  const LayerPlans plans(model.config, plain_pattern(model.config, 1, length, globals));
  return module_costs(model.config, model.head, plans);
}

uint64_t self_attention(const Model& model, int64_t length, Convention convention,
                        int64_t globals = 0) {
  return self_attention_cost(costs(model, length, globals), 0).count(convention);
}

uint64_t named(const std::vector<ModuleCost>& modules, std::string_view name,
               Convention convention) {
  std::vector<ModuleCost> some;
  for (const ModuleCost& module : modules) {
    if (module.name == name) some.push_back(module);
  }
  return total_cost(some).count(convention);
}

const char* const kBertBase = R"({"model_type": "bert"})";
const char* const kLongformerBase =
    R"({"model_type": "longformer", "vocab_size": 50265, "max_position_embeddings": 4098,
        "type_vocab_size": 1, "num_hidden_layers": 1})";

TEST(Complexity, OneSelfAttentionModuleOfBertBase) {
  const Model bert = read(kBertBase);
  EXPECT_EQ(self_attention(bert, 512, Convention::kPtflops), 905'971'968u);
  EXPECT_EQ(self_attention(bert, 1024, Convention::kPtflops), 1'811'941'632u);
  EXPECT_EQ(self_attention(bert, 512, Convention::kExact), 1'308'622'848u);
  EXPECT_EQ(self_attention(bert, 1024, Convention::kExact), 3'422'552'064u);
  EXPECT_EQ(self_attention(bert, 512, Convention::kTorch), 2'617'245'696u);
  EXPECT_EQ(self_attention_cost(costs(bert, 512), 0).parameters, 1'771'776u);
}

TEST(Complexity, OneSelfAttentionModuleOfLongformerBase) {
  const Model model = read(kLongformerBase);
  EXPECT_EQ(self_attention(model, 512, Convention::kExact), 1'208'352'768u);
  EXPECT_EQ(self_attention(model, 1024, Convention::kExact), 2'517'762'048u);
  const std::vector<ModuleCost> long_text = costs(model, 4096, 1);
  EXPECT_EQ(named(long_text, "query", Convention::kExact) * 3, 7'247'757'312u);
  EXPECT_EQ(named(costs(model, 4096), "scores", Convention::kExact) * 2, 3'126'460'416u);
  EXPECT_EQ(named(long_text, "scores", Convention::kTorch), 25'769'803'776u);
  EXPECT_EQ(named(long_text, "key_global", Convention::kExact) +
                named(long_text, "value_global", Convention::kExact),
            4'831'838'208u);
  EXPECT_EQ(named(costs(model, 512, 1), "key_global", Convention::kExact) * 2, 603'979'776u);
}

TEST(Complexity, ParametersOfPublishedModels) {
  const auto parameters = [](const std::string& json) {
    return total_cost(costs(read(json), 16)).parameters;
  };
  const std::string longformer =
      R"({"model_type": "longformer", "vocab_size": 50265, "max_position_embeddings": 4098,
          "type_vocab_size": 1)";
  const std::string roberta =
      R"({"model_type": "roberta", "vocab_size": 50265, "max_position_embeddings": 514,
          "type_vocab_size": 1, "pad_token_id": 1, "architectures": ["RobertaForMaskedLM"])";
  const std::string large =
      R"(, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
          "intermediate_size": 4096)";
  const std::string masked_lm = R"(, "architectures": ["LongformerForMaskedLM"])";
  EXPECT_EQ(parameters(longformer + "}"), 148'659'456u);
  EXPECT_EQ(parameters(longformer + masked_lm + "}"), 148'711'257u);
  EXPECT_EQ(parameters(longformer + large + "}"), 434'600'960u);
  EXPECT_EQ(parameters(longformer + large + masked_lm + "}"), 434'653'273u);
  EXPECT_EQ(parameters(kBertBase), 109'482'240u);
  EXPECT_EQ(parameters(roberta + "}"), 124'697'433u);
  EXPECT_EQ(parameters(roberta + large + "}"), 355'412'057u);
}

struct Shape {
  const char* name;
  const char* json;
  int64_t length;
  int64_t globals;
};
const Shape kShapes[] = {
    {"longformer", R"({"model_type": "longformer", "attention_window": [8, 130, 512])", 700, 0},
    {"longformer_globals", R"({"model_type": "longformer", "attention_window": [8, 64, 32])", 1500,
     37},
    {"dilated", R"({"model_type": "roberta", "attention_mode": "tvm",
                    "attention_window": [5, 9, 40], "attention_dilation": [1, 3, 7])",
     400, 2},
    {"causal", R"({"model_type": "roberta", "attention_mode": "tvm", "autoregressive": true,
                   "attention_window": [5, 9, 40], "attention_dilation": [1, 3, 1])",
     333, 0},
    {"bert", R"({"model_type": "bert")", 130, 0},
    {"modernbert", R"({"model_type": "modernbert", "local_attention": 20)", 190, 0}};

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.name; }

Model small(const Shape& shape) {
  return read(shape.json + std::string(R"(, "vocab_size": 60, "hidden_size": 32,
      "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 80, "pad_token_id": 1,
      "max_position_embeddings": 1600})"));
}

class ComplexityOf : public testing::TestWithParam<Shape> {};

TEST_P(ComplexityOf, ExactCountsTheDefinitionPairByPair) {
  const Model model = small(GetParam());
  const int64_t n = GetParam().length;
  AttentionPattern pattern = plain_pattern(model.config, 1, n, GetParam().globals);
  uint64_t pairs = 0;
  for (int64_t layer = 0; layer < 3; ++layer) {
    const int64_t window = model.config.window_of(layer);
    pattern.window.reset();
    if (window != 0) pattern.window = Window{window / 2, model.config.causal ? 0 : window / 2};
    pattern.dilation.assign(2, model.config.dilation_of(layer));
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) pairs += static_cast<uint64_t>(count(pattern, 0, 0, i, j));
    }
  }
  const std::vector<ModuleCost> modules = costs(model, n, GetParam().globals);
  EXPECT_EQ(named(modules, "scores", Convention::kExact), pairs * 32);
  EXPECT_EQ(named(modules, "context", Convention::kExact), pairs * 32);
}

// Each product reports its shape to the profile.
TEST_P(ComplexityOf, ExecutedIsWhatTheKernelsMultiply) {
  if (kernels::row_quantum() != 1) GTEST_SKIP() << "rounded rows are not in the profile";
  const Shape& shape = GetParam();
  const Model model = small(shape);
  test::TemporaryDirectory directory;
  test::write_checkpoint(directory.path(),
                         shape.json + std::string(R"(, "vocab_size": 60, "hidden_size": 32,
      "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 80, "pad_token_id": 1,
      "max_position_embeddings": 1600})"),
                         model.config, test::random_tensors(model.config, 3));
  EncoderInput input;
  input.lengths = {shape.length};
  input.input_ids.assign(static_cast<size_t>(shape.length), 7);
  if (shape.globals > 0) {
    input.global_attention_mask.assign(input.input_ids.size(), 0);
    std::fill_n(input.global_attention_mask.begin(), shape.globals, uint8_t{1});
  }
  for (const int threads : {1, 3}) {
    Encoder encoder = Encoder::load(directory.path(), {.threads = threads});
    take_profile();
    set_profiling(true);
    encoder.encode(input);
    set_profiling(false);
    double flop = 0;
    for (const ProfileLine& line : take_profile()) {
      const bool product =
          line.operation.starts_with("linear") || line.operation.starts_with("matmul");
      if (product) flop += line.flop;
    }
    const LayerPlans plans(model.config,
                           plain_pattern(model.config, 1, shape.length, shape.globals));
    const uint64_t executed =
        total_cost(module_costs(model.config, model.head, plans, {.threads = threads}))
            .count(Convention::kExecuted);
    EXPECT_EQ(static_cast<double>(executed), flop / 2) << threads << " threads";
  }
}

TEST_P(ComplexityOf, ParametersAreTheTensorsOfTheModel) {
  const Model model = small(GetParam());
  uint64_t elements = 0;
  for (const io::ExpectedTensor& tensor : expected_tensors(model.config)) {
    elements += static_cast<uint64_t>(element_count(tensor.shape));
  }
  EXPECT_EQ(total_cost(costs(model, 16)).parameters, elements);
}

INSTANTIATE_TEST_SUITE_P(Shapes, ComplexityOf, testing::ValuesIn(kShapes),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Complexity, RowsAreRoundedToTheQuantum) {
  const Model bert = read(kBertBase);
  const LayerPlans plans(bert.config, plain_pattern(bert.config, 1, 30, 0));
  const std::vector<ModuleCost> modules =
      module_costs(bert.config, bert.head, plans, {.row_quantum = 16});
  EXPECT_EQ(named(modules, "query", Convention::kExecuted), 12u * 32 * 768 * 768);
  EXPECT_EQ(named(modules, "pooler", Convention::kExecuted), 16u * 768 * 768);
  EXPECT_EQ(named(modules, "pooler", Convention::kExact), 768u * 768);
}

TEST(Complexity, AMillionTokensAreCountedAtOnce) {
  Model model = read(kLongformerBase);
  model.config.token_limit = 1'048'576;
  EXPECT_EQ(named(costs(model, 1'048'576), "scores", Convention::kExact),
            537'853'696u * uint64_t{768});
}

TEST(Complexity, WhatDoesNotFitIntoACountIsRefused) {
  Model model = read(
      R"({"model_type": "longformer", "hidden_size": 65536, "num_attention_heads": 256,
          "num_hidden_layers": 1024, "intermediate_size": 1048576})");
  EXPECT_THROW(total_cost(costs(model, 1'048'576)), Error);
}

TEST(ReceptiveFields, AddUpOverLayers) {
  const Model model = read(
      R"({"model_type": "roberta", "attention_mode": "tvm", "attention_window": [2, 3, 4],
          "attention_dilation": [1, 10, 2], "num_hidden_layers": 3, "pad_token_id": 1})");
  const std::vector<ReceptiveField> fields = receptive_fields(model.config, 100);
  EXPECT_EQ(fields[0].left, 2);
  EXPECT_EQ(fields[1].left, 32);
  EXPECT_EQ(fields[2].right, 40);
  EXPECT_EQ(fields[0].tokens, 5);
  EXPECT_EQ(fields[1].tokens, 65);
  EXPECT_EQ(fields[2].tokens, 81);
  EXPECT_EQ(receptive_fields(model.config, 70)[2].tokens, 70);
  // What a global token has gathered in one layer reaches every token in the next.
  EXPECT_EQ(receptive_fields(model.config, 100, 1)[0].tokens, fields[0].tokens);
  EXPECT_EQ(receptive_fields(model.config, 100, 1)[1].tokens, 100);
}

TEST(ReceptiveFields, ALayerWithoutAWindowSeesEverything) {
  const Model model = read(
      R"({"model_type": "modernbert", "num_hidden_layers": 4, "local_attention": 10,
          "layer_types": ["sliding_attention", "full_attention", "sliding_attention",
                          "full_attention"]})");
  const std::vector<ReceptiveField> fields = receptive_fields(model.config, 100);
  EXPECT_FALSE(fields[0].everything);
  EXPECT_EQ(fields[0].tokens, 11);
  EXPECT_TRUE(fields[1].everything);
  EXPECT_TRUE(fields[2].everything);
  EXPECT_EQ(fields[2].tokens, 100);
}

TEST(ReceptiveFields, ACausalWindowSeesOneSide) {
  const Model model = read(
      R"({"model_type": "roberta", "attention_mode": "tvm", "attention_window": 4,
          "autoregressive": true, "num_hidden_layers": 2, "pad_token_id": 1})");
  const std::vector<ReceptiveField> fields = receptive_fields(model.config, 100);
  EXPECT_EQ(fields[1].left, 8);
  EXPECT_EQ(fields[1].right, 0);
  EXPECT_EQ(fields[1].tokens, 9);
}

}  // namespace
}  // namespace longformer
