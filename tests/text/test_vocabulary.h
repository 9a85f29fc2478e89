// A small BERT tokenizer for the tests of this folder.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace longformer::text {

inline nlohmann::json bert_json() {
  const std::vector<std::string> tokens = {
      "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "##able", "the", "cat", "a",
      "##a",   "b",     "##b",   "cafe",  "!",      "中", "é",     "##é",    "i",   "x"};
  nlohmann::json vocab = nlohmann::json::object();
  for (size_t i = 0; i < tokens.size(); ++i) vocab[tokens[i]] = i;
  const auto added = [&](const char* token) {
    return nlohmann::json{{"id", vocab[token]}, {"content", token}, {"single_word", false},
                          {"lstrip", false},    {"rstrip", false},  {"normalized", false},
                          {"special", true}};
  };
  return {{"version", "1.0"},
          {"truncation", {{"max_length", 2}, {"strategy", "LongestFirst"}, {"stride", 0}}},
          {"padding", {{"strategy", {{"Fixed", 128}}}}},
          {"added_tokens",
           {added("[PAD]"), added("[UNK]"), added("[CLS]"), added("[SEP]"), added("[MASK]")}},
          {"normalizer",
           {{"type", "BertNormalizer"},
            {"clean_text", true},
            {"handle_chinese_chars", true},
            {"strip_accents", nullptr},
            {"lowercase", true}}},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"post_processor",
           {{"type", "BertProcessing"}, {"sep", {"[SEP]", 3}}, {"cls", {"[CLS]", 2}}}},
          {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", "[UNK]"},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 100},
            {"vocab", vocab}}}};
}

inline TokenizerFiles json_files(const std::string& text) {
  TokenizerFiles files;
  files.tokenizer_json = text;
  files.place = "model";
  return files;
}

inline Tokenizer load_json(const nlohmann::json& json) {
  return Tokenizer::load(json_files(json.dump()));
}

}  // namespace longformer::text
