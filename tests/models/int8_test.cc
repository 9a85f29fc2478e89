// Models stored in int8: what convert writes, what loading takes and refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "io/checkpoint/checkpoint.h"
#include "models/convert.h"
#include "models/stored_weights.h"
#include "tasks/tiny_model.h"

namespace longformer {
namespace {

using test::expect_error;
using test::put;

const std::string kQuery = "bert.encoder.layer.0.attention.self.query.weight";

class Int8 : public testing::Test {
 protected:
  Int8() { test::write_tiny_model(source(), "bert", 12, "bert."); }
  std::filesystem::path source() const { return directory_.path() / "f32"; }
  std::filesystem::path target() const { return directory_.path() / "int8"; }
  std::filesystem::path path(const char* name) const { return directory_.path() / name; }
  void convert() const { convert_dtype(source(), target(), DType::kI8); }
  static Tensor tensor(const std::filesystem::path& model, const std::string& name) {
    return io::Checkpoint::open(model).tensor(name);
  }
  static void edit(const std::filesystem::path& model,
                   const std::function<void(std::vector<io::NamedTensor>&)>& change) {
    auto tensors = io::read_safetensors(model / "model.safetensors").tensors;
    change(tensors);
    io::write_safetensors(model / "model.safetensors", tensors);
  }
  // Replaces one tensor; none: removes it.
  static void replace(const std::filesystem::path& model, const std::string& name,
                      const std::optional<Tensor>& now) {
    edit(model, [&](std::vector<io::NamedTensor>& tensors) {
      const auto found = std::find_if(tensors.begin(), tensors.end(),
                                      [&](const auto& t) { return t.name == name; });
      ASSERT_NE(found, tensors.end()) << name;
      if (now) {
        found->tensor = *now;
      } else {
        tensors.erase(found);
      }
    });
  }
  void expect_refused(const std::vector<std::string>& parts,
                      ErrorCode code = ErrorCode::kInvalidFile) const {
    expect_error(code, parts, [&] { Encoder::load(target(), {.threads = 1}); });
    expect_error(code, parts,
                 [&] { Encoder::load(target(), {.threads = 1, .compute = Compute::kF32}); });
    expect_error(code, parts, [&] { convert_dtype(target(), path("wide"), DType::kF32); });
    EXPECT_FALSE(std::filesystem::exists(path("wide")));
  }
  test::TemporaryDirectory directory_;
};

EncoderInput some_text() {
  EncoderInput input;
  input.input_ids = {2, 8, 9, 10, 11, 12, 5, 3};
  input.lengths = {8};
  return input;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = a.size() == b.size() ? 0 : 1e9;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
  }
  return largest;
}

TEST_F(Int8, TheFileHoldsWhatTheFormatSays) {
  edit(source(), [](std::vector<io::NamedTensor>& tensors) {
    const std::vector<float> head(6, 0.1f);
    tensors.push_back({"classifier.weight", make_tensor({2, 3}, std::span<const float>(head))});
    const std::vector<int64_t> ids = {0, 1, 2};
    tensors.push_back(
        {"bert.embeddings.position_ids", make_tensor({3}, std::span<const int64_t>(ids))});
  });
  put(source() / "config.json", test::tiny_config("bert", 12, R"("torch_dtype": "float32", )"));
  const ConvertReport report = convert_dtype(source(), target(), DType::kI8);
  const io::Checkpoint stored = io::Checkpoint::open(target());
  EXPECT_EQ(report.tensors, static_cast<int64_t>(stored.names().size()));
  int64_t matrices = 0;
  const io::Checkpoint before = io::Checkpoint::open(source());
  for (const std::string& name : before.names()) {
    const Tensor now = stored.tensor(name);
    const bool outer =
        name.ends_with("output.dense.weight") && !name.ends_with("attention.output.dense.weight");
    const bool linear = (name.ends_with("dense.weight") && !outer) ||
                        name.ends_with("query.weight") || name.ends_with("key.weight") ||
                        name.ends_with("value.weight");
    const bool table = name.ends_with("embeddings.weight") || outer;
    const DType floating = table ? DType::kBF16 : DType::kF32;
    EXPECT_EQ(now.dtype, linear                   ? DType::kI8
                         : name.ends_with("_ids") ? DType::kI64
                                                  : floating)
        << name;
    EXPECT_EQ(stored.contains(name + ".scale"), linear) << name;
    if (!linear) continue;
    ++matrices;
    const std::vector<float> old = to_f32(before.tensor(name));
    const std::vector<float> scales = to_f32(stored.tensor(name + ".scale"));
    const std::vector<int64_t> steps = to_i64(now);
    ASSERT_EQ(scales.size(), static_cast<size_t>(now.shape[0]));
    const size_t cols = static_cast<size_t>(now.shape[1]);
    for (size_t i = 0; i < old.size(); ++i) {
      const float scale = scales[i / cols];
      EXPECT_LE(std::abs(steps[i]), 127);
      EXPECT_NEAR(static_cast<float>(steps[i]) * scale, old[i], 0.501f * scale) << name;
    }
  }
  EXPECT_EQ(matrices, 2 * 5 + 1);
  const io::Config config = io::Config::read(target() / "config.json");
  EXPECT_TRUE(states_int8_weights(config));
  EXPECT_FALSE(config.has("torch_dtype"));
  EXPECT_NE(config.dump().find(R"("quant_method": "longformer",)"), std::string::npos);
}

TEST_F(Int8, LoadsAndComputesNearTheSource) {
  convert();
  const std::vector<float> exact =
      Encoder::load(source(), {.threads = 1}).encode(some_text()).last_hidden_state;
  for (const Compute compute : {Compute::kStored, Compute::kF32, Compute::kBf16, Compute::kInt8}) {
    Encoder encoder = Encoder::load(target(), {.threads = 1, .compute = compute});
    EXPECT_EQ(encoder.info().compute, compute == Compute::kStored ? Compute::kInt8 : compute);
    EXPECT_TRUE(encoder.names().unexpected.empty());
    EXPECT_TRUE(encoder.names().missing.empty());
    EXPECT_EQ(encoder.info().parameters, Encoder::load(source(), {.threads = 1}).info().parameters);
    const std::vector<float> states = encoder.encode(some_text()).last_hidden_state;
    const double difference = largest_difference(states, exact);
    EXPECT_LT(difference, 0.15) << encoder.info().computed;  // rows of unit variance
    EXPECT_GT(difference, 1e-6) << encoder.info().computed;
  }
}

// A file gives what quantising at load gives: the same bits, where its embeddings lose nothing.
TEST_F(Int8, TheFileIsTheModelQuantisedAtLoad) {
  convert_dtype(source(), path("bf16"), DType::kBF16);
  convert_dtype(path("bf16"), target(), DType::kI8);
  const auto states = [](const std::filesystem::path& model, Compute compute) {
    return Encoder::load(model, {.threads = 1, .compute = compute})
        .encode(some_text())
        .last_hidden_state;
  };
  EXPECT_EQ(states(path("bf16"), Compute::kInt8), states(target(), Compute::kStored));
}

TEST_F(Int8, WidensAgain) {
  convert();
  convert_dtype(target(), path("wide"), DType::kF32);
  const io::Checkpoint wide = io::Checkpoint::open(path("wide"));
  EXPECT_EQ(wide.names().size(), io::Checkpoint::open(source()).names().size());
  const io::Config config = io::Config::read(path("wide") / "config.json");
  EXPECT_FALSE(config.contains("quantization_config"));
  EXPECT_EQ(config.string("torch_dtype", ""), "float32");
  const std::vector<float> values = to_f32(wide.tensor(kQuery));
  const std::vector<int64_t> steps = to_i64(tensor(target(), kQuery));
  const std::vector<float> scales = to_f32(tensor(target(), kQuery + ".scale"));
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], static_cast<float>(steps[i]) * scales[i / 16]);
  }
  // Widened values are multiples of the scale already.
  Encoder a = Encoder::load(path("wide"), {.threads = 1});
  Encoder b = Encoder::load(target(), {.threads = 1, .compute = Compute::kF32});
  EXPECT_EQ(a.encode(some_text()).last_hidden_state, b.encode(some_text()).last_hidden_state);
  convert_dtype(target(), path("half"), DType::kF16);
  EXPECT_EQ(tensor(path("half"), kQuery).dtype, DType::kF16);
  // And int8 of int8 is the same file.
  convert_dtype(target(), path("again"), DType::kI8);
  for (const char* file : {"model.safetensors", "config.json"}) {
    EXPECT_EQ(io::read_file(path("again") / file, 1 << 20),
              io::read_file(target() / file, 1 << 20));
  }
}

TEST_F(Int8, BecomesALongModel) {
  convert();
  LongModelSettings settings;
  settings.max_tokens = 40;
  settings.attention_window = 8;
  settings.load.threads = 1;
  const ConvertReport report = convert_to_long(target(), path("long"), settings);
  EXPECT_LT(report.largest_difference, 1e-5);
  const std::string global = "encoder.layer.1.attention.self.value_global.weight";
  EXPECT_EQ(tensor(path("long"), global).dtype, DType::kI8);
  Encoder encoder = Encoder::load(path("long"), {.threads = 1});
  EXPECT_EQ(encoder.info().compute, Compute::kInt8);
  EXPECT_TRUE(encoder.names().converted.empty());
  // Global rows read the int8 matrices widened: near what the f32 model gives.
  EncoderInput input = some_text();
  input.global_attention_mask = {1, 0, 0, 0, 0, 0, 0, 0};
  convert_to_long(source(), path("long f32"), settings);
  Encoder exact = Encoder::load(path("long f32"), {.threads = 1});
  Encoder widened = Encoder::load(path("long"), {.threads = 1, .compute = Compute::kF32});
  const std::vector<float> want = exact.encode(input).last_hidden_state;
  EXPECT_LT(largest_difference(widened.encode(input).last_hidden_state, want), 0.1);
  EXPECT_LT(largest_difference(encoder.encode(input).last_hidden_state, want), 0.15);
}

TEST_F(Int8, FusedAndGatedLayers) {
  const std::string json =
      R"({"model_type": "modernbert", "vocab_size": 50, "hidden_size": 24, "num_attention_heads": 2,
        "intermediate_size": 20, "num_hidden_layers": 3, "local_attention": 6, "norm_bias": true})";
  const EncoderConfig config = read_encoder_config(io::Config::parse(json, "config.json"));
  std::filesystem::create_directories(path("modern"));
  test::write_checkpoint(path("modern"), json, config, test::random_tensors(config, 4));
  convert_dtype(path("modern"), target(), DType::kI8);
  for (const char* name : {"attn.Wqkv", "attn.Wo", "mlp.Wi"}) {
    EXPECT_EQ(tensor(target(), std::string("layers.1.") + name + ".weight").dtype, DType::kI8);
  }
  EXPECT_EQ(tensor(target(), "layers.1.mlp.Wo.weight").dtype, DType::kBF16);
  EXPECT_EQ(tensor(target(), "embeddings.tok_embeddings.weight").dtype, DType::kBF16);
  Encoder exact = Encoder::load(path("modern"), {.threads = 1});
  Encoder encoder = Encoder::load(target(), {.threads = 1});
  EXPECT_LT(largest_difference(encoder.encode(some_text()).last_hidden_state,
                               exact.encode(some_text()).last_hidden_state),
            0.15);
}

TEST_F(Int8, ScalesAreChecked) {
  const auto scales = [](std::vector<float> values) {
    return make_tensor({static_cast<int64_t>(values.size())}, std::span<const float>(values));
  };
  constexpr float kMax = std::numeric_limits<float>::max();
  const std::string name = kQuery + ".scale";
  const auto with = [](float value) {
    std::vector<float> values(16, 0.01f);
    values[5] = value;
    return values;
  };
  for (const float bad : {0.0f, -0.5f, std::nanf(""), kMax * 2, kMax}) {
    std::filesystem::remove_all(target());
    convert();
    replace(target(), name, scales(with(bad)));
    expect_refused({name, "element 5", "positive, finite"});
  }
  std::filesystem::remove_all(target());
  convert();
  replace(target(), name, cast(tensor(target(), name), DType::kF16));
  expect_refused({name, "F16", "F32"});
  for (const Tensor& shape : {scales(std::vector<float>(15, 1.0f)),
                              make_tensor({16, 1}, std::span<const float>(with(1.0f)))}) {
    replace(target(), name, shape);
    expect_refused({name, "[16]"});
  }
  replace(target(), name, std::nullopt);
  expect_refused({"attention.self.query.weight.scale"});
}

// Not taken from another matrix, and not left out silently.
TEST_F(Int8, ScalesStandBesideTheirMatrix) {
  convert();
  replace(target(), "bert.pooler.dense.weight.scale", std::nullopt);
  expect_refused({"bert.pooler.dense.weight.scale", "missing"});
  LongModelSettings settings;
  settings.max_tokens = 40;
  settings.attention_window = 8;
  settings.load.threads = 1;
  convert_to_long(source(), path("long"), settings);
  std::filesystem::remove_all(target());
  convert_dtype(path("long"), target(), DType::kI8);
  const std::string global = "encoder.layer.0.attention.self.key_global.weight";
  replace(target(), global + ".scale", std::nullopt);
  expect_refused({global + ".scale", "missing"});
}

TEST_F(Int8, WrongTypesAreRefused) {
  convert();
  std::vector<std::byte> bytes(16 * 16, std::byte{1});
  bytes[17] = std::byte{0x80};
  replace(target(), kQuery, Tensor{DType::kI8, {16, 16}, own_bytes(bytes), 0});
  expect_refused({kQuery, "-128", "element 17"});
  std::filesystem::remove_all(target());
  convert();
  replace(target(), kQuery, tensor(source(), kQuery));
  expect_error(ErrorCode::kInvalidFile, {kQuery, "F32", "I8"},
               [&] { Encoder::load(target(), {.threads = 1}); });
  std::filesystem::remove_all(target());
  convert();
  const std::string words = "bert.embeddings.word_embeddings.weight";
  replace(target(), words,
          Tensor{DType::kI8, {36, 16}, own_bytes(std::vector<std::byte>(36 * 16)), 0});
  expect_error(ErrorCode::kInvalidFile, {words, "I8"},
               [&] { Encoder::load(target(), {.threads = 1}); });
  // Nothing in config.json says int8.
  std::filesystem::remove_all(target());
  convert();
  put(target() / "config.json", test::tiny_config("bert", 12));
  expect_error(ErrorCode::kInvalidFile, {kQuery, "I8", "quantization_config"},
               [&] { Encoder::load(target(), {.threads = 1}); });
}

TEST_F(Int8, OtherMethodsAndVersionsAreRefused) {
  convert();
  for (const char* bad :
       {R"({"quant_method": "gptq", "bits": 4})", R"({"quant_method": "longformer"})",
        R"({"quant_method": "longformer", "version": 2})", R"({"version": 1})", "{}"}) {
    put(target() / "config.json",
        test::tiny_config("bert", 12, std::string(R"("quantization_config": )") + bad + ", "));
    expect_refused({"quantization_config", "\"longformer\", version 1"}, ErrorCode::kUnsupported);
  }
  put(target() / "config.json",
      test::tiny_config("bert", 12, R"("quantization_config": "int8", )"));
  expect_refused({"quantization_config"});
}

TEST_F(Int8, ValuesThatAreNotFiniteCannotBeStored) {
  std::vector<float> values(16 * 16, 1.0f);
  values[3] = std::nanf("");
  replace(source(), kQuery, make_tensor({16, 16}, std::span<const float>(values)));
  expect_error(ErrorCode::kInvalidFile, {kQuery, "not finite"}, [&] { convert(); });
  EXPECT_FALSE(std::filesystem::exists(target()));
}

// Weights of a processor without the arithmetic are rounded all the same.
TEST_F(Int8, RoundedWeightsAreTheSameEverywhere) {
  convert();
  Encoder wide = Encoder::load(target(), {.threads = 1, .compute = Compute::kF32});
  const std::vector<float> want = wide.encode(some_text()).last_hidden_state;
  Encoder int8 = Encoder::load(target(), {.threads = 1});
  if (int8.info().computed != "f32, weights rounded to int8") {
    GTEST_SKIP() << "this processor multiplies int8; LONGFORMER_ISA=avx2 runs the other row";
  }
  EXPECT_EQ(int8.encode(some_text()).last_hidden_state, want);
  // Quantised at load, with the embeddings of the f32 file.
  Encoder rounded = Encoder::load(source(), {.threads = 1, .compute = Compute::kInt8});
  EXPECT_LT(largest_difference(rounded.encode(some_text()).last_hidden_state, want), 0.05);
}

}  // namespace
}  // namespace longformer
