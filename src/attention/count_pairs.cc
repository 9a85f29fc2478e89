#include "attention/count_pairs.h"

#include "attention/count_cells.h"
#include "longformer/error.h"

namespace longformer {

int64_t count_pairs(const AttentionPattern& pattern, int64_t sequence, int64_t head) {
  if (pattern.memory.length > 0 || pattern.memory.cross_source) {
    throw Error(ErrorCode::kUnsupported, "memory: its pairs are not counted by this function",
                "attention pattern");
  }
  return count_all(pattern, sequence, head).total();
}

}  // namespace longformer
