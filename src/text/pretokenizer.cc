#include "text/pretokenizer.h"

#include "text/unicode_tables.h"

namespace longformer::text {

void split_words(PreTokenizer kind, const Characters& characters, size_t begin, size_t end,
                 std::vector<WordRange>& out) {
  out.clear();
  if (kind == PreTokenizer::kNone) {
    if (begin < end) out.push_back({begin, end});
    return;
  }
  size_t start = begin;
  for (size_t i = begin; i < end; ++i) {
    const uint8_t flags = unicode::flags(characters[i].code);
    if ((flags & (unicode::kSpace | unicode::kPunctuation)) == 0) continue;
    if (start < i) out.push_back({start, i});
    if (flags & unicode::kPunctuation) out.push_back({i, i + 1});
    start = i + 1;
  }
  if (start < end) out.push_back({start, end});
}

}  // namespace longformer::text
