// The pieces of words that a text repeats. One slot for each value of a hash, the last word that
// came there; lives for one call and is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/piece.h"

namespace longformer::text {

class WordCache {
 public:
  // For a text of this many bytes; forgets all words.
  void reset(size_t text_bytes);

  // Appends the pieces of a word that was kept and is still there.
  bool find(std::string_view word, std::vector<Piece>& out);
  // Keeps the word that find() looked for last.
  void keep(std::string_view word, const std::vector<Piece>& pieces);

 private:
  struct Slot {
    uint32_t text = 0;    // place in texts_
    uint32_t pieces = 0;  // place in pieces_
    uint16_t length = 0;  // of the word; 0: empty
    uint16_t count = 0;
  };
  size_t slot_of(std::string_view word) const;

  std::vector<Slot> slots_;
  std::string texts_;
  std::vector<Piece> pieces_;
  size_t last_ = 0;
};

}  // namespace longformer::text
