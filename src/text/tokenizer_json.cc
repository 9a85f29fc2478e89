// Reads tokenizer.json. Its truncation and padding are ignored: the engine never cuts or pads by
// itself.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "longformer/error.h"
#include "text/json.h"
#include "text/spec.h"

namespace longformer::text {
namespace {

[[noreturn]] void unsupported(const JsonObject& part, const std::string& known) {
  throw Error(ErrorCode::kUnsupported,
              part.name() + " of type \"" + printable(part.type()) +
                  "\" is not supported by this version, which has " + known,
              part.place());
}

void read_normalizer(const Json& json, const std::string& name, const std::string& place,
                     std::vector<NormalizerStep>& steps) {
  const JsonObject part(json, name, place);
  const std::string type = part.type();
  if (type == "BertNormalizer") {
    BertNormalizerSettings settings;
    settings.clean_text = part.boolean("clean_text");
    settings.handle_chinese_chars = part.boolean("handle_chinese_chars");
    settings.lowercase = part.boolean("lowercase");
    if (part.find("strip_accents") != nullptr)
      settings.strip_accents = part.boolean("strip_accents");
    const std::vector<NormalizerStep> bert = bert_steps(settings);
    steps.insert(steps.end(), bert.begin(), bert.end());
  } else if (type == "Sequence") {
    for (const Json& inner : part.array("normalizers")) {
      read_normalizer(inner, part.member("normalizers"), place, steps);
    }
  } else if (type == "Lowercase") {
    steps.push_back(NormalizerStep::kLowercase);
  } else if (type == "StripAccents") {
    steps.push_back(NormalizerStep::kRemoveMarks);
  } else if (type == "NFD") {
    steps.push_back(NormalizerStep::kDecompose);
  } else {
    unsupported(part, "BertNormalizer, Sequence, Lowercase, StripAccents and NFD");
  }
}

WordPieceSettings read_model(const Json& json, const std::string& place) {
  const JsonObject part(json, "model", place);
  // Files of 2020 have no type; WordPiece alone has this member.
  if (part.find("type") != nullptr || part.find("max_input_chars_per_word") == nullptr) {
    if (part.type() != "WordPiece") unsupported(part, "WordPiece");
  }
  WordPieceSettings settings;
  settings.unknown_token = part.string("unk_token");
  settings.continuing_prefix = part.string("continuing_subword_prefix");
  settings.max_characters = part.natural("max_input_chars_per_word");
  return settings;
}

AddedToken read_added_token(const Json& json, const std::string& name, const std::string& place) {
  const JsonObject part(json, name, place);
  checked_id(static_cast<int64_t>(std::min<uint64_t>(part.natural("id"), INT32_MAX)), name, place);
  AddedToken token;
  token.content = part.string("content");
  token.single_word = part.boolean("single_word");
  token.lstrip = part.boolean("lstrip");
  token.rstrip = part.boolean("rstrip");
  token.normalized = part.boolean("normalized");
  token.special = part.boolean("special");
  return token;
}

// An id or type id of a template.
int64_t template_number(const Json& json, const std::string& name, const std::string& place) {
  if (!json.is_number_unsigned()) {
    throw Error(ErrorCode::kInvalidFile, name + " must be whole numbers, zero or more", place);
  }
  const auto number = std::min<uint64_t>(json.get<uint64_t>(), INT32_MAX);
  return checked_id(static_cast<int64_t>(number), name, place);
}

constexpr size_t kMaxTemplatePieces = 256;  // a template of a model has about ten

TemplatePiece read_template_piece(const JsonObject& part, const Json& specials) {
  const std::string& place = part.place();
  TemplatePiece piece;
  const bool is_text = part.find("Sequence") != nullptr;
  const char* kind = is_text ? "Sequence" : "SpecialToken";
  const JsonObject inner(part.object(kind), part.member(kind), place);
  const std::string id = inner.string("id");
  piece.type_id = template_number(Json(inner.natural("type_id")), inner.member("type_id"), place);
  if (is_text) {
    if (id != "A" && id != "B") inner.fail("id", "must be A or B");
    piece.kind = id == "A" ? TemplatePiece::Kind::kFirst : TemplatePiece::Kind::kSecond;
    return piece;
  }
  piece.kind = TemplatePiece::Kind::kSpecial;
  const auto known = specials.find(id);
  if (known == specials.end()) inner.fail("id", "is not among the special_tokens");
  const JsonObject entry(*known, "post_processor.special_tokens", place);
  if (entry.array("ids").size() > kMaxTemplatePieces) {
    entry.fail("ids", "holds more than " + std::to_string(kMaxTemplatePieces) + " ids");
  }
  for (const Json& number : entry.array("ids")) {
    piece.ids.push_back(template_number(number, entry.member("ids"), place));
  }
  return piece;
}

std::vector<TemplatePiece> read_template(const JsonObject& part, const char* key) {
  std::vector<TemplatePiece> pieces;
  size_t ids = 0;
  for (const Json& piece : part.array(key)) {
    if (pieces.size() >= kMaxTemplatePieces || ids > kMaxTemplatePieces) {
      part.fail(key, "holds more than " + std::to_string(kMaxTemplatePieces) + " pieces or ids");
    }
    pieces.push_back(read_template_piece(JsonObject(piece, part.member(key), part.place()),
                                         part.object("special_tokens")));
    ids += pieces.back().ids.size();
  }
  return pieces;
}

int64_t read_bert_token(const JsonObject& part, const char* key) {
  const Json& token = part.array(key);
  if (token.size() != 2 || !token[0].is_string()) part.fail(key, "must be a token and its id");
  return template_number(token[1], part.member(key), part.place());
}

PostTemplate read_post_processor(const Json& json, const std::string& place) {
  const JsonObject part(json, "post_processor", place);
  const std::string type = part.type();
  if (type == "TemplateProcessing") {
    return {read_template(part, "single"), read_template(part, "pair")};
  }
  if (type == "BertProcessing") {
    return PostTemplate::bert(read_bert_token(part, "cls"), read_bert_token(part, "sep"));
  }
  unsupported(part, "TemplateProcessing and BertProcessing");
}

Decoder read_decoder(const Json& json, const std::string& place) {
  const JsonObject part(json, "decoder", place);
  if (part.type() != "WordPiece") unsupported(part, "WordPiece");
  return {Decoder::Kind::kWordPiece, part.string("prefix"), part.boolean("cleanup")};
}

}  // namespace

std::vector<NormalizerStep> bert_steps(const BertNormalizerSettings& settings) {
  std::vector<NormalizerStep> steps;
  if (settings.clean_text) steps.push_back(NormalizerStep::kCleanText);
  if (settings.handle_chinese_chars) steps.push_back(NormalizerStep::kPadCjk);
  if (settings.strip_accents.value_or(settings.lowercase)) {
    steps.push_back(NormalizerStep::kDecompose);
    steps.push_back(NormalizerStep::kRemoveNonspacing);
  }
  if (settings.lowercase) steps.push_back(NormalizerStep::kLowercase);
  return steps;
}

TokenizerSpec read_tokenizer_json(const std::string& text, const std::string& place) {
  TokenizerSpec spec;
  spec.place = place;
  const Json json = parse_json(text, kMaxTokenizerBytes, place, &spec.vocabulary);
  const JsonObject root(json, "the document", place);
  const std::string version = root.string("version", "1.0");
  if (version != "1.0") {
    throw Error(ErrorCode::kUnsupported,
                "format version \"" + printable(version) + "\"; this version reads 1.0", place);
  }
  // The model first: its type says most about the file.
  spec.model = read_model(root.object("model"), place);
  if (spec.vocabulary.empty()) root.fail("model", "has no vocab of tokens and ids");
  check_vocabulary(spec.vocabulary, place);
  if (const Json* part = root.find("normalizer")) {
    std::vector<NormalizerStep> steps;
    read_normalizer(*part, "normalizer", place, steps);
    spec.normalizer = Normalizer(std::move(steps));
  }
  if (const Json* part = root.find("pre_tokenizer")) {
    const JsonObject pretokenizer(*part, "pre_tokenizer", place);
    if (pretokenizer.type() != "BertPreTokenizer") unsupported(pretokenizer, "BertPreTokenizer");
    spec.pretokenizer = PreTokenizer::kBert;
  }
  if (const Json* part = root.find("post_processor")) spec.post = read_post_processor(*part, place);
  if (const Json* part = root.find("decoder")) spec.decoder = read_decoder(*part, place);
  if (root.find("added_tokens") != nullptr) {
    for (const Json& token : root.array("added_tokens")) {
      spec.added_tokens.push_back(read_added_token(token, "an entry of added_tokens", place));
    }
  }
  return spec;
}

}  // namespace longformer::text
