// Reads tokenizer.json. Its truncation and padding are ignored: the engine never cuts or pads by
// itself.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "longformer/error.h"
#include "text/files/json.h"
#include "text/files/spec.h"
#include "text/models/merges.h"

namespace longformer::text {
namespace {

// Files of 2020 have no type: what their members tell.
std::string model_type(const JsonObject& part) {
  if (part.find("type") != nullptr) return part.type();
  if (part.find("merges") != nullptr) return "BPE";
  if (part.find("max_input_chars_per_word") != nullptr) return "WordPiece";
  const Json* vocabulary = part.find("vocab");
  return vocabulary != nullptr && vocabulary->is_array() ? "Unigram" : "WordLevel";
}

WordPieceSpec read_wordpiece(const JsonObject& part, Vocabulary vocabulary) {
  WordPieceSpec spec;
  spec.vocabulary = std::move(vocabulary);
  spec.unknown_token = part.string("unk_token");
  spec.continuing_prefix = part.string("continuing_subword_prefix");
  spec.max_characters = part.natural("max_input_chars_per_word");
  return spec;
}

// The reference drops merges at random, on every call, for a dropout above zero.
void refuse_dropout(const JsonObject& part) {
  const Json* dropout = part.find("dropout");
  if (dropout == nullptr || (dropout->is_number() && dropout->get<double>() == 0.0)) return;
  if (!dropout->is_number()) part.fail("dropout", "must be a number or null");
  throw Error(ErrorCode::kUnsupported,
              part.member("dropout") +
                  " above zero makes the tokens of a text random; set it to null in the file",
              part.place());
}

BpeSpec read_bpe(const JsonObject& part, Vocabulary vocabulary) {
  BpeSpec spec;
  spec.vocabulary = std::move(vocabulary);
  spec.merges = read_json_merges(part.array("merges"), part.place());
  if (part.find("unk_token") != nullptr) spec.unknown_token = part.string("unk_token");
  spec.continuing_prefix = part.string("continuing_subword_prefix", "");
  spec.word_suffix = part.string("end_of_word_suffix", "");
  spec.fuse_unknown = part.boolean("fuse_unk", false);
  spec.byte_fallback = part.boolean("byte_fallback", false);
  spec.ignore_merges = part.boolean("ignore_merges", false);
  refuse_dropout(part);
  return spec;
}

UnigramSpec read_unigram(const JsonObject& part) {
  UnigramSpec spec;
  const Json& vocabulary = part.array("vocab");
  if (vocabulary.size() > static_cast<size_t>(kMaxVocabulary)) {
    part.fail("vocab", "has more than " + std::to_string(kMaxVocabulary) + " entries");
  }
  for (const Json& entry : vocabulary) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number()) {
      part.fail("vocab", "must be a list of pieces with their scores");
    }
    const auto& piece = entry[0].get_ref<const std::string&>();
    if (piece.size() > kMaxTokenBytes) {
      part.fail("vocab", "has a piece longer than " + std::to_string(kMaxTokenBytes) + " bytes");
    }
    spec.pieces.emplace_back(piece, entry[1].get<double>());
  }
  if (part.find("unk_id") != nullptr) {
    const uint64_t id = part.natural("unk_id");
    spec.unknown_id = static_cast<int64_t>(std::min<uint64_t>(id, INT32_MAX));
  }
  spec.byte_fallback = part.boolean("byte_fallback", false);
  return spec;
}

ModelSpec read_model(const JsonObject& part, Vocabulary vocabulary) {
  const std::string type = model_type(part);
  if (type == "Unigram") return read_unigram(part);
  if (type != "WordPiece" && type != "BPE" && type != "WordLevel") {
    throw Error(ErrorCode::kUnsupported,
                "model of type \"" + printable(type) +
                    "\" is not supported by this version, which has BPE, Unigram, WordPiece and "
                    "WordLevel",
                part.place());
  }
  if (vocabulary.empty()) {
    throw Error(ErrorCode::kInvalidFile, "model has no vocab of tokens and ids", part.place());
  }
  check_vocabulary(vocabulary, part.place());
  if (type == "WordPiece") return read_wordpiece(part, std::move(vocabulary));
  if (type == "BPE") return read_bpe(part, std::move(vocabulary));
  return WordLevelSpec{std::move(vocabulary), part.string("unk_token")};
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

}  // namespace

TokenizerSpec read_tokenizer_json(const std::string& text, const std::string& place) {
  TokenizerSpec spec;
  spec.place = place;
  Vocabulary vocabulary;
  const Json json = parse_json(text, kMaxTokenizerBytes, place, &vocabulary);
  const JsonObject root(json, "the document", place);
  const std::string version = root.string("version", "1.0");
  if (version != "1.0") {
    throw Error(ErrorCode::kUnsupported,
                "format version \"" + printable(version) + "\"; this version reads 1.0", place);
  }
  // The model first: its type says most about the file.
  spec.model = read_model(JsonObject(root.object("model"), "model", place), std::move(vocabulary));
  if (const Json* part = root.find("normalizer")) spec.normalizer = read_normalizer(*part, place);
  if (const Json* part = root.find("pre_tokenizer")) {
    spec.pretokenizer = read_pretokenizer(*part, place);
  }
  if (const Json* part = root.find("post_processor")) spec.post = read_post_processor(*part, place);
  if (const Json* part = root.find("decoder")) spec.decoder = Decoder::from_json(*part, place);
  if (root.find("added_tokens") != nullptr) {
    for (const Json& token : root.array("added_tokens")) {
      spec.added_tokens.push_back(read_added_token(token, "an entry of added_tokens", place));
    }
  }
  return spec;
}

}  // namespace longformer::text
