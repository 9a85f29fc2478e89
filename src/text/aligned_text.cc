#include "text/aligned_text.h"

#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

bool continues(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

}  // namespace

void AlignedText::set_original(std::string_view text, size_t offset) {
  text_ = text;
  offset_ = offset;
  identity_ = true;
}

Characters& AlignedText::edit_characters() {
  characters_.clear();
  append_characters(text_, 0, characters_);
  return characters_;
}

void AlignedText::characters_changed() {
  bytes_.clear();
  sources_.clear();
  for (size_t i = 0; i < characters_.size(); ++i) {
    utf8::append(characters_[i].code, bytes_);
    sources_.resize(bytes_.size(), static_cast<uint32_t>(i));
  }
  text_ = bytes_;
  identity_ = false;
}

void AlignedText::set_part(const AlignedText& whole, size_t begin, size_t end) {
  if (whole.identity_) {
    set_original(whole.text_.substr(begin, end - begin), whole.offset_ + begin);
    return;
  }
  bytes_.assign(whole.text_.substr(begin, end - begin));
  text_ = bytes_;
  offset_ = whole.offset_;
  identity_ = false;
  const auto first = whole.sources_.begin() + static_cast<ptrdiff_t>(begin);
  sources_.assign(first, first + static_cast<ptrdiff_t>(end - begin));
  const uint32_t base = sources_.empty() ? 0 : sources_.front();
  const uint32_t last = sources_.empty() ? 0 : sources_.back() + 1;
  characters_.assign(whole.characters_.begin() + base, whole.characters_.begin() + last);
  for (uint32_t& source : sources_) source -= base;
}

void AlignedText::need_sources() {
  if (!identity_) return;
  edit_characters();
  characters_changed();
}

Offset AlignedText::original(size_t begin, size_t end) const {
  if (identity_) {
    if (begin < end) {
      while (begin > 0 && continues(text_[begin])) --begin;
      while (end < text_.size() && continues(text_[end])) ++end;
    }
    return {static_cast<int64_t>(offset_ + begin), static_cast<int64_t>(offset_ + end)};
  }
  if (begin == end) {
    const auto at = static_cast<int64_t>(begin < text_.size() ? original_begin(begin) : offset_);
    return {at, at};
  }
  return {static_cast<int64_t>(offset_ + characters_[sources_[begin]].begin),
          static_cast<int64_t>(offset_ + characters_[sources_[end - 1]].end)};
}

size_t AlignedText::original_begin(size_t at) const {
  return offset_ + (identity_ ? at : characters_[sources_[at]].begin);
}

}  // namespace longformer::text
