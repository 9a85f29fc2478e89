#include "models/check_tensors.h"

#include <gtest/gtest.h>

#include <limits>

#include "tasks/tiny_model.h"

namespace longformer {
namespace {

using test::expect_error;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class CheckTensors : public testing::Test {
 protected:
  CheckTensors() { test::write_tiny_model(directory_.path(), "bert", 12, "bert."); }
  std::filesystem::path model() const { return directory_.path(); }

  // Puts a value into a tensor, and stores all in this type.
  void put(const std::string& name, size_t element, float value, DType dtype) const {
    auto tensors = io::read_safetensors(model() / "model.safetensors").tensors;
    for (io::NamedTensor& tensor : tensors) {
      std::vector<float> values = to_f32(tensor.tensor);
      if (tensor.name == name) values.at(element) = value;
      tensor.tensor = cast(make_tensor(tensor.tensor.shape, std::span<const float>(values)), dtype);
    }
    io::write_safetensors(model() / "model.safetensors", tensors);
  }
  Encoder load(bool check) const {
    return Encoder::load(model(), {.threads = 2, .check_tensors = check});
  }
  test::TemporaryDirectory directory_;
};

TEST_F(CheckTensors, SoundWeightsPass) { EXPECT_EQ(load(true).info().layers, 2); }

TEST_F(CheckTensors, NamesTensorAndPlaceInEveryType) {
  const std::string name = "bert.encoder.layer.1.output.dense.weight";  // [16, 32]
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}) {
    for (const auto& [value, text] :
         {std::pair{kNaN, "nan"}, {kInfinity, "inf"}, {-kInfinity, "-inf"}}) {
      put(name, 5 * 32 + 7, value, dtype);
      expect_error(ErrorCode::kInvalidFile, {name, text, "[5, 7]"}, [&] { load(true); });
      put(name, 5 * 32 + 7, 0.5f, dtype);
    }
    load(true);
  }
}

// In the order of the model's tensors, whatever thread finds what first.
TEST_F(CheckTensors, TheFirstIsNamed) {
  put("bert.pooler.dense.bias", 3, kNaN, DType::kF32);
  put("bert.embeddings.word_embeddings.weight", 35 * 16 + 15, kInfinity, DType::kF32);
  put("bert.embeddings.word_embeddings.weight", 35 * 16 + 14, kNaN, DType::kF32);
  for (int run = 0; run < 5; ++run) {
    expect_error(ErrorCode::kInvalidFile, {"word_embeddings", "nan", "[35, 14]"},
                 [&] { load(true); });
  }
}

TEST_F(CheckTensors, OnlyWhatTheModelUsesAndOnlyWhenAsked) {
  auto tensors = io::read_safetensors(model() / "model.safetensors").tensors;
  tensors.push_back({"classifier.weight", make_tensor({1}, std::span<const float>(&kNaN, 1))});
  io::write_safetensors(model() / "model.safetensors", tensors);
  load(true);
  put("bert.pooler.dense.bias", 3, kNaN, DType::kF32);
  load(false);
}

// A value behind the first part that a thread looks through, and at odd places in a block.
TEST_F(CheckTensors, LargeTensorsInParts) {
  const std::string json = test::tiny_config("bert", 12, R"("vocab_size": 140000, )");
  std::string config_json = json;
  config_json.replace(config_json.find(R"("vocab_size": 36, )"), 18, "");
  const EncoderConfig config = read_encoder_config(io::Config::parse(config_json, "config.json"));
  ASSERT_EQ(config.vocab_size, 140000);
  const test::TemporaryDirectory large;
  test::Tensors tensors = test::random_tensors(config, 3);
  for (const int64_t row : {0, 65535, 65536, 139999}) {
    test::Tensors broken = tensors;
    broken["embeddings.word_embeddings.weight"][static_cast<size_t>(row * 16 + 9)] = kNaN;
    test::write_checkpoint(large.path(), config_json, config, broken);
    expect_error(ErrorCode::kInvalidFile, {"[" + std::to_string(row) + ", 9]"},
                 [&] { Encoder::load(large.path(), {.threads = 3, .check_tensors = true}); });
  }
}

}  // namespace
}  // namespace longformer
