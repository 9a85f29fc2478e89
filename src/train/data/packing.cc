#include "train/data/packing.h"

#include <algorithm>

namespace longformer::train {

std::vector<PackPiece> next_sequence(const PackRules& rules, int64_t documents,
                                     const std::function<int64_t(int64_t)>& tokens,
                                     PackPlace& place) {
  std::vector<PackPiece> pieces;
  const int64_t longest = rules.max_length - rules.prefix - rules.suffix;
  int64_t room = rules.max_length - rules.prefix;
  while (place.document < documents) {
    const int64_t size = tokens(place.document);
    const int64_t left = size - place.token;
    const int64_t fits = room - rules.suffix;
    if (left == 0) {
      ++place.document;
      place.token = 0;
      continue;
    }
    if (fits < 1) break;
    const bool waits = rules.packing == Packing::kWhole && left > fits && size <= longest;
    if (waits && !pieces.empty()) break;
    const int64_t count = std::min(left, fits);
    pieces.push_back({place.document, place.token, place.token + count});
    place.token += count;
    room -= count + rules.suffix;
  }
  return pieces;
}

}  // namespace longformer::train
