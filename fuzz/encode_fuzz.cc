// Any text through three sound tokenizers. Byte-level BPE loses nothing: the tokens spell the text,
// their spans follow each other without gaps, and so do the windows of a truncation. WordPiece and
// Unigram place every token in the text.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "longformer/error.h"
#include "text/models/byte_alphabet.h"
#include "tokenizer_checks.h"

namespace {

using longformer::fuzz::check_encoding;
using longformer::fuzz::require;
using longformer::text::Encoding;
using longformer::text::Tokenizer;
using Json = nlohmann::json;

Tokenizer load(const Json& json) {
  longformer::text::TokenizerFiles files;
  files.tokenizer_json = json.dump();
  files.place = "sound";
  return Tokenizer::load(files);
}

Json added(const char* content, int64_t id) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

Tokenizer byte_level() {
  Json vocabulary = {{"<s>", 0}, {"</s>", 1}};
  for (int byte = 0; byte < 256; ++byte) {
    std::string character;
    longformer::text::byte_alphabet::append(std::string(1, static_cast<char>(byte)), character);
    vocabulary[character] = vocabulary.size();
  }
  Json merges = Json::array();
  for (const auto& [left, right] : std::vector<std::pair<const char*, const char*>>{{"Ġ", "t"},
                                                                                    {"h", "e"},
                                                                                    {"Ġt", "he"},
                                                                                    {"Ġ", "Ġ"},
                                                                                    {"a", "a"},
                                                                                    {"aa", "aa"},
                                                                                    {"Ã", "©"},
                                                                                    {"ð", "Ł"},
                                                                                    {"ðŁ", "ĺ"},
                                                                                    {"Ċ", "Ċ"},
                                                                                    {"ĠĠ", "ĠĠ"},
                                                                                    {"'", "s"}}) {
    merges.push_back(Json::array({left, right}));
    vocabulary[std::string(left) + right] = vocabulary.size();
  }
  return load({{"version", "1.0"},
               {"added_tokens", {added("<s>", 0), added("</s>", 1)}},
               {"pre_tokenizer",
                {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}}},
               {"post_processor", nullptr},
               {"decoder", {{"type", "ByteLevel"}}},
               {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}}}});
}

Tokenizer word_piece() {
  Json vocabulary = {{"[UNK]", 0}, {"[CLS]", 1}, {"[SEP]", 2}};
  for (const char* word :
       {"the", "a", "##a", "##b", "b", "'", ".", "cafe", "##s", "é", "中", "##t"}) {
    vocabulary[word] = vocabulary.size();
  }
  return load({{"version", "1.0"},
               {"added_tokens", {added("[UNK]", 0), added("[CLS]", 1), added("[SEP]", 2)}},
               {"normalizer",
                {{"type", "BertNormalizer"},
                 {"clean_text", true},
                 {"handle_chinese_chars", true},
                 {"strip_accents", nullptr},
                 {"lowercase", true}}},
               {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
               {"post_processor",
                {{"type", "BertProcessing"}, {"sep", {"[SEP]", 2}}, {"cls", {"[CLS]", 1}}}},
               {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
               {"model",
                {{"type", "WordPiece"},
                 {"unk_token", "[UNK]"},
                 {"continuing_subword_prefix", "##"},
                 {"max_input_chars_per_word", 100},
                 {"vocab", vocabulary}}}});
}

Tokenizer unigram() {
  Json vocabulary = Json::array();
  for (const auto& [piece, score] : std::vector<std::pair<const char*, double>>{{"<unk>", 0},
                                                                                {"▁", -2.5},
                                                                                {"▁the", -3.0},
                                                                                {"a", -4.0},
                                                                                {"ab", -3.5},
                                                                                {"fi", -5.0},
                                                                                {"b", -4.0},
                                                                                {"é", -6.0},
                                                                                {"▁a", -3.25},
                                                                                {"the", -4.5},
                                                                                {"aa", -4.0}}) {
    vocabulary.push_back(Json::array({piece, score}));
  }
  return load(
      {{"version", "1.0"},
       {"added_tokens", Json::array({added("<unk>", 0)})},
       {"normalizer", {{"type", "NFKC"}}},
       {"pre_tokenizer",
        {{"type", "Metaspace"},
         {"replacement", "▁"},
         {"prepend_scheme", "always"},
         {"split", true}}},
       {"post_processor", nullptr},
       {"decoder", {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "always"}}},
       {"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocabulary}}}});
}

void check_lossless(const Tokenizer& tokenizer, std::string_view text) {
  const Encoding encoding = tokenizer.encode(text);
  check_encoding(tokenizer, text, encoding);
  require(tokenizer.decode(encoding.ids, false) == longformer::text::utf8::Repaired(text).text());
  int64_t begin = 0;
  int64_t end = 0;
  int32_t word = 0;
  for (size_t i = 0; i < encoding.size(); ++i) {
    const auto& span = encoding.offsets[i];
    // The tokens of one character share its span.
    require(span.begin >= begin && span.begin <= end && span.end >= end && span.end > span.begin);
    begin = span.begin;
    end = span.end;
    require(encoding.words[i] == word || encoding.words[i] == word + 1);
    word = encoding.words[i];
  }
  require(end == static_cast<int64_t>(text.size()));
  longformer::text::TruncationSettings cut;
  cut.max_length = 7;
  std::vector<int64_t> ids;
  for (const Encoding& window : tokenizer.encode_windows(text, std::nullopt, {}, cut)) {
    require(window.size() <= 7);
    ids.insert(ids.end(), window.ids.begin(), window.ids.end());
  }
  require(ids == encoding.ids);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Tokenizer bytes = byte_level();
  static const Tokenizer words = word_piece();
  static const Tokenizer pieces = unigram();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_lossless(bytes, text);
  for (const Tokenizer* tokenizer : {&words, &pieces}) {
    const Encoding encoding = tokenizer->encode(text);
    check_encoding(*tokenizer, text, encoding);
    const std::string decoded = tokenizer->decode(encoding.ids, false);
    require(longformer::text::utf8::valid_prefix(decoded) == decoded.size());
  }
  return 0;
}
