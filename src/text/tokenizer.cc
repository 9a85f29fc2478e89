#include "text/tokenizer.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "longformer/error.h"
#include "text/files/spec.h"
#include "text/segment_encoder.h"
#include "text/truncation.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

// Tokens by id; ids may have gaps, so an id costs four bytes and only a token costs a string.
class TokenTable {
 public:
  explicit TokenTable(Vocabulary vocabulary) : entries_(std::move(vocabulary)) {
    for (size_t i = 0; i < entries_.size(); ++i) place(entries_[i].second, i);
  }

  int64_t entries() const { return static_cast<int64_t>(entries_.size()); }
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
  return read_vocab_files(files);
}

[[noreturn]] void refuse_length() {
  throw Error(ErrorCode::kInvalidArgument,
              "a text of 4 GiB or more cannot be tokenized at once; split it");
}

// One text without special tokens, spans not yet trimmed.
struct EncodedSide {
  Encoding tokens;
  std::vector<TokenSpaces> spaces;  // of some
  size_t size() const { return tokens.size(); }
};

// The tokens of a window of one side.
EncodedSide slice(const EncodedSide& side, const TokenRange& range) {
  const auto cut = [&](const auto& values) {
    return std::decay_t<decltype(values)>(values.begin() + range.begin, values.begin() + range.end);
  };
  EncodedSide out;
  out.tokens.ids = cut(side.tokens.ids);
  out.tokens.type_ids = cut(side.tokens.type_ids);
  out.tokens.offsets = cut(side.tokens.offsets);
  out.tokens.sequence = cut(side.tokens.sequence);
  out.tokens.words = cut(side.tokens.words);
  const auto begin = static_cast<size_t>(range.begin);
  const auto end = static_cast<size_t>(range.end);
  auto known =
      std::lower_bound(side.spaces.begin(), side.spaces.end(), begin,
                       [](const TokenSpaces& one, size_t token) { return one.token < token; });
  for (; known != side.spaces.end() && known->token < end; ++known) {
    out.spaces.push_back({known->token - begin, known->spaces});
  }
  return out;
}

}  // namespace

struct Tokenizer::Impl {
  explicit Impl(TokenizerSpec spec)
      : normalizer(std::move(spec.normalizer)),
        pretokenizer(std::move(spec.pretokenizer)),
        model(spec.model, spec.place),
        table(take_vocabulary(spec.model)),
        added(
            spec.added_tokens, normalizer, table.entries(),
            [this](std::string_view token) { return model.id(token); },
            [this](int64_t id) { return table.has(id); }, spec.place),
        decoder(std::move(spec.decoder)),
        post(std::move(spec.post)),
        encoder(added, normalizer, pretokenizer, model, post.trim_offsets) {
    for (const auto& [token, token_id] : added.ids()) table.set(token_id, token);
    if (spec.named_template) post.post = resolve(*spec.named_template, spec.place);
    check_template(post.post, table.size(), spec.place);
  }

  int32_t id(std::string_view token) const {
    const auto it = added.ids().find(std::string(token));
    return it == added.ids().end() ? model.id(token) : it->second;
  }

  std::vector<TemplatePiece> resolve(const std::vector<NamedPiece>& named,
                                     const std::string& place) const {
    std::vector<TemplatePiece> pieces;
    for (const NamedPiece& piece : named) {
      pieces.push_back({piece.kind, {}, piece.type_id});
      if (piece.kind != TemplatePiece::Kind::kSpecial) continue;
      const int32_t token_id = id(piece.token);
      if (token_id < 0) {
        throw Error(ErrorCode::kInvalidFile,
                    "the vocabulary lacks the special token \"" + printable(piece.token) +
                        "\" that goes around a text",
                    place);
      }
      pieces.back().ids.push_back(token_id);
    }
    return pieces;
  }
  PostTemplate resolve(const NamedTemplate& named, const std::string& place) const {
    return {resolve(named.single, place), resolve(named.pair, place)};
  }

  // Appends one text, or one word of a list where `word` >= 0.
  void encode_text(std::string_view text, int32_t word, SegmentEncoder::Scratch& scratch,
                   Encoding& out) const {
    if (text.size() > UINT32_MAX) refuse_length();
    const size_t first = out.size();
    if (utf8::valid_prefix(text) == text.size()) {
      encoder.encode(text, scratch, out);
    } else {
      const utf8::Repaired repaired(text);
      if (repaired.text().size() > UINT32_MAX) refuse_length();
      encoder.encode(repaired.text(), scratch, out);
      for (size_t i = first; i < out.offsets.size(); ++i) {
        out.offsets[i] = {repaired.original(out.offsets[i].begin),
                          repaired.original(out.offsets[i].end)};
      }
    }
    if (word >= 0)
      std::fill(out.words.begin() + static_cast<ptrdiff_t>(first), out.words.end(), word);
  }

  EncodedSide encode_side(const TextInput& input) const {
    size_t bytes = input.text.size();
    if (input.is_split) {
      bytes = 0;
      for (const std::string& word : input.words) bytes += word.size();
    }
    SegmentEncoder::Scratch scratch(bytes);
    scratch.model.bpe.cache.reset(bytes);
    EncodedSide side;
    if (!input.is_split) {
      encode_text(input.text, -1, scratch, side.tokens);
    } else {
      for (size_t i = 0; i < input.words.size(); ++i) {
        encode_text(input.words[i], static_cast<int32_t>(i), scratch, side.tokens);
      }
    }
    side.tokens.type_ids.resize(side.size());
    side.tokens.sequence.resize(side.size());
    side.spaces = std::move(scratch.spaces);
    return side;
  }

  void trim(EncodedSide& side, const TextInput& input) const {
    auto known = side.spaces.begin();
    post.trim(side.tokens, input, [&](size_t index) {
      if (known != side.spaces.end() && known->token == index) return (known++)->spaces;
      return end_spaces(table.token(side.tokens.ids[index]));
    });
  }

  Normalizer normalizer;
  PreTokenizer pretokenizer;
  Model model;
  TokenTable table;
  AddedTokens added;
  Decoder decoder;
  PostProcessor post;
  SegmentEncoder encoder;  // refers to the members above
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::load(const TokenizerFiles& files) {
  return Tokenizer(std::make_unique<Impl>(read_spec(files)));
}

Encoding Tokenizer::encode(const TextInput& text, const EncodeSettings& settings) const {
  EncodedSide side = impl_->encode_side(text);
  impl_->trim(side, text);
  return impl_->post.assemble(side.tokens, nullptr, settings.add_special_tokens);
}

Encoding Tokenizer::encode_pair(const TextInput& first, const TextInput& second,
                                const EncodeSettings& settings) const {
  EncodedSide first_side = impl_->encode_side(first);
  EncodedSide second_side = impl_->encode_side(second);
  impl_->trim(first_side, first);
  impl_->trim(second_side, second);
  return impl_->post.assemble(first_side.tokens, &second_side.tokens, settings.add_special_tokens);
}

std::vector<Encoding> Tokenizer::encode_windows(const TextInput& first,
                                                const std::optional<TextInput>& second,
                                                const EncodeSettings& settings,
                                                const TruncationSettings& truncation) const {
  const EncodedSide first_side = impl_->encode_side(first);
  const EncodedSide second_side = second ? impl_->encode_side(*second) : EncodedSide();
  const auto count = [](const EncodedSide& side) { return static_cast<int64_t>(side.size()); };
  const std::optional<int64_t> second_tokens =
      second ? std::optional<int64_t>(count(second_side)) : std::nullopt;
  const int64_t specials =
      settings.add_special_tokens ? impl_->post.special_tokens(second.has_value()) : 0;
  std::vector<Encoding> windows;
  for (const TextWindow& window :
       plan_truncation(count(first_side), second_tokens, specials, truncation)) {
    EncodedSide a = slice(first_side, window.first);
    impl_->trim(a, first);
    EncodedSide b;
    if (second) {
      b = slice(second_side, window.second);
      impl_->trim(b, *second);
    }
    windows.push_back(
        impl_->post.assemble(a.tokens, second ? &b.tokens : nullptr, settings.add_special_tokens));
  }
  return windows;
}

std::vector<int64_t> Tokenizer::special_prefix() const {
  std::vector<int64_t> ids;
  for (const TemplatePiece& piece : impl_->post.post.single) {
    if (piece.kind != TemplatePiece::Kind::kSpecial) break;
    ids.insert(ids.end(), piece.ids.begin(), piece.ids.end());
  }
  return ids;
}

std::vector<int64_t> Tokenizer::special_suffix() const {
  std::vector<int64_t> ids;
  for (const TemplatePiece& piece : impl_->post.post.single) {
    if (piece.kind == TemplatePiece::Kind::kSpecial) {
      ids.insert(ids.end(), piece.ids.begin(), piece.ids.end());
    } else {
      ids.clear();
    }
  }
  return ids;
}

std::optional<int64_t> Tokenizer::unknown_id() const {
  if (impl_->encoder.spells_bytes()) return std::nullopt;
  return impl_->model.unknown_id();
}

int64_t Tokenizer::vocabulary_size() const { return impl_->table.size(); }

std::optional<int64_t> Tokenizer::id(std::string_view token) const {
  const int32_t id = impl_->id(token);
  if (id < 0) return std::nullopt;
  return id;
}

bool Tokenizer::has_token(int64_t id) const { return impl_->table.has(id); }

bool Tokenizer::is_special(int64_t id) const {
  return impl_->table.has(id) && impl_->added.is_special(impl_->table.token(id));
}

const std::string& Tokenizer::token(int64_t id) const {
  if (!has_token(id)) {
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

std::string Tokenizer::decode_tokens(std::vector<std::string> tokens) const {
  return impl_->decoder.decode(std::move(tokens));
}

bool Tokenizer::marks_continuations() const { return impl_->model.marks_continuations(); }

}  // namespace longformer::text
