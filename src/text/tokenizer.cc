#include "text/tokenizer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "longformer/error.h"
#include "text/segment_encoder.h"
#include "text/spec.h"
#include "text/utf8.h"

namespace longformer::text {
namespace {

// Tokens by id; ids may have gaps, so an id costs four bytes and only a token costs a string.
class TokenTable {
 public:
  explicit TokenTable(Vocabulary vocabulary) : entries_(std::move(vocabulary)) {
    for (size_t i = 0; i < entries_.size(); ++i) place(entries_[i].second, i);
  }

  int64_t size() const { return static_cast<int64_t>(places_.size()); }  // largest id + 1
  bool has(int64_t id) const {
    return id >= 0 && id < size() && places_[static_cast<size_t>(id)] >= 0;
  }
  const std::string& token(int64_t id) const {
    return entries_[static_cast<size_t>(places_[static_cast<size_t>(id)])].first;
  }
  void set(int32_t id, const std::string& token) {
    place(id, entries_.size());
    entries_.emplace_back(token, id);
  }

 private:
  void place(int32_t id, size_t entry) {
    const auto index = static_cast<size_t>(id);
    if (index >= places_.size()) places_.resize(index + 1, -1);
    places_[index] = static_cast<int32_t>(entry);
  }

  Vocabulary entries_;
  std::vector<int32_t> places_;  // index into entries_, -1 where the id is unused
};

TokenizerSpec read_spec(const TokenizerFiles& files) {
  if (files.tokenizer_json) {
    return read_tokenizer_json(*files.tokenizer_json, files.place + "/tokenizer.json");
  }
  if (files.vocab_txt) return read_vocab_txt(files);
  throw Error(ErrorCode::kNotFound,
              "no tokenizer.json and no vocab.txt; a model directory needs one of them",
              files.place);
}

}  // namespace

struct Tokenizer::Impl {
  explicit Impl(TokenizerSpec spec)
      : normalizer(std::move(spec.normalizer)),
        model(spec.vocabulary, spec.model, spec.place),
        model_size(static_cast<int64_t>(spec.vocabulary.size())),
        table(std::move(spec.vocabulary)),
        added(
            spec.added_tokens, normalizer, model_size,
            [this](std::string_view token) { return model.id(token); },
            [this](int64_t id) { return table.has(id); }, spec.place),
        encoder(added, normalizer, spec.pretokenizer, model),
        decoder(std::move(spec.decoder)) {
    for (const auto& [token, token_id] : added.ids()) table.set(token_id, token);
    post =
        spec.bert_template ? bert_template(*spec.bert_template, spec.place) : std::move(spec.post);
    check_template(post, table.size(), spec.place);
  }

  int32_t id(std::string_view token) const {
    const auto it = added.ids().find(std::string(token));
    return it == added.ids().end() ? model.id(token) : it->second;
  }

  PostTemplate bert_template(const BertTemplate& names, const std::string& place) const {
    const int32_t cls = id(names.cls);
    const int32_t sep = id(names.sep);
    if (cls < 0 || sep < 0) {
      throw Error(ErrorCode::kInvalidFile, "the vocabulary lacks the cls or sep token", place);
    }
    return PostTemplate::bert(cls, sep);
  }

  void encode_text(std::string_view text, Encoding& out) const {
    if (text.size() > UINT32_MAX) {
      throw Error(ErrorCode::kInvalidArgument,
                  "a text of 4 GiB or more cannot be tokenized at once; split it");
    }
    if (utf8::valid_prefix(text) == text.size()) {
      encoder.encode(text, out);
      return;
    }
    const utf8::Repaired repaired(text);
    if (repaired.text().size() > UINT32_MAX) {
      throw Error(ErrorCode::kInvalidArgument,
                  "a text of 4 GiB or more cannot be tokenized at once; split it");
    }
    const size_t first = out.offsets.size();
    encoder.encode(repaired.text(), out);
    for (size_t i = first; i < out.offsets.size(); ++i) {
      out.offsets[i] = {repaired.original(out.offsets[i].begin),
                        repaired.original(out.offsets[i].end)};
    }
  }

  Encoding encode(const std::vector<TemplatePiece>& pieces, std::string_view first,
                  std::string_view second, const EncodeSettings& settings) const {
    Encoding out;
    for (const TemplatePiece& piece : pieces) {
      int8_t sequence = -1;
      if (piece.kind == TemplatePiece::Kind::kSpecial) {
        if (!settings.add_special_tokens) continue;
        out.ids.insert(out.ids.end(), piece.ids.begin(), piece.ids.end());
        out.offsets.resize(out.ids.size());
      } else {
        sequence = piece.kind == TemplatePiece::Kind::kFirst ? 0 : 1;
        encode_text(sequence == 0 ? first : second, out);
      }
      out.type_ids.resize(out.ids.size(), piece.type_id);
      out.sequence.resize(out.ids.size(), sequence);
    }
    return out;
  }

  Normalizer normalizer;
  WordPiece model;
  int64_t model_size;  // entries of the model's own vocabulary
  TokenTable table;
  AddedTokens added;
  SegmentEncoder encoder;  // refers to the members above
  Decoder decoder;
  PostTemplate post;
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::load(const TokenizerFiles& files) {
  return Tokenizer(std::make_unique<Impl>(read_spec(files)));
}

Encoding Tokenizer::encode(std::string_view text, const EncodeSettings& settings) const {
  return impl_->encode(impl_->post.single, text, {}, settings);
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                const EncodeSettings& settings) const {
  const auto uses = [&](TemplatePiece::Kind kind) {
    return std::any_of(impl_->post.pair.begin(), impl_->post.pair.end(),
                       [kind](const TemplatePiece& p) { return p.kind == kind; });
  };
  if (!uses(TemplatePiece::Kind::kFirst) || !uses(TemplatePiece::Kind::kSecond)) {
    throw Error(ErrorCode::kUnsupported,
                "the template of this tokenizer for two texts does not use both");
  }
  return impl_->encode(impl_->post.pair, first, second, settings);
}

std::vector<int64_t> Tokenizer::special_prefix() const {
  std::vector<int64_t> ids;
  for (const TemplatePiece& piece : impl_->post.single) {
    if (piece.kind != TemplatePiece::Kind::kSpecial) break;
    ids.insert(ids.end(), piece.ids.begin(), piece.ids.end());
  }
  return ids;
}

std::vector<int64_t> Tokenizer::special_suffix() const {
  std::vector<int64_t> ids;
  for (const TemplatePiece& piece : impl_->post.single) {
    if (piece.kind == TemplatePiece::Kind::kSpecial) {
      ids.insert(ids.end(), piece.ids.begin(), piece.ids.end());
    } else {
      ids.clear();
    }
  }
  return ids;
}

int64_t Tokenizer::unknown_id() const { return impl_->model.unknown_id(); }

int64_t Tokenizer::vocabulary_size() const { return impl_->table.size(); }

std::optional<int64_t> Tokenizer::id(std::string_view token) const {
  const int32_t id = impl_->id(token);
  if (id < 0) return std::nullopt;
  return id;
}

const std::string& Tokenizer::token(int64_t id) const {
  if (!impl_->table.has(id)) {
    throw Error(ErrorCode::kInvalidArgument,
                "no token has the id " + std::to_string(id) + "; the vocabulary has ids below " +
                    std::to_string(vocabulary_size()) + ", some may be unused");
  }
  return impl_->table.token(id);
}

std::string Tokenizer::decode(const std::vector<int64_t>& ids, bool skip_special_tokens) const {
  std::vector<std::string> tokens;
  for (const int64_t id : ids) {
    if (!impl_->table.has(id)) continue;  // as in the reference
    const std::string& token = impl_->table.token(id);
    if (skip_special_tokens && impl_->added.is_special(token)) continue;
    tokens.push_back(token);
  }
  return impl_->decoder.decode(std::move(tokens));
}

}  // namespace longformer::text
