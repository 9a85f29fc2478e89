// The encoder against its dense double-precision definition on random models, and the promises
// about bits.
#include "longformer/encoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iterator>

#include "support/random_model.h"

namespace longformer {
namespace {

using test::TemporaryDirectory;

int64_t cases() {
  const char* text = std::getenv("LONGFORMER_TEST_CASES");
  return text == nullptr ? 30 : std::atoll(text);
}

struct RandomCase {
  std::string json;
  EncoderConfig config;
  EncoderInput input;
};

int64_t pick(std::mt19937& engine, std::vector<int64_t> values) {
  return values[engine() % values.size()];
}

// {"model_type": …} with fields that a caller adds.
class ConfigText {
 public:
  explicit ConfigText(const std::string& type) {
    if (!type.empty()) field("model_type", "\"" + type + "\"");
  }
  void field(const std::string& name, const std::string& value) {
    text_ += (text_.empty() ? "{\"" : ", \"") + name + "\": " + value;
  }
  void field(const std::string& name, int64_t value) { field(name, std::to_string(value)); }
  std::string done() const { return text_ + "}"; }

 private:
  std::string text_;
};

std::string list_of(std::mt19937& engine, int64_t count, int64_t low, int64_t high, int64_t step) {
  std::string text = "[";
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = low + static_cast<int64_t>(engine()) % (high - low + 1);
    text += (i ? ", " : "") + std::to_string(value * step);
  }
  return text + "]";
}

constexpr const char* kFamilies[] = {"longformer", "bert",     "roberta",
                                     "modernbert", "original", "xlm-roberta"};

std::string random_config(std::mt19937& engine, const std::string& family) {
  const int64_t head_dim = pick(engine, {8, 16, 32, 48, 64, 80, 2, 34});
  const int64_t heads = 1 + engine() % 3;
  const int64_t layers = 1 + engine() % 4;
  const char* activations[] = {"gelu", "gelu_new", "relu", "silu", "tanh", "quick_gelu"};
  const bool modern = family == "modernbert";
  ConfigText text(family == "original" ? (engine() % 2 ? "roberta" : "") : family);
  text.field("vocab_size", 50);
  text.field("hidden_size", heads * head_dim);
  text.field("num_attention_heads", heads);
  text.field("num_hidden_layers", layers);
  text.field("intermediate_size", pick(engine, {16, 40, 96}));
  text.field("max_position_embeddings", 420);
  text.field("pad_token_id", engine() % 3);
  text.field(modern ? "norm_eps" : "layer_norm_eps", engine() % 2 ? "1e-12" : "1e-5");
  text.field(modern ? "hidden_activation" : "hidden_act",
             "\"" + std::string(activations[engine() % 6]) + "\"");
  if (modern) {
    text.field("local_attention", engine() % 60);
    text.field("global_attn_every_n_layers", 1 + engine() % 3);
    for (const char* bias : {"norm_bias", "attention_bias", "mlp_bias"})
      text.field(bias, engine() % 2 ? "true" : "false");
    return text.done();
  }
  text.field("type_vocab_size", 1 + engine() % 2);
  if (family == "longformer")
    text.field("attention_window", engine() % 2 ? list_of(engine, layers, 1, 40, 2) : "16");
  if (family == "original") {
    text.field("attention_mode", engine() % 2 ? "\"tvm\"" : "\"sliding_chunks\"");
    text.field("attention_window", list_of(engine, layers, 1, 40, 1));
    text.field("attention_dilation", list_of(engine, layers, 1, 4, 1));
    text.field("autoregressive", engine() % 2 ? "true" : "false");
  }
  return text.done();
}

EncoderInput random_input(std::mt19937& engine, const EncoderConfig& config) {
  EncoderInput input;
  const int64_t sequences = 1 + engine() % 4;
  const bool masked = engine() % 2;
  for (int64_t s = 0; s < sequences; ++s) {
    const int64_t length = engine() % 5 == 0 ? 1 + engine() % 3 : 1 + engine() % 150;
    const int64_t left = masked ? static_cast<int64_t>(engine()) % (length / 2 + 1) : 0;
    const int64_t right = masked ? static_cast<int64_t>(engine()) % (length / 2 + 1) : 0;
    input.lengths.push_back(length);
    for (int64_t t = 0; t < length; ++t) {
      const bool real = t >= left && t < length - right && (!masked || engine() % 12 != 0);
      input.input_ids.push_back(real ? 3 + engine() % 47 : config.pad_token_id);
      if (masked) input.attention_mask.push_back(real);
      if (config.global_attention) input.global_attention_mask.push_back(engine() % 10 == 0);
      input.token_type_ids.push_back(config.type_vocab_size < 2 ? 0 : engine() % 2);
    }
  }
  if (engine() % 3 == 0) {
    for (size_t i = 0; i < input.input_ids.size(); ++i)
      input.position_ids.push_back(engine() % config.position_rows);
  }
  return input;
}

void expect_close(const std::vector<float>& got, const std::vector<double>& want,
                  const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double largest = 1;
  for (const double value : want) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], 2e-5 * largest) << what << " element " << i;
}

RandomCase random_case(uint32_t seed) {
  std::mt19937 engine(seed);
  RandomCase c;
  c.json = random_config(engine, kFamilies[seed % std::size(kFamilies)]);
  c.config = read_encoder_config(io::Config::parse(c.json, "config.json"));
  c.input = random_input(engine, c.config);
  return c;
}

TEST(Encoder, MatchesTheDenseDefinition) {
  for (uint32_t seed = 0; seed < cases(); ++seed) {
    const RandomCase c = random_case(seed);
    const test::Tensors tensors = test::random_tensors(c.config, seed);
    TemporaryDirectory directory;
    test::write_checkpoint(directory.path(), c.json, c.config, tensors,
                           seed % 3 == 0 ? c.config.name_prefixes[0] : "");
    Encoder encoder = Encoder::load(directory.path(), {.threads = 2});
    const EncoderOutput out = encoder.encode(c.input, {.hidden_states = true});
    const test::ReferenceStates want = test::reference_encoder(c.config, tensors, c.input);
    ASSERT_EQ(out.hidden_states.size(), want.hidden.size());
    const std::string what = "seed " + std::to_string(seed) + " ";
    for (size_t l = 0; l < want.hidden.size(); ++l) {
      expect_close(out.hidden_states[l], want.hidden[l],
                   what + "hidden state " + std::to_string(l));
    }
    expect_close(out.last_hidden_state, want.last, what + "last hidden state");
    if (c.config.norm_placement == NormPlacement::kPost) {
      EXPECT_EQ(out.hidden_states.back(), out.last_hidden_state);
    }
    expect_close(out.pooler_output, want.pooled, what + "pooler");
    if (HasFatalFailure()) return;
  }
}

// One model for the tests of bits: 2 layers, windows 16 and 40, heads of 32.
class EncoderBits : public testing::Test {
 protected:
  void SetUp() override {
    const std::string json =
        R"({"model_type": "longformer", "vocab_size": 50, "hidden_size": 96, "num_attention_heads": 3,
            "num_hidden_layers": 2, "intermediate_size": 160, "max_position_embeddings": 2200, "type_vocab_size": 1,
            "pad_token_id": 1, "layer_norm_eps": 1e-5, "attention_window": [16, 40]})";
    config_ = read_encoder_config(io::Config::parse(json, "config.json"));
    test::write_checkpoint(directory_.path(), json, config_, test::random_tensors(config_, 5));
    std::mt19937 engine(9);
    for (const int64_t length : {1, 37, 300, 2100, 64, 129, 16}) {
      EncoderInput input;
      input.lengths = {length};
      for (int64_t t = 0; t < length; ++t) {
        input.input_ids.push_back(3 + engine() % 47);
        input.global_attention_mask.push_back(t % 100 == 7 || t == 0);
      }
      texts_.push_back(input);
    }
  }

  Encoder load(int threads) { return Encoder::load(directory_.path(), {.threads = threads}); }

  static EncoderInput join(const std::vector<EncoderInput>& texts) {
    EncoderInput all;
    for (const EncoderInput& text : texts) {
      all.lengths.push_back(text.lengths[0]);
      all.input_ids.insert(all.input_ids.end(), text.input_ids.begin(), text.input_ids.end());
      all.global_attention_mask.insert(all.global_attention_mask.end(),
                                       text.global_attention_mask.begin(),
                                       text.global_attention_mask.end());
    }
    return all;
  }

  TemporaryDirectory directory_;
  EncoderConfig config_;
  std::vector<EncoderInput> texts_;
};

TEST_F(EncoderBits, DoNotDependOnThreads) {
  const EncoderInput all = join(texts_);
  const std::vector<float> one = load(1).encode(all).last_hidden_state;
  for (const int threads : {2, 3, 4, 8})
    EXPECT_EQ(one, load(threads).encode(all).last_hidden_state) << threads;
}

TEST_F(EncoderBits, DoNotDependOnNeighbours) {
  Encoder encoder = load(2);
  std::vector<EncoderInput> reversed(texts_.rbegin(), texts_.rend());
  const std::vector<float> batch = encoder.encode(join(texts_)).last_hidden_state;
  const std::vector<float> backwards = encoder.encode(join(reversed)).last_hidden_state;
  size_t at = 0;
  size_t end = backwards.size();
  for (const EncoderInput& text : texts_) {
    const std::vector<float> alone = encoder.encode(text).last_hidden_state;
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), batch.begin() + at)) << text.lengths[0];
    end -= alone.size();
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), backwards.begin() + end)) << text.lengths[0];
    at += alone.size();
  }
}

TEST_F(EncoderBits, DoNotDependOnPadding) {
  Encoder encoder = load(2);
  for (const EncoderInput& text : texts_) {
    const std::vector<float> alone = encoder.encode(text).last_hidden_state;
    for (const int64_t extra : {1, 3, 64}) {
      EncoderInput padded = text;
      padded.lengths[0] += extra;
      padded.attention_mask.assign(text.input_ids.size(), 1);
      padded.attention_mask.resize(text.input_ids.size() + extra, 0);
      padded.input_ids.resize(text.input_ids.size() + extra, 1);
      padded.global_attention_mask.resize(text.input_ids.size() + extra, 0);
      const std::vector<float> states = encoder.encode(padded).last_hidden_state;
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), states.begin()))
          << text.lengths[0] << " + " << extra;
    }
  }
}

// A global token makes its neighbours' reach unlimited, through its own projections.
TEST_F(EncoderBits, GlobalTokenReachesEverything) {
  Encoder encoder = load(1);
  EncoderInput text = texts_[2];
  text.global_attention_mask.assign(text.input_ids.size(), 0);
  const std::vector<float> before = encoder.encode(text).last_hidden_state;
  text.global_attention_mask[0] = 1;
  const std::vector<float> after = encoder.encode(text).last_hidden_state;
  const int64_t last = text.lengths[0] - 1;
  EXPECT_FALSE(std::equal(&before[last * 96], &before[last * 96] + 96, &after[last * 96]));
}

TEST_F(EncoderBits, MemoryIsFlatOverManyCalls) {
  Encoder encoder = load(2);
  const std::vector<float> first = encoder.encode(texts_[3]).last_hidden_state;
  for (int i = 0; i < 20; ++i) encoder.encode(texts_[i % texts_.size()]);
  EXPECT_EQ(
      first,
      encoder.encode(texts_[3]).last_hidden_state);  // nothing of a call is left behind in the next
}

TEST_F(EncoderBits, CancelsBetweenLayers) {
  Encoder encoder = load(1);
  int asked = 0;
  try {
    encoder.encode(texts_[1], {.cancelled = [&] { return ++asked == 2; }});
    FAIL() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  EXPECT_EQ(asked, 2);
}

TEST_F(EncoderBits, MissingPoolerIsNoError) {
  test::Tensors tensors = test::random_tensors(config_, 5);
  tensors.erase("pooler.dense.weight");
  tensors.erase("pooler.dense.bias");
  TemporaryDirectory directory;
  test::write_checkpoint(directory.path(),
                         io::read_file(directory_.path() / "config.json", 1 << 20), config_,
                         tensors);
  Encoder encoder = Encoder::load(directory.path(), {.threads = 1});
  EXPECT_FALSE(encoder.info().has_pooler);
  EXPECT_EQ(encoder.names().missing.size(), 2u);
  EXPECT_TRUE(encoder.encode(texts_[0]).pooler_output.empty());
}

TEST_F(EncoderBits, MissingCoreTensorIsNamed) {
  test::Tensors tensors = test::random_tensors(config_, 5);
  tensors.erase("encoder.layer.1.output.dense.bias");
  TemporaryDirectory directory;
  test::write_checkpoint(directory.path(),
                         io::read_file(directory_.path() / "config.json", 1 << 20), config_,
                         tensors);
  try {
    Encoder::load(directory.path(), {.threads = 1});
    FAIL() << "loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidFile);
    EXPECT_NE(std::string(error.what()).find("encoder.layer.1.output.dense.bias"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(EncoderBits, GlobalProjectionsFallBackToLocalOnesAndSaySo) {
  test::Tensors tensors = test::random_tensors(config_, 5);
  test::Tensors copied = tensors;
  for (auto& [name, values] : copied) {
    const size_t at = name.find("_global");
    if (at == std::string::npos) continue;
    values = tensors.at(std::string(name).erase(at, 7));
    tensors.erase(name);
  }
  TemporaryDirectory without, with;
  const std::string json = io::read_file(directory_.path() / "config.json", 1 << 20);
  test::write_checkpoint(without.path(), json, config_, tensors);
  test::write_checkpoint(with.path(), json, config_, copied);
  Encoder a = Encoder::load(without.path(), {.threads = 1});
  Encoder b = Encoder::load(with.path(), {.threads = 1});
  EXPECT_EQ(a.names().converted.size(), 12u);
  EXPECT_EQ(b.names().converted.size(), 0u);
  EXPECT_EQ(a.encode(texts_[2]).last_hidden_state, b.encode(texts_[2]).last_hidden_state);
}

}  // namespace
}  // namespace longformer
