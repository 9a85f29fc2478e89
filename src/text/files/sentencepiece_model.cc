#include "text/files/sentencepiece_model.h"

#include <algorithm>
#include <cmath>

#include "base/limits.h"
#include "longformer/error.h"
#include "text/files/protobuf.h"

namespace longformer::text {
namespace {

// Numbers of the fields that matter, of sentencepiece_model.proto.
enum ModelField : uint64_t { kPieces = 1, kTrainerSpec = 2, kNormalizerSpec = 3 };
enum PieceField : uint64_t { kText = 1, kScore = 2, kType = 3 };
enum TrainerField : uint64_t {
  kModelType = 3,
  kWhitespaceAsSuffix = 24,
  kByteFallback = 35,
  kUnkId = 40,
  kBosId = 41,
  kEosId = 42,
  kPadId = 43,
  kUnkPiece = 45,
};
enum NormalizerField : uint64_t {
  kCharsmap = 2,
  kDummyPrefix = 3,
  kExtraWhitespaces = 4,
  kEscapeWhitespaces = 5,
};

[[noreturn]] void fail(const std::string& message, const std::string& place) {
  throw Error(ErrorCode::kInvalidFile, message, place);
}

SentencePiece read_piece(ProtobufReader reader) {
  SentencePiece piece;
  while (reader.next()) {
    if (reader.field() == kText) {
      piece.text = reader.string();
      if (piece.text.size() > kMaxTokenBytes) {
        reader.fail("a piece is longer than " + std::to_string(kMaxTokenBytes) + " bytes");
      }
    } else if (reader.field() == kScore) {
      piece.score = reader.float32();
      if (!std::isfinite(piece.score)) reader.fail("the score of a piece is not a finite number");
    } else if (reader.field() == kType) {
      const uint64_t type = reader.varint();
      if (type < 1 || type > 6) reader.fail("a piece has a type outside 1..6");
      piece.type = static_cast<SentencePiece::Type>(type);
    }
  }
  return piece;
}

void read_trainer(ProtobufReader reader, SentencePieceModel& model) {
  while (reader.next()) {
    switch (reader.field()) {
      case kModelType: {
        const uint64_t kind = reader.varint();
        if (kind < 1 || kind > 4) reader.fail("the model has a type outside 1..4");
        model.kind = static_cast<SentencePieceModel::Kind>(kind);
        break;
      }
      case kWhitespaceAsSuffix:
        model.treat_whitespace_as_suffix = reader.boolean();
        break;
      case kByteFallback:
        model.byte_fallback = reader.boolean();
        break;
      case kUnkId:
        model.unk_id = reader.int32();
        break;
      case kBosId:
        model.bos_id = reader.int32();
        break;
      case kEosId:
        model.eos_id = reader.int32();
        break;
      case kPadId:
        model.pad_id = reader.int32();
        break;
      case kUnkPiece:
        model.unk_piece = reader.string();
        break;
      default:
        break;
    }
  }
}

void read_normalizer_spec(ProtobufReader reader, SentencePieceModel& model) {
  while (reader.next()) {
    switch (reader.field()) {
      case kCharsmap:
        model.charsmap = reader.bytes();
        break;
      case kDummyPrefix:
        model.add_dummy_prefix = reader.boolean();
        break;
      case kExtraWhitespaces:
        model.remove_extra_whitespaces = reader.boolean();
        break;
      case kEscapeWhitespaces:
        model.escape_whitespaces = reader.boolean();
        break;
      default:
        break;
    }
  }
}

// The rules by which SentencePiece itself refuses a file.
void check_pieces(const std::vector<SentencePiece>& pieces, const std::string& place) {
  if (pieces.empty()) fail("no valid SentencePiece model: it has no pieces", place);
  std::vector<std::string_view> texts;
  texts.reserve(pieces.size());
  size_t unknowns = 0;
  for (const SentencePiece& piece : pieces) {
    if (piece.text.empty()) fail("a piece of the model is empty", place);
    texts.push_back(piece.text);
    unknowns += piece.type == SentencePiece::Type::kUnknown;
  }
  if (unknowns != 1) fail("the model must have one piece of the unknown type", place);
  std::sort(texts.begin(), texts.end());  // not hashed: a file can make hashes collide
  if (std::adjacent_find(texts.begin(), texts.end()) != texts.end()) {
    fail("the model has the same piece twice", place);
  }
}

}  // namespace

SentencePieceModel read_sentencepiece(std::string_view bytes, const std::string& place) {
  if (bytes.size() > kMaxTokenizerBytes) {
    fail("larger than the limit of " + std::to_string(kMaxTokenizerBytes) + " bytes", place);
  }
  SentencePieceModel model;
  ProtobufReader reader(bytes, 0, place);
  while (reader.next()) {
    if (reader.field() == kPieces) {
      if (model.pieces.size() == static_cast<size_t>(kMaxVocabulary)) {
        fail("more than " + std::to_string(kMaxVocabulary) + " pieces", place);
      }
      model.pieces.push_back(read_piece(reader.message()));
    } else if (reader.field() == kTrainerSpec) {
      read_trainer(reader.message(), model);
    } else if (reader.field() == kNormalizerSpec) {
      read_normalizer_spec(reader.message(), model);
    }
  }
  check_pieces(model.pieces, place);
  return model;
}

}  // namespace longformer::text
