// Checkpoints of one model under other names give the same bits.
#include "models/weights.h"

#include <gtest/gtest.h>

#include "support/random_model.h"

namespace longformer {
namespace {

constexpr const char* kJson =
    R"({"model_type": "modernbert", "vocab_size": 50, "hidden_size": 24, "num_attention_heads": 2,
        "intermediate_size": 20, "num_hidden_layers": 3, "local_attention": 6, "norm_bias": true})";

EncoderInput some_text() {
  EncoderInput text;
  text.lengths = {30};
  for (int64_t t = 0; t < 30; ++t) text.input_ids.push_back(t * 7 % 50);
  return text;
}

class Names : public testing::Test {
 protected:
  // Loads the model with each tensor renamed.
  template <typename Rename>
  std::vector<float> states(const Rename& rename, NameReport* report = nullptr) {
    test::TemporaryDirectory directory;
    io::write_file_atomic(directory.path() / "config.json", kJson);
    std::vector<io::NamedTensor> named;
    for (const io::ExpectedTensor& expected : expected_tensors(config_)) {
      named.push_back(
          {rename(expected.name),
           make_tensor(expected.shape, std::span<const float>(tensors_.at(expected.name)))});
    }
    io::write_safetensors(directory.path() / "model.safetensors", named);
    Encoder encoder = Encoder::load(directory.path(), {.threads = 1});
    if (report != nullptr) *report = encoder.names();
    return encoder.encode(some_text()).last_hidden_state;
  }

  EncoderConfig config_ = read_encoder_config(io::Config::parse(kJson, "config.json"));
  test::Tensors tensors_ = test::random_tensors(config_, 11);
};

TEST_F(Names, OfTaskModelsAndOfTheOriginalTrainer) {
  const std::vector<float> plain = states([](const std::string& name) { return name; });
  EXPECT_EQ(plain, states([](const std::string& name) { return "model." + name; }));
  NameReport report;
  EXPECT_EQ(plain, states(
                       [](const std::string& name) {
                         const bool layer = name.starts_with("layers.");
                         return "bert." + std::string(layer ? "encoder." : "") + name;
                       },
                       &report));
  EXPECT_TRUE(report.unexpected.empty());
  EXPECT_TRUE(report.missing.empty());
}

// Layer 0 has no norm in front of its attention; the switches decide about biases.
TEST_F(Names, ExpectedTensorsFollowTheSwitches) {
  const auto has = [](const EncoderConfig& config, const std::string& name) {
    for (const io::ExpectedTensor& tensor : expected_tensors(config)) {
      if (tensor.name == name) return true;
    }
    return false;
  };
  EXPECT_FALSE(has(config_, "layers.0.attn_norm.weight"));
  EXPECT_TRUE(has(config_, "layers.1.attn_norm.bias"));
  EXPECT_TRUE(has(config_, "final_norm.weight"));
  EXPECT_FALSE(has(config_, "layers.1.attn.Wqkv.bias"));
  EXPECT_FALSE(has(config_, "layers.1.mlp.Wi.bias"));
  EncoderConfig biased = config_;
  biased.attention_bias = biased.feed_forward_bias = true;
  biased.norm_bias = false;
  EXPECT_TRUE(has(biased, "layers.1.attn.Wqkv.bias"));
  EXPECT_TRUE(has(biased, "layers.1.mlp.Wo.bias"));
  EXPECT_FALSE(has(biased, "layers.1.attn_norm.bias"));
}

}  // namespace
}  // namespace longformer
