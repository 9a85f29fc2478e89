// A model for questions whose start and end logits depend on the word of a token alone, and are
// chosen: what it answers can be computed by hand.
#pragma once

#include <bit>
#include <map>
#include <string>
#include <utility>

#include "tasks/tiny_model.h"

namespace longformer::test {

// Word of tiny_words() -> its start and end logit; of all others both are 0. At most 14 words.
using WordLogits = std::map<std::string, std::pair<float, float>>;

// Attention and feed-forward add nothing, and a word's embedding is a row of a Hadamard matrix: of
// mean 0 and variance 1, so that the norms leave it as it is, and orthogonal to all others, so that
// the head can give each word its own logits.
inline void write_word_logits_model(const std::filesystem::path& directory, const std::string& type,
                                    int64_t tokens, const WordLogits& logits) {
  constexpr size_t kHidden = 16;
  const std::string model_class = type == "bert" ? "Bert" : "Longformer";
  const std::string json = tiny_config(
      type, type == "longformer" ? tokens + 1 : tokens,
      R"("sep_token_id": 3, "architectures": [")" + model_class + R"(ForQuestionAnswering"], )");
  const EncoderConfig config = read_encoder_config(io::Config::parse(json, "config.json"));
  std::filesystem::create_directories(directory);
  const auto row = [](size_t number, size_t column) {
    return std::popcount(number & column) % 2 == 0 ? 1.0f : -1.0f;
  };
  std::vector<size_t> rows(tiny_words().size(), 1);  // of each word
  std::vector<float> head(2 * kHidden);
  size_t next = 2;
  for (const auto& [word, pair] : logits) {
    const auto found = std::find(tiny_words().begin(), tiny_words().end(), word);
    rows.at(static_cast<size_t>(found - tiny_words().begin())) = next;
    for (size_t i = 0; i < kHidden; ++i) {
      head[i] += pair.first * row(next, i) / kHidden;
      head[kHidden + i] += pair.second * row(next, i) / kHidden;
    }
    ++next;
  }
  const std::string prefix = (type == "bert" ? "bert." : "longformer.");
  std::vector<io::NamedTensor> named;
  for (const io::ExpectedTensor& expected : expected_tensors(config)) {
    std::vector<float> values(static_cast<size_t>(element_count(expected.shape)));
    if (expected.name.ends_with("LayerNorm.weight")) values.assign(values.size(), 1.0f);
    if (expected.name.ends_with("word_embeddings.weight")) {
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = row(rows.at(i / kHidden), i % kHidden);
      }
    }
    named.push_back(
        {prefix + expected.name, make_tensor(expected.shape, std::span<const float>(values))});
  }
  named.push_back({"qa_outputs.weight", make_tensor({2, 16}, std::span<const float>(head))});
  named.push_back(
      {"qa_outputs.bias", make_tensor({2}, std::span<const float>(std::vector<float>(2)))});
  io::write_file_atomic(directory / "config.json", json);
  io::write_safetensors(directory / "model.safetensors", named);
  put_vocabulary(directory);
}

}  // namespace longformer::test
