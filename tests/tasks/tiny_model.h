// A directory with a small random model and its tokenizer files.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "io/config.h"
#include "support/expect_error.h"
#include "support/random_model.h"

namespace longformer::test {

inline const std::vector<std::string>& tiny_words() {
  static const std::vector<std::string> words = {
      "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".",    ",",     "?",      "fox",
      "hen",   "barn",  "night", "the",   "a",      "in",   "comes", "sleeps", "runs",
      "eats",  "corn",  "dog",   "old",   "red",    "one",  "two",   "three",  "four",
      "five",  "rain",  "snow",  "##s",   "moon",   "road", "long",  "deep",   "river"};
  return words;
}

inline void put(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string tiny_config(const std::string& type, int64_t positions,
                               const std::string& more = "") {
  const std::string pad = type == "longformer" ? R"("pad_token_id": 0, "attention_window": 8, )"
                                               : R"("pad_token_id": 0, )";
  return R"({"model_type": ")" + type +
         R"(", "vocab_size": 36, "hidden_size": 16, "num_hidden_layers": 2, )" +
         R"("num_attention_heads": 4, "intermediate_size": 32, "type_vocab_size": 2, "layer_norm_eps": 1e-12, )" +
         pad + more + R"("max_position_embeddings": )" + std::to_string(positions) + "}";
}

inline void put_vocabulary(const std::filesystem::path& directory) {
  std::string vocabulary;
  for (const std::string& word : tiny_words()) vocabulary += word + "\n";
  put(directory / "vocab.txt", vocabulary);
  put(directory / "tokenizer_config.json",
      R"({"tokenizer_class": "BertTokenizer", "do_lower_case": true, "model_max_length": 128, "max_length": 128})");
}

// A model that reads `tokens` tokens, special tokens included.
inline void write_tiny_model(const std::filesystem::path& directory, const std::string& type,
                             int64_t tokens, const std::string& prefix = "") {
  const std::string json = tiny_config(type, type == "longformer" ? tokens + 1 : tokens);
  const EncoderConfig config = read_encoder_config(io::Config::parse(json, "config.json"));
  std::filesystem::create_directories(directory);
  write_checkpoint(directory, json, config, random_tensors(config, 11, 0.3f), prefix);
  put_vocabulary(directory);
}

inline void put_pooling(const std::filesystem::path& directory, const std::string& pooling,
                        bool normalize) {
  std::string modules =
      R"([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
          {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"})";
  if (normalize) {
    modules +=
        R"(, {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"})";
  }
  put(directory / "modules.json", modules + "]");
  put(directory / "1_Pooling" / "config.json", pooling);
}

}  // namespace longformer::test
