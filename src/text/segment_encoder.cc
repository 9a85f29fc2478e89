#include "text/segment_encoder.h"

#include <algorithm>
#include <string>

#include "text/unicode_tables.h"
#include "text/utf8.h"

namespace longformer::text {

// Buffers of one call, reused from word to word.
struct SegmentEncoder::Scratch {
  Characters characters;
  std::vector<WordRange> words;
  std::vector<WordPiece::Piece> pieces;
  std::string bytes;              // of a word, or of normalised text
  std::vector<uint32_t> sources;  // index of the character that each of `bytes` belongs to
  std::vector<Split> splits;

  void append_bytes(size_t index) {
    utf8::append(characters[index].code, bytes);
    sources.resize(bytes.size(), static_cast<uint32_t>(index));
  }
  void clear_bytes() {
    bytes.clear();
    sources.clear();
  }
};

namespace {

void append(int32_t id, size_t begin, size_t end, Encoding& out) {
  out.ids.push_back(id);
  out.offsets.push_back({static_cast<int64_t>(begin), static_cast<int64_t>(end)});
}

}  // namespace

SegmentEncoder::SegmentEncoder(const AddedTokens& added, const Normalizer& normalizer,
                               PreTokenizer pretokenizer, const WordPiece& model)
    : added_(added),
      normalizer_(normalizer),
      pretokenizer_(pretokenizer),
      model_(model),
      ascii_runs_(pretokenizer == PreTokenizer::kBert && added.normalized().empty()) {
  std::fill(std::begin(kinds_), std::end(kinds_), AsciiKind::kOther);
  std::fill(std::begin(mapped_), std::end(mapped_), '\0');
  for (char32_t c = 0; c < 128; ++c) {
    const std::string form = normalizer.apply_to(std::string(1, static_cast<char>(c)));
    if (form.size() != 1) continue;
    const uint8_t flags = unicode::flags(static_cast<uint8_t>(form[0]));
    mapped_[c] = form[0];
    kinds_[c] = flags & unicode::kSpace         ? AsciiKind::kSpace
                : flags & unicode::kPunctuation ? AsciiKind::kPunctuation
                                                : AsciiKind::kWord;
  }
}

void SegmentEncoder::encode(std::string_view text, Encoding& out) const {
  Scratch scratch;
  const auto encode_plain = [&](std::string_view part, size_t offset) {
    if (ascii_runs_) {
      encode_ascii_runs(part, offset, scratch, out);
    } else {
      encode_general(part, offset, scratch, out);
    }
  };
  if (added_.raw().empty()) {
    encode_plain(text, 0);
    return;
  }
  std::vector<Split> splits;
  added_.raw().split(text, splits);
  for (const Split& split : splits) {
    if (split.id >= 0) {
      append(split.id, split.begin, split.end, out);
    } else {
      encode_plain(text.substr(split.begin, split.end - split.begin), split.begin);
    }
  }
}

void SegmentEncoder::encode_ascii_runs(std::string_view text, size_t offset, Scratch& scratch,
                                       Encoding& out) const {
  const auto kind = [&](size_t i) { return kinds_[static_cast<uint8_t>(text[i])]; };
  for (size_t at = 0; at < text.size();) {
    if (kind(at) == AsciiKind::kSpace) {
      ++at;
      continue;
    }
    size_t end = at + 1;
    if (kind(at) != AsciiKind::kPunctuation) {
      end = at;
      while (end < text.size() && kind(end) == AsciiKind::kWord) ++end;
      if (end < text.size() && kind(end) == AsciiKind::kOther) {
        while (end < text.size() &&
               (kind(end) == AsciiKind::kOther || kind(end) == AsciiKind::kWord)) {
          ++end;
        }
        encode_general(text.substr(at, end - at), offset + at, scratch, out);
        at = end;
        continue;
      }
    }
    encode_ascii_word(text.substr(at, end - at), offset + at, scratch, out);
    at = end;
  }
}

void SegmentEncoder::encode_ascii_word(std::string_view word, size_t offset, Scratch& scratch,
                                       Encoding& out) const {
  if (word.size() > model_.max_characters()) {
    append(model_.unknown_id(), offset, offset + word.size(), out);
    return;
  }
  scratch.bytes.resize(word.size());
  for (size_t i = 0; i < word.size(); ++i) {
    scratch.bytes[i] = mapped_[static_cast<uint8_t>(word[i])];
  }
  model_.encode(scratch.bytes, scratch.pieces);
  for (const WordPiece::Piece& piece : scratch.pieces) {
    append(piece.id, offset + piece.begin, offset + piece.end, out);
  }
}

void SegmentEncoder::encode_general(std::string_view text, size_t offset, Scratch& scratch,
                                    Encoding& out) const {
  scratch.characters.clear();
  append_characters(text, 0, scratch.characters);
  normalizer_.apply(scratch.characters);
  if (added_.normalized().empty()) {
    encode_words(0, scratch.characters.size(), offset, scratch, out);
  } else {
    split_normalized(offset, scratch, out);
  }
}

void SegmentEncoder::split_normalized(size_t offset, Scratch& scratch, Encoding& out) const {
  const Characters& characters = scratch.characters;
  scratch.clear_bytes();
  for (size_t i = 0; i < characters.size(); ++i) scratch.append_bytes(i);
  std::vector<Split> splits;
  added_.normalized().split(scratch.bytes, splits);
  for (Split& split : splits) {  // from bytes to characters; `end` stays behind the last one
    split.begin = scratch.sources[split.begin];
    split.end = size_t{scratch.sources[split.end - 1]} + 1;
  }
  for (const Split& split : splits) {
    if (split.id >= 0) {
      append(split.id, offset + characters[split.begin].begin,
             offset + characters[split.end - 1].end, out);
    } else {
      encode_words(split.begin, split.end, offset, scratch, out);
    }
  }
}

void SegmentEncoder::encode_words(size_t begin, size_t end, size_t offset, Scratch& scratch,
                                  Encoding& out) const {
  const Characters& characters = scratch.characters;
  split_words(pretokenizer_, characters, begin, end, scratch.words);
  for (const WordRange& word : scratch.words) {
    if (word.end - word.begin > model_.max_characters()) {
      append(model_.unknown_id(), offset + characters[word.begin].begin,
             offset + characters[word.end - 1].end, out);
      continue;
    }
    scratch.clear_bytes();
    for (size_t i = word.begin; i < word.end; ++i) scratch.append_bytes(i);
    model_.encode(scratch.bytes, scratch.pieces);
    for (const WordPiece::Piece& piece : scratch.pieces) {
      append(piece.id, offset + characters[scratch.sources[piece.begin]].begin,
             offset + characters[scratch.sources[piece.end - 1]].end, out);
    }
  }
}

}  // namespace longformer::text
