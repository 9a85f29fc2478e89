#include "text/segment_encoder.h"

#include <algorithm>
#include <string>

#include "longformer/error.h"
#include "text/unicode/unicode_tables.h"

namespace longformer::text {
namespace {

void append(int32_t id, const Offset& offset, int32_t word, Encoding& out) {
  out.ids.push_back(id);
  out.offsets.push_back(offset);
  out.words.push_back(word);
}

Offset offset_of(size_t begin, size_t end) {
  return {static_cast<int64_t>(begin), static_cast<int64_t>(end)};
}

// Added tokens that are white space and absorb what follows overlap, each with all behind it.
constexpr size_t kMaxOverlap = 64;
constexpr size_t kFreeOverlap = 1u << 20;

[[noreturn]] void refuse_overlap() {
  throw Error(ErrorCode::kInvalidFile,
              "the added tokens of this tokenizer absorb the same white space too often; set "
              "\"rstrip\" of those that begin with white space to false");
}

}  // namespace

SegmentEncoder::Scratch::Scratch(size_t bytes)
    : budget(bytes), unread(kMaxOverlap * bytes + kFreeOverlap) {}

SegmentEncoder::SegmentEncoder(const AddedTokens& added, const Normalizer& normalizer,
                               const PreTokenizer& pretokenizer, const Model& model,
                               bool needs_spaces)
    : added_(added),
      normalizer_(normalizer),
      pretokenizer_(pretokenizer),
      model_(model),
      byte_model_(pretokenizer.ends_with_bytes() ? model.byte_level() : nullptr),
      needs_spaces_(needs_spaces),
      ascii_runs_(pretokenizer.is_bert() && added.normalized().empty() &&
                  normalizer.is_local_for_ascii()) {
  std::fill(std::begin(kinds_), std::end(kinds_), AsciiKind::kOther);
  std::fill(std::begin(mapped_), std::end(mapped_), '\0');
  if (!ascii_runs_) return;
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

void SegmentEncoder::encode(std::string_view text, Scratch& scratch, Encoding& out) const {
  scratch.next_word = 0;
  if (added_.raw().empty()) {
    encode_plain(text, 0, scratch, out);
    return;
  }
  added_.raw().split(text, scratch.raw_splits);
  for (const Split& split : scratch.raw_splits) {
    if (split.id >= 0) {
      append_added(split.id, text.substr(split.begin, split.end - split.begin),
                   offset_of(split.begin, split.end), scratch, out);
    } else {
      encode_plain(text.substr(split.begin, split.end - split.begin), split.begin, scratch, out);
    }
  }
}

void SegmentEncoder::encode_plain(std::string_view text, size_t offset, Scratch& scratch,
                                  Encoding& out) const {
  if (ascii_runs_) {
    encode_ascii_runs(text, offset, scratch, out);
  } else {
    encode_general(text, offset, scratch, out);
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
  scratch.word.resize(word.size());
  for (size_t i = 0; i < word.size(); ++i) {
    scratch.word[i] = mapped_[static_cast<uint8_t>(word[i])];
  }
  model_.encode(scratch.word, scratch.pieces, scratch.model);
  for (const Piece& piece : scratch.pieces) {
    append(piece.id, offset_of(offset + piece.begin, offset + piece.end), scratch.next_word, out);
  }
  ++scratch.next_word;
}

void SegmentEncoder::encode_general(std::string_view text, size_t offset, Scratch& scratch,
                                    Encoding& out) const {
  scratch.text.set_original(text, offset);
  if (!normalizer_.empty()) {
    normalizer_.apply(scratch.text.edit_characters(), scratch.budget);
    scratch.text.characters_changed();
  }
  if (added_.normalized().empty()) {
    encode_words(scratch.text, scratch, out);
  } else {
    split_normalized(scratch, out);
  }
}

void SegmentEncoder::split_normalized(Scratch& scratch, Encoding& out) const {
  added_.normalized().split(scratch.text.text(), scratch.splits);
  for (const Split& split : scratch.splits) {
    if (split.id >= 0) {
      append_added(split.id, scratch.text.text().substr(split.begin, split.end - split.begin),
                   scratch.text.original(split.begin, split.end), scratch, out);
    } else {
      scratch.part.set_part(scratch.text, split.begin, split.end);
      encode_words(scratch.part, scratch, out);
    }
  }
}

void SegmentEncoder::append_added(int32_t id, std::string_view spelling, const Offset& offset,
                                  Scratch& scratch, Encoding& out) const {
  if (needs_spaces_) {
    if (spelling.size() > scratch.unread) refuse_overlap();
    scratch.unread -= spelling.size();
    scratch.spaces.push_back({out.size(), end_spaces(spelling)});
  }
  append(id, offset, scratch.next_word++, out);
}

void SegmentEncoder::encode_words(AlignedText& text, Scratch& scratch, Encoding& out) const {
  pretokenizer_.apply(text, scratch.words, spells_bytes(), scratch.budget);
  for (const WordRange& word : scratch.words) {
    const std::string_view bytes = text.text().substr(word.begin, word.end - word.begin);
    if (byte_model_ != nullptr) {
      byte_model_->encode_bytes(bytes, scratch.pieces, scratch.model.bpe);
    } else {
      model_.encode(bytes, scratch.pieces, scratch.model);
    }
    for (const Piece& piece : scratch.pieces) {
      if (needs_spaces_ && piece.id == model_.literal_unknown_id()) {
        scratch.spaces.push_back(
            {out.size(), end_spaces(bytes.substr(piece.begin, piece.end - piece.begin))});
      }
      append(piece.id, text.original(word.begin + piece.begin, word.begin + piece.end),
             scratch.next_word, out);
    }
    ++scratch.next_word;
  }
}

}  // namespace longformer::text
