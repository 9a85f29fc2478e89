// Reads the older form of a BERT tokenizer: vocab.txt with settings and added tokens in JSON files
// beside it.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "longformer/error.h"
#include "text/json.h"
#include "text/spec.h"
#include "text/unicode_tables.h"
#include "text/utf8.h"

namespace longformer::text {
namespace {

constexpr size_t kMaxAdditionalTokens = 2000;  // compared with each other one by one

// Classes that read vocab.txt as this file does, without their ending "Fast".
constexpr std::array<std::string_view, 10> kClasses = {
    "BertTokenizer",      "DistilBertTokenizer",  "ElectraTokenizer",  "MobileBertTokenizer",
    "ConvBertTokenizer",  "SqueezeBertTokenizer", "LayoutLMTokenizer", "LxmertTokenizer",
    "RetriBertTokenizer", "PreTrainedTokenizer",
};

// In the order in which the reference adds those that the vocabulary lacks.
constexpr std::array<const char*, 7> kSpecialKeys = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

std::string_view without_trailing_space(std::string_view line) {
  while (!line.empty()) {
    const size_t begin = utf8::previous(line, line.size());
    size_t at = begin;
    if ((unicode::flags(utf8::next(line, at)) & unicode::kSpace) == 0) break;
    line = line.substr(0, begin);
  }
  return line;
}

// Line number = id. Of equal lines the last counts, as in the reference; the id of the others stays
// unused.
Vocabulary read_lines(std::string_view text, const std::string& place) {
  if (text.size() > kMaxTokenizerBytes) {
    throw Error(ErrorCode::kInvalidFile,
                "larger than the limit of " + std::to_string(kMaxTokenizerBytes) + " bytes", place);
  }
  if (std::count(text.begin(), text.end(), '\n') > kMaxVocabulary) {
    throw Error(ErrorCode::kInvalidFile, "more than " + std::to_string(kMaxVocabulary) + " lines",
                place);
  }
  const size_t valid = utf8::valid_prefix(text);
  if (valid != text.size()) {
    throw Error(ErrorCode::kInvalidFile, "not UTF-8 at byte " + std::to_string(valid), place);
  }
  Vocabulary vocabulary;
  std::map<std::string_view, size_t> index;
  int64_t line_number = 0;
  for (size_t at = 0; at < text.size(); ++line_number) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view token = without_trailing_space(text.substr(at, end - at));
    const std::string what = "line " + std::to_string(line_number + 1);
    const int32_t id = checked_id(line_number, what, place);
    if (token.size() > kMaxTokenBytes) {
      throw Error(ErrorCode::kInvalidFile,
                  what + " is longer than " + std::to_string(kMaxTokenBytes) + " bytes", place);
    }
    const auto [known, is_new] = index.emplace(token, vocabulary.size());
    if (is_new) {
      vocabulary.emplace_back(token, id);
    } else {
      vocabulary[known->second].second = id;
    }
    at = end + 1;
  }
  return vocabulary;
}

// A special token is a string or an object with the flags of an added token.
AddedToken read_token(const Json& json, const std::string& name, const std::string& place,
                      bool special) {
  AddedToken token;
  token.special = special;
  token.normalized = !special;
  if (json.is_string()) {
    token.content = json.get<std::string>();
  } else {
    const JsonObject part(json, name, place);
    token.content = part.string("content");
    token.single_word = part.boolean("single_word", false);
    token.lstrip = part.boolean("lstrip", false);
    token.rstrip = part.boolean("rstrip", false);
    token.special = part.boolean("special", special) || special;
    token.normalized = part.boolean("normalized", !token.special);
  }
  if (token.content.size() > kMaxTokenBytes) {
    throw Error(ErrorCode::kInvalidFile,
                name + " is longer than " + std::to_string(kMaxTokenBytes) + " bytes", place);
  }
  return token;
}

using SpecialTokens = std::map<std::string, AddedToken>;

// Adds the special tokens that an object names; those of a later file replace those of an earlier
// one.
void read_specials(const JsonObject& file, SpecialTokens& specials,
                   std::vector<AddedToken>& additional) {
  for (const char* key : kSpecialKeys) {
    if (const Json* json = file.find(key)) {
      specials[key] = read_token(*json, file.member(key), file.place(), true);
    }
  }
  const char* list = "additional_special_tokens";
  if (file.find(list) == nullptr) return;
  for (const Json& json : file.array(list)) {
    if (additional.size() >= kMaxAdditionalTokens) {
      file.fail(list, "holds more than " + std::to_string(kMaxAdditionalTokens) + " tokens");
    }
    AddedToken token = read_token(json, file.member(list), file.place(), true);
    if (std::find(additional.begin(), additional.end(), token) == additional.end()) {
      additional.push_back(std::move(token));
    }
  }
}

// added_tokens_decoder of tokenizer_config.json: id (as a string) to token.
void read_decoder_map(const JsonObject& config, std::map<int64_t, AddedToken>& added) {
  for (const auto& [key, json] : config.object("added_tokens_decoder").items()) {
    const bool digits =
        !key.empty() && key.size() <= 9 && key.find_first_not_of("0123456789") == std::string::npos;
    if (!digits) config.fail("added_tokens_decoder", "must have whole numbers as its keys");
    const std::string name = config.member("added_tokens_decoder");
    added[checked_id(std::stoll(key), name, config.place())] =
        read_token(json, name, config.place(), false);
  }
}

// added_tokens.json: token to id.
void read_added_tokens(const std::string& text, const std::string& place,
                       const std::set<std::string>& specials,
                       std::map<int64_t, AddedToken>& added) {
  const Json json = parse_json(text, kMaxJsonBytes, place);
  const JsonObject file(json, "the document", place);
  for (const auto& [content, id] : json.items()) {
    if (!id.is_number_unsigned()) {
      throw Error(ErrorCode::kInvalidFile, "the ids must be whole numbers, zero or more", place);
    }
    const auto number = std::min<uint64_t>(id.get<uint64_t>(), INT32_MAX);
    AddedToken token = read_token(Json(content), "a token", place, specials.contains(content));
    added[checked_id(static_cast<int64_t>(number), "an added token", place)] = std::move(token);
  }
}

void check_class(const JsonObject& config) {
  std::string name = config.string("tokenizer_class", "BertTokenizer");
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  if (std::find(kClasses.begin(), kClasses.end(), name) != kClasses.end()) return;
  throw Error(ErrorCode::kUnsupported,
              "tokenizer_class \"" + printable(name) +
                  "\" cannot be read from vocab.txt by this version; save it with a tokenizer.json",
              config.place());
}

// do_basic_tokenize has no effect in the reference's fast class, so none here.
Normalizer read_normalizer(const JsonObject& config) {
  BertNormalizerSettings settings;
  settings.lowercase = config.boolean("do_lower_case", true);
  settings.handle_chinese_chars = config.boolean("tokenize_chinese_chars", true);
  if (config.find("strip_accents") != nullptr)
    settings.strip_accents = config.boolean("strip_accents");
  return Normalizer(bert_steps(settings));
}

}  // namespace

TokenizerSpec read_vocab_txt(const TokenizerFiles& files) {
  const auto place = [&](const char* file) { return files.place + "/" + file; };
  TokenizerSpec spec;
  spec.place = place("vocab.txt");
  spec.vocabulary = read_lines(*files.vocab_txt, spec.place);
  const std::string config_place = place("tokenizer_config.json");
  const Json config_json = files.tokenizer_config
                               ? parse_json(*files.tokenizer_config, kMaxJsonBytes, config_place)
                               : Json::object();
  const JsonObject config(config_json, "the document", config_place);
  check_class(config);
  spec.normalizer = read_normalizer(config);
  spec.pretokenizer = PreTokenizer::kBert;
  spec.decoder.kind = Decoder::Kind::kWordPiece;

  SpecialTokens specials;
  const std::pair<const char*, const char*> defaults[] = {{"unk_token", "[UNK]"},
                                                          {"sep_token", "[SEP]"},
                                                          {"pad_token", "[PAD]"},
                                                          {"cls_token", "[CLS]"},
                                                          {"mask_token", "[MASK]"}};
  for (const auto& [key, content] : defaults) {
    specials[key] = read_token(Json(content), key, config_place, true);
  }
  std::vector<AddedToken> additional;
  std::map<int64_t, AddedToken> added;
  read_specials(config, specials, additional);
  if (config.find("added_tokens_decoder") != nullptr) {
    read_decoder_map(config, added);
  } else {  // the older carriers count only without it
    if (files.special_tokens_map) {
      const std::string map_place = place("special_tokens_map.json");
      const Json json = parse_json(*files.special_tokens_map, kMaxJsonBytes, map_place);
      read_specials(JsonObject(json, "the document", map_place), specials, additional);
    }
    if (files.added_tokens) {
      std::set<std::string> contents;
      for (const auto& [key, token] : specials) contents.insert(token.content);
      for (const AddedToken& token : additional) contents.insert(token.content);
      read_added_tokens(*files.added_tokens, place("added_tokens.json"), contents, added);
    }
  }
  spec.model.unknown_token = specials.at("unk_token").content;
  spec.bert_template = {specials.at("cls_token").content, specials.at("sep_token").content};

  std::set<std::string> known;
  for (auto& [id, token] : added) {
    known.insert(token.content);
    spec.added_tokens.push_back(std::move(token));
  }
  for (const char* key : kSpecialKeys) {
    const auto token = specials.find(key);
    if (token != specials.end() && known.insert(token->second.content).second) {
      spec.added_tokens.push_back(token->second);
    }
  }
  for (AddedToken& token : additional) {
    if (known.insert(token.content).second) spec.added_tokens.push_back(std::move(token));
  }
  return spec;
}

}  // namespace longformer::text
