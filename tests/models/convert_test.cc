#include "models/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "io/checkpoint/checkpoint.h"
#include "io/torch_files.h"
#include "tasks/tiny_model.h"

namespace longformer {
namespace {

using test::expect_error;
using test::put;

constexpr const char* kPositions = "embeddings.position_embeddings.weight";

class Convert : public testing::Test {
 protected:
  std::filesystem::path source() const { return directory_.path() / "short"; }
  std::filesystem::path target() const { return directory_.path() / "long"; }
  io::Config config() const { return io::Config::read(target() / "config.json"); }
  std::vector<float> values(const std::string& name) const {
    return to_f32(io::Checkpoint::open(target()).tensor(name));
  }
  // Everything below the parent of source and target but the source.
  std::vector<std::string> left_behind() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      if (entry.path() != source()) names.push_back(entry.path().filename().string());
    }
    return names;
  }
  static LongModelSettings settings(int64_t tokens, int64_t window) {
    LongModelSettings result;
    result.max_tokens = tokens;
    result.attention_window = window;
    result.load.threads = 1;
    return result;
  }
  // Rewrites a checkpoint: name and values may change, nothing else.
  void edit(const std::function<void(io::NamedTensor&)>& change) const {
    std::vector<io::NamedTensor> tensors =
        io::read_safetensors(source() / "model.safetensors").tensors;
    for (io::NamedTensor& tensor : tensors) change(tensor);
    io::write_safetensors(source() / "model.safetensors", tensors);
  }
  test::TemporaryDirectory directory_;
};

TEST_F(Convert, PositionsAreTiledWithThePeriod) {
  test::write_tiny_model(source(), "bert", 12);
  const std::vector<float> old = to_f32(io::Checkpoint::open(source()).tensor(kPositions));
  for (const int64_t period : {12, 5, 1}) {
    std::filesystem::remove_all(target());
    LongModelSettings s = settings(40, 8);
    s.position_period = period;
    const ConvertReport report = convert_to_long(source(), target(), s);
    EXPECT_EQ(report.checked_tokens, period);
    EXPECT_LT(report.largest_difference, 1e-5);
    const std::vector<float> now = values(kPositions);
    ASSERT_EQ(now.size(), 41u * 16);
    for (int64_t row = 0; row < 41; ++row) {
      const int64_t from = row == 0 ? 0 : (row - 1) % period;
      EXPECT_TRUE(
          std::equal(now.begin() + row * 16, now.begin() + (row + 1) * 16, old.begin() + from * 16))
          << row;
    }
  }
}

// A model of RoBERTa's kind: padding is id 1, twelve tokens read rows 2 to 13.
void write_roberta(const std::filesystem::path& directory, const std::string& type,
                   const std::string& prefix = "", const std::string& more = "") {
  const std::string json =
      test::tiny_config(type, 14, R"("pad_token_id": 1, "bos_token_id": 0, )" + more);
  const EncoderConfig config = read_encoder_config(io::Config::parse(json, "config.json"));
  std::filesystem::create_directories(directory);
  test::write_checkpoint(directory, json, config, test::random_tensors(config, 12, 0.3f), prefix);
}

TEST_F(Convert, RobertasReservedRowsAreNotTiled) {
  for (const char* const type : {"roberta", "xlm-roberta"}) {
    write_roberta(source(), type, "roberta.");
    const std::vector<float> old =
        to_f32(io::Checkpoint::open(source()).tensor(std::string("roberta.") + kPositions));
    ASSERT_EQ(old.size(), 14u * 16);
    for (const int64_t period : {12, 5}) {
      std::filesystem::remove_all(target());
      LongModelSettings s = settings(40, 8);
      if (period != 12) s.position_period = period;
      const ConvertReport report = convert_to_long(source(), target(), s);
      EXPECT_EQ(report.checked_tokens, period);
      EXPECT_LT(report.largest_difference, 1e-5);
      const std::vector<float> now = values(kPositions);
      ASSERT_EQ(now.size(), 42u * 16);  // N + 2
      for (int64_t row = 0; row < 42; ++row) {
        const int64_t from = row < 2 ? row : 2 + (row - 2) % period;
        EXPECT_TRUE(std::equal(now.begin() + row * 16, now.begin() + (row + 1) * 16,
                               old.begin() + from * 16))
            << row;
      }
    }
  }
}

TEST_F(Convert, RobertasConfig) {
  write_roberta(source(), "roberta", "", R"("layer_norm_eps": 1e-05, )");
  convert_to_long(source(), target(), settings(40, 8));
  const io::Config c = config();
  EXPECT_EQ(c.string("model_type", ""), "longformer");
  EXPECT_EQ(c.strings("architectures"), (std::vector<std::string>{"LongformerModel"}));
  EXPECT_EQ(c.integer("max_position_embeddings", 0, 0, 1000), 42);
  EXPECT_EQ(c.number("layer_norm_eps", 0, 0, 1), 1e-5);
  // Ids that the source does not name have the values of its class.
  for (const auto& [key, id] : {std::pair<const char*, int64_t>{"pad_token_id", 1},
                                {"bos_token_id", 0},
                                {"cls_token_id", 0},
                                {"eos_token_id", 2},
                                {"sep_token_id", 2}}) {
    EXPECT_EQ(c.integer(key, 9, 0, 9), id) << key;
  }
  EXPECT_EQ(Encoder::load(target()).info().max_tokens, 40);
}

TEST_F(Convert, RobertasTokenizerGoesAlong) {
  const auto tokenizer_class = [&](const char* type, const std::string& before) {
    std::filesystem::remove_all(source());
    std::filesystem::remove_all(target());
    write_roberta(source(), type);
    for (const char* const name : {"vocab.json", "merges.txt", "sentencepiece.bpe.model"}) {
      put(source() / name, "{}");
    }
    if (!before.empty()) {
      put(source() / "tokenizer_config.json", R"({"tokenizer_class": ")" + before + R"("})");
    }
    const ConvertReport report = convert_to_long(source(), target(), settings(40, 4));
    EXPECT_EQ(report.files,
              before.empty() ? (std::vector<std::string>{"merges.txt", "sentencepiece.bpe.model",
                                                         "vocab.json"})
                             : (std::vector<std::string>{"merges.txt", "sentencepiece.bpe.model",
                                                         "tokenizer_config.json", "vocab.json"}));
    const io::Config fields = io::Config::read(target() / "tokenizer_config.json");
    EXPECT_EQ(fields.integer("model_max_length", 0, 0, 100), 40);
    return fields.string("tokenizer_class", "");
  };
  EXPECT_EQ(tokenizer_class("roberta", ""), "LongformerTokenizer");
  EXPECT_EQ(tokenizer_class("roberta", "RobertaTokenizer"), "LongformerTokenizer");
  EXPECT_EQ(tokenizer_class("roberta", "RobertaTokenizerFast"), "LongformerTokenizerFast");
  EXPECT_EQ(tokenizer_class("roberta", "BertTokenizer"), "BertTokenizer");
  EXPECT_EQ(tokenizer_class("xlm-roberta", ""), "XLMRobertaTokenizer");
  EXPECT_EQ(tokenizer_class("xlm-roberta", "XLMRobertaTokenizerFast"), "XLMRobertaTokenizerFast");
}

TEST_F(Convert, ValuesThatAreNotFiniteAreNamed) {
  // Also where no text of the check would meet them: a row of the table that is left uninitialised.
  write_roberta(source(), "xlm-roberta", "roberta.");
  edit([](io::NamedTensor& tensor) {
    if (!tensor.name.ends_with(kPositions)) return;
    std::vector<float> rows = to_f32(tensor.tensor);
    rows[0] = std::numeric_limits<float>::quiet_NaN();
    tensor.tensor = make_tensor(tensor.tensor.shape, std::span<const float>(rows));
  });
  expect_error(ErrorCode::kInvalidFile, {kPositions, "not finite"},
               [&] { convert_to_long(source(), target(), settings(40, 8)); });
  EXPECT_TRUE(left_behind().empty());
}

// The tensors of the source's model.safetensors as a .bin in its place.
void store_as_bin(const std::filesystem::path& directory, bool legacy) {
  std::vector<std::pair<std::string, std::string>> items;
  io::Storages storages;
  for (const io::NamedTensor& named :
       io::read_safetensors(directory / "model.safetensors").tensors) {
    const std::vector<float> values = to_f32(named.tensor);
    const std::string key = std::to_string(storages.size());
    std::vector<int64_t> strides(named.tensor.shape.size(), 1);
    for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * named.tensor.shape[i];
    const auto count = static_cast<int64_t>(values.size());
    items.emplace_back(named.name, io::tensor(io::storage("FloatStorage", key, count), 0,
                                              io::tuple(named.tensor.shape), io::tuple(strides)));
    storages.emplace_back(key, io::floats(values));
  }
  const std::string program = io::finish(io::dictionary(items));
  put(directory / "pytorch_model.bin",
      legacy ? io::torch_legacy(program, storages) : io::torch_zip(program, storages));
  std::filesystem::remove(directory / "model.safetensors");
}

TEST_F(Convert, FromPyTorchFilesOfBothKinds) {
  write_roberta(source(), "roberta", "roberta.");
  convert_to_long(source(), target(), settings(40, 8));
  convert_dtype(source(), directory_.path() / "half", DType::kBF16);
  for (const bool legacy : {false, true}) {
    write_roberta(source(), "roberta", "roberta.");
    store_as_bin(source(), legacy);
    convert_to_long(source(), directory_.path() / "again", settings(40, 8));
    convert_dtype(source(), directory_.path() / "half again", DType::kBF16);
    for (const auto& [a, b] : {std::pair("long", "again"), std::pair("half", "half again")}) {
      EXPECT_EQ(io::read_file(directory_.path() / a / "model.safetensors", 1 << 20),
                io::read_file(directory_.path() / b / "model.safetensors", 1 << 20));
      std::filesystem::remove_all(directory_.path() / b);
    }
  }
}

TEST_F(Convert, TheConfigSaysWhatTheReferenceNeeds) {
  test::write_tiny_model(source(), "bert", 12);
  LongModelSettings s = settings(40, 8);
  s.cls_token_id = 2;
  s.sep_token_id = 3;
  convert_to_long(source(), target(), s);
  const io::Config c = config();
  EXPECT_EQ(c.string("model_type", ""), "longformer");
  EXPECT_EQ(c.strings("architectures"), (std::vector<std::string>{"LongformerModel"}));
  EXPECT_EQ(c.integer("max_position_embeddings", 0, 0, 1000), 41);
  EXPECT_EQ(c.integer("pad_token_id", 9, 0, 9), 0);
  EXPECT_EQ(c.integer("cls_token_id", 9, 0, 9), 2);
  EXPECT_EQ(c.integer("sep_token_id", 9, 0, 9), 3);
  EXPECT_EQ(c.integers("attention_window", 0, 100), (std::vector<int64_t>{8, 8}));
  EXPECT_EQ(c.number("layer_norm_eps", 0, 0, 1), 1e-12);
  EXPECT_EQ(c.integer("type_vocab_size", 0, 0, 9), 2);
  EXPECT_EQ(Encoder::load(target()).info().max_tokens, 40);
}

TEST_F(Convert, GlobalProjectionsAreCopies) {
  test::write_tiny_model(source(), "bert", 12);
  convert_to_long(source(), target(), settings(20, 4));
  const Encoder encoder = Encoder::load(target());
  EXPECT_TRUE(encoder.names().converted.empty());
  EXPECT_TRUE(encoder.names().unexpected.empty());
  EXPECT_TRUE(encoder.info().has_pooler);
  for (const std::string projection : {"query", "key", "value"}) {
    for (const std::string part : {".weight", ".bias"}) {
      const std::string stem = "encoder.layer.1.attention.self." + projection;
      EXPECT_EQ(values(stem + part), values(stem + "_global" + part));
      EXPECT_EQ(values(stem + part), to_f32(io::Checkpoint::open(source()).tensor(stem + part)));
    }
  }
}

TEST_F(Convert, TaskFilesAndOldNames) {
  test::write_tiny_model(source(), "bert", 12, "bert.");
  edit([](io::NamedTensor& tensor) {
    const size_t norm = tensor.name.find("LayerNorm.weight");
    if (norm != std::string::npos) tensor.name.replace(norm + 10, 6, "gamma");
    if (tensor.name == "bert.pooler.dense.bias") tensor.name = "cls.predictions.bias";
    if (tensor.name == "bert.pooler.dense.weight")
      tensor.name = "cls.predictions.transform.dense.weight";
  });
  const ConvertReport report = convert_to_long(source(), target(), settings(20, 4));
  EXPECT_EQ(report.dropped, (std::vector<std::string>{"cls.predictions.bias",
                                                      "cls.predictions.transform.dense.weight"}));
  const io::Checkpoint checkpoint = io::Checkpoint::open(target());
  EXPECT_TRUE(checkpoint.contains("embeddings.LayerNorm.weight"));
  EXPECT_FALSE(checkpoint.contains("pooler.dense.weight"));
  for (const std::string& name : checkpoint.names()) {
    EXPECT_EQ(name.find("bert."), std::string::npos);
    EXPECT_EQ(name.find("cls."), std::string::npos);
  }
}

TEST_F(Convert, AWindowThatCoversTheTextGivesTheShortModel) {
  test::write_tiny_model(source(), "bert", 12);
  convert_to_long(source(), target(), settings(100, 24));
  EncoderInput input;
  input.input_ids = {2, 8, 9, 10, 11, 12, 5, 3};
  input.lengths = {8};
  Encoder before = Encoder::load(source());
  Encoder after = Encoder::load(target());
  const std::vector<float> a = before.encode(input).last_hidden_state;
  const std::vector<float> b = after.encode(input).last_hidden_state;
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
}

TEST_F(Convert, PaddingIdsOtherThanZeroKeepTheirRows) {
  test::write_tiny_model(source(), "bert", 12);
  io::Config c = io::Config::read(source() / "config.json");
  c.set("pad_token_id", int64_t{4});
  put(source() / "config.json", c.dump());
  convert_to_long(source(), target(), settings(20, 4));
  EXPECT_EQ(config().integer("max_position_embeddings", 0, 0, 100), 25);
  EXPECT_EQ(Encoder::load(target()).info().max_tokens, 20);
}

TEST_F(Convert, TokenizerFilesNoLongerCut) {
  test::write_tiny_model(source(), "bert", 12);
  put(source() / "tokenizer.json",
      R"({"version": "1.0", "truncation": {"max_length": 128}, "padding": {"pad_id": 0}, "model": {"é": 1}})");
  put(source() / "sentence_bert_config.json", R"({"max_seq_length": 256, "do_lower_case": false})");
  put(source() / "README.md", "about");
  put(source() / "LICENSE", "terms");
  put(source() / "pytorch_model.bin", "not this");
  put(source() / "onnx" / "model.onnx", "nor this");
  test::put_pooling(source(),
                    R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})", true);
  std::filesystem::create_directory(source() / "2_Normalize");
  const ConvertReport report = convert_to_long(source(), target(), settings(40, 4));
  const io::Config tokenizer = io::Config::read(target() / "tokenizer.json");
  EXPECT_FALSE(tokenizer.has("truncation"));
  EXPECT_FALSE(tokenizer.has("padding"));
  EXPECT_NE(tokenizer.dump().find("\"é\""), std::string::npos);
  EXPECT_NE(tokenizer.dump().find("\"truncation\": null"), std::string::npos);
  const io::Config fields = io::Config::read(target() / "tokenizer_config.json");
  EXPECT_EQ(fields.integer("model_max_length", 0, 0, 100), 40);
  EXPECT_EQ(fields.string("tokenizer_class", ""), "BertTokenizer");
  EXPECT_FALSE(fields.has("max_length"));
  EXPECT_EQ(
      io::Config::read(target() / "sentence_bert_config.json").integer("max_seq_length", 0, 0, 100),
      40);
  EXPECT_EQ(report.files,
            (std::vector<std::string>{"1_Pooling", "2_Normalize", "LICENSE", "README.md",
                                      "modules.json", "sentence_bert_config.json", "tokenizer.json",
                                      "tokenizer_config.json", "vocab.txt"}));
  EXPECT_TRUE(std::filesystem::exists(target() / "1_Pooling" / "config.json"));
  EXPECT_FALSE(std::filesystem::exists(target() / "pytorch_model.bin"));
  EXPECT_FALSE(std::filesystem::exists(target() / "onnx"));
}

TEST_F(Convert, ATokenizerWithoutAClassGetsOne) {
  test::write_tiny_model(source(), "bert", 12);
  std::filesystem::remove(source() / "tokenizer_config.json");
  convert_to_long(source(), target(), settings(40, 4));
  EXPECT_EQ(io::Config::read(target() / "tokenizer_config.json").string("tokenizer_class", ""),
            "BertTokenizer");
}

TEST_F(Convert, SettingsOutOfRangeAreRefused) {
  test::write_tiny_model(source(), "bert", 12);
  const auto refuse = [&](LongModelSettings s, const std::vector<std::string>& parts) {
    expect_error(ErrorCode::kInvalidArgument, parts,
                 [&] { convert_to_long(source(), target(), s); });
    EXPECT_TRUE(left_behind().empty());
  };
  refuse(settings(0, 8), {"length of the long model", "1 to 1048576"});
  refuse(settings(-4, 8), {"length of the long model"});
  refuse(settings(1'048'577, 8), {"1048577"});
  refuse(settings(40, 0), {"attention window"});
  refuse(settings(40, -2), {"attention window"});
  refuse(settings(40, 7), {"attention window", "even"});
  for (const int64_t period : {0, 13}) {
    LongModelSettings s = settings(40, 8);
    s.position_period = period;
    refuse(s, {"position period", "1 to 12"});
  }
}

TEST_F(Convert, SourcesWithoutARecipeAreRefused) {
  const auto refuse = [&](const std::string& type, const std::string& more,
                          const std::string& part) {
    std::filesystem::remove_all(source());
    test::write_tiny_model(source(), "bert", 12);
    put(source() / "config.json", test::tiny_config(type, 12, more));
    expect_error(ErrorCode::kUnsupported, {part},
                 [&] { convert_to_long(source(), target(), settings(40, 8)); });
    EXPECT_TRUE(left_behind().empty());
  };
  refuse("longformer", "", "longformer model already");
  refuse("longformer", R"("attention_mode": "sliding_chunks", )", "longformer model already");
  refuse("roberta", R"("attention_mode": "sliding_chunks", "attention_window": [4, 4], )",
         "longformer model already");
  refuse("deberta-v2", "", "relative");
  refuse("deberta", "", "disentangled");
  refuse("t5", "", "relative");
  refuse("mpnet", "", "relative");
  refuse("modernbert", "", "--positions extend");
  refuse("electra", "", "supported: bert, roberta, xlm-roberta");
  refuse("", "", "supported: bert");
  refuse("roberta", R"("position_embedding_type": "relative_key", )", "position_embedding_type");
  refuse("bert", R"("position_embedding_type": "relative_key", )", "position_embedding_type");
  refuse("bert", R"("hidden_act": "mish", )", "hidden_act");
}

TEST_F(Convert, NothingIsOverwritten) {
  test::write_tiny_model(source(), "bert", 12);
  put(target() / "mine.txt", "mine");
  expect_error(ErrorCode::kInvalidArgument, {"not empty"},
               [&] { convert_to_long(source(), target(), settings(40, 8)); });
  EXPECT_EQ(left_behind(), (std::vector<std::string>{"long"}));
  std::filesystem::remove(target() / "mine.txt");
  convert_to_long(source(), target(), settings(40, 8));  // an empty directory is fine
  EXPECT_EQ(left_behind(), (std::vector<std::string>{"long"}));
}

TEST_F(Convert, AModelThatFailsItsCheckIsNotLeftBehind) {
  test::write_tiny_model(source(), "bert", 12);
  edit([](io::NamedTensor& tensor) {
    if (tensor.name != "encoder.layer.0.output.dense.bias") return;
    std::vector<float> broken(16, std::numeric_limits<float>::quiet_NaN());
    tensor.tensor = make_tensor({16}, std::span<const float>(broken));
  });
  expect_error(ErrorCode::kInvalidFile, {"not finite"},
               [&] { convert_to_long(source(), target(), settings(40, 8)); });
  EXPECT_TRUE(left_behind().empty());
}

TEST_F(Convert, BrokenSourcesLeaveNothing) {
  expect_error(ErrorCode::kNotFound, {"config.json"},
               [&] { convert_to_long(source(), target(), settings(40, 8)); });
  test::write_tiny_model(source(), "bert", 12);
  std::filesystem::resize_file(source() / "model.safetensors", 500);
  expect_error(ErrorCode::kInvalidFile, {},
               [&] { convert_to_long(source(), target(), settings(40, 8)); });
  test::write_tiny_model(source(), "bert", 12);
  put(source() / "tokenizer.json", "{");
  expect_error(ErrorCode::kInvalidFile, {"tokenizer.json"},
               [&] { convert_to_long(source(), target(), settings(40, 8)); });
  EXPECT_TRUE(left_behind().empty());
}

TEST_F(Convert, PrecisionGoesDownAndBack) {
  test::write_tiny_model(source(), "bert", 12, "bert.");
  const std::string name = "bert.encoder.layer.0.output.dense.weight";
  const std::vector<float> old = to_f32(io::Checkpoint::open(source()).tensor(name));
  struct Case {
    DType dtype;
    const char* label;
    double relative;
  };
  for (const Case& c :
       {Case{DType::kBF16, "bfloat16", 1.0 / 256}, Case{DType::kF16, "float16", 1.0 / 2048}}) {
    std::filesystem::remove_all(target());
    const ConvertReport report = convert_dtype(source(), target(), c.dtype);
    EXPECT_EQ(config().string("torch_dtype", ""), c.label);
    const io::Checkpoint stored = io::Checkpoint::open(target());
    EXPECT_EQ(report.tensors, static_cast<int64_t>(stored.names().size()));
    EXPECT_EQ(stored.tensor(name).dtype, c.dtype);
    const std::vector<float> now = to_f32(stored.tensor(name));
    for (size_t i = 0; i < old.size(); ++i) {
      ASSERT_NEAR(now[i], old[i], std::abs(old[i]) * c.relative + 1e-7);
    }
    const auto wide = directory_.path() / "wide";
    convert_dtype(target(), wide, DType::kF32);
    EXPECT_EQ(to_f32(io::Checkpoint::open(wide).tensor(name)), now);
    std::filesystem::remove_all(wide);
  }
  expect_error(ErrorCode::kInvalidArgument, {"I16"},
               [&] { convert_dtype(source(), directory_.path() / "x", DType::kI16); });
}

TEST_F(Convert, ValuesBeyondHalfPrecisionAreRefusedByName) {
  test::write_tiny_model(source(), "bert", 12);
  edit([](io::NamedTensor& tensor) {
    if (tensor.name != "pooler.dense.bias") return;
    std::vector<float> large(16, 70000.0f);
    tensor.tensor = make_tensor({16}, std::span<const float>(large));
  });
  expect_error(ErrorCode::kInvalidFile, {"pooler.dense.bias", "65504"},
               [&] { convert_dtype(source(), target(), DType::kF16); });
  EXPECT_TRUE(left_behind().empty());
  convert_dtype(source(), target(), DType::kBF16);
}

}  // namespace
}  // namespace longformer
