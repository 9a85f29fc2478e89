#include "text/models/model.h"

#include <type_traits>
#include <utility>

namespace longformer::text {
namespace {

using AnyModel = std::variant<WordPiece, Bpe, Unigram, WordLevel>;

AnyModel make(const ModelSpec& spec, const std::string& place) {
  if (const auto* s = std::get_if<WordPieceSpec>(&spec)) return WordPiece(*s, place);
  if (const auto* s = std::get_if<BpeSpec>(&spec)) return Bpe(*s, place);
  if (const auto* s = std::get_if<UnigramSpec>(&spec)) return Unigram(*s, place);
  return WordLevel(std::get<WordLevelSpec>(spec), place);
}

bool has_continuing_prefix(const ModelSpec& spec) {
  if (const auto* s = std::get_if<WordPieceSpec>(&spec)) return !s->continuing_prefix.empty();
  if (const auto* s = std::get_if<BpeSpec>(&spec)) return !s->continuing_prefix.empty();
  return false;
}

}  // namespace

Model::Model(const ModelSpec& spec, const std::string& place)
    : model_(make(spec, place)), marks_continuations_(has_continuing_prefix(spec)) {}

int32_t Model::id(std::string_view token) const {
  return std::visit([&](const auto& model) { return model.id(token); }, model_);
}

std::optional<int32_t> Model::unknown_id() const {
  return std::visit([](const auto& m) { return std::optional<int32_t>(m.unknown_id()); }, model_);
}

int32_t Model::literal_unknown_id() const {
  const auto* unigram = std::get_if<Unigram>(&model_);
  if (unigram == nullptr) return -1;
  return std::optional<int32_t>(unigram->unknown_id()).value_or(-1);
}

const Bpe* Model::byte_level() const {
  const Bpe* bpe = std::get_if<Bpe>(&model_);
  return bpe != nullptr && bpe->spells_bytes() ? bpe : nullptr;
}

void Model::encode(std::string_view word, std::vector<Piece>& out, Scratch& scratch) const {
  if (const auto* wordpiece = std::get_if<WordPiece>(&model_)) {
    wordpiece->encode(word, out, scratch.wordpiece);
  } else if (const auto* bpe = std::get_if<Bpe>(&model_)) {
    bpe->encode(word, out, scratch.bpe);
  } else if (const auto* unigram = std::get_if<Unigram>(&model_)) {
    unigram->encode(word, out, scratch.unigram);
  } else {
    std::get<WordLevel>(model_).encode(word, out);
  }
}

Vocabulary take_vocabulary(ModelSpec& spec) {
  return std::visit(
      [](auto& s) -> Vocabulary {
        if constexpr (std::is_same_v<std::decay_t<decltype(s)>, UnigramSpec>) {
          Vocabulary vocabulary;
          vocabulary.reserve(s.pieces.size());
          for (auto& [token, score] : s.pieces) {
            vocabulary.emplace_back(std::move(token), static_cast<int32_t>(vocabulary.size()));
          }
          return vocabulary;
        } else {
          return std::move(s.vocabulary);
        }
      },
      spec);
}

}  // namespace longformer::text
