// Normalised text of one segment with the way back to the original. Words are ranges of its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/normalizer.h"
#include "text/tokenizer.h"

namespace longformer::text {

struct WordRange {
  size_t begin;  // bytes
  size_t end;
};

class AlignedText {
 public:
  AlignedText() = default;
  AlignedText(const AlignedText&) = delete;  // text() may refer to the object itself
  AlignedText& operator=(const AlignedText&) = delete;

  // Text as it stands at byte `offset` of the original. Keeps a reference until it is edited.
  void set_original(std::string_view text, size_t offset);
  // The characters of set_original(), normalised; their places count from `offset`.
  Characters& edit_characters();
  void characters_changed();
  // Bytes [begin, end) of another text.
  void set_part(const AlignedText& whole, size_t begin, size_t end);

  std::string_view text() const { return text_; }
  // Bytes of the original for [begin, end) of text(), widened to whole characters.
  Offset original(size_t begin, size_t end) const;
  // Where the original begins that `at`, a byte of text(), belongs to.
  size_t original_begin(size_t at) const;

  // Replaces text(): each word goes through `edit(bytes, append)`, which calls append(bytes,
  // source) for what is to stand there, `source` being a byte of text() that it belongs to. Words
  // keep their number and order; text between them is dropped.
  template <class Edit>
  void edit_words(std::vector<WordRange>& words, const Edit& edit) {
    need_sources();
    std::string bytes;
    std::vector<uint32_t> sources;
    bytes.reserve(text_.size() + 16);
    sources.reserve(text_.size() + 16);
    const auto append = [&](std::string_view part, size_t source) {
      bytes.append(part);
      sources.resize(bytes.size(), sources_[source]);
    };
    for (WordRange& word : words) {
      const size_t begin = bytes.size();
      edit(word, append);
      word = {begin, bytes.size()};
    }
    bytes_.swap(bytes);
    sources_.swap(sources);
    text_ = bytes_;
  }

 private:
  void need_sources();

  std::string_view text_;
  size_t offset_ = 0;
  bool identity_ = true;  // text_ is the original
  std::string bytes_;
  Characters characters_;
  std::vector<uint32_t> sources_;  // index into characters_ for each byte of text_
};

}  // namespace longformer::text
