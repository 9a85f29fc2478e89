// The character map of a SentencePiece normaliser ("precompiled_charsmap"): a double-array trie of
// UTF-8 strings and the texts that replace them.
//
// Bytes: u32 size of the trie in bytes, its units (u32), then the replacements, each ended by NUL.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longformer::text {

class Charsmap {
 public:
  // Throws kInvalidFile at `place`: a trie that is empty or longer than the bytes, replacements
  // that are not UTF-8 or longer than kMaxReplacementBytes.
  Charsmap(std::string_view bytes, const std::string& place);

  // What replaces a whole text that starts with an entry: the replacement of the SHORTEST entry
  // that the text starts with, as in the reference. Units of a broken trie that lead outside it
  // match nothing.
  std::optional<std::string_view> find(std::string_view text) const;

  // Whether find() of this ASCII character alone has nothing.
  bool keeps(char32_t ascii) const { return keeps_[ascii]; }

  static constexpr size_t kMaxReplacementBytes = 1024;

 private:
  std::vector<uint32_t> units_;
  std::string replacements_;
  std::array<bool, 128> keeps_{};
};

}  // namespace longformer::text
