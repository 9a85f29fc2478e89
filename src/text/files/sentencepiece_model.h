// SentencePiece model files (spiece.model, sentencepiece.bpe.model, tokenizer.model).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longformer::text {

struct SentencePiece {
  enum class Type : uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
  std::string text;
  float score = 0;
  Type type = Type::kNormal;
};

struct SentencePieceModel {
  enum class Kind : uint8_t { kUnigram = 1, kBpe, kWord, kCharacter };
  Kind kind = Kind::kUnigram;
  std::vector<SentencePiece> pieces;  // id = place in the list
  bool byte_fallback = false;
  bool treat_whitespace_as_suffix = false;
  int32_t unk_id = 0;  // as the trainer was told: not checked against the pieces
  int32_t bos_id = 1;
  int32_t eos_id = 2;
  int32_t pad_id = -1;
  std::string unk_piece = "<unk>";
  std::string charsmap;  // empty: characters stay as they are
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

// Throws kInvalidFile at `place`, with the byte, for what is no such file: truncated or oversized
// fields, wrong wire types, no pieces or over the limits, scores that are not numbers, equal
// pieces, pieces that are not UTF-8, no unknown piece or several.
SentencePieceModel read_sentencepiece(std::string_view bytes, const std::string& place);

}  // namespace longformer::text
