// Who attends to whom, as data. Every system of the project is one setting of these fields;
// compile() (plan.h) turns a pattern into work, reference.h computes it slowly and obviously.
//
// Sources: sliding window, dilation and global tokens: Longformer (2020), section 3.1; blocks:
// BigBird; memory and relative bias: Transformer-XL; boxes and bias tables: Swin; decomposed bias:
// SAM; slopes: ALiBi.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace longformer {

// Half-open range of positions in a sequence.
struct Interval {
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const Interval&) const = default;
};

// Reach in steps of the dilation: query i sees i - left·d … i + right·d. right = 0: causal.
// A published `attention_window` of w is {w / 2, w / 2}.
struct Window {
  int64_t left = 0;
  int64_t right = 0;
  bool operator==(const Window&) const = default;
};

// A map of height x width tokens, row by row, cut into disjoint boxes; a query sees its own box.
// The map is padded at the right and at the bottom to whole boxes; what stands there is no token of
// the sequence but is attended to (padding_keys()). With a shift (Swin) the padded map is rolled by
// it to the left and upwards before it is cut, and the boxes that the roll put together from both
// ends fall apart into their regions.
struct Grid {
  int64_t height = 0;
  int64_t width = 0;
  int64_t box_height = 0;
  int64_t box_width = 0;
  int64_t shift = 0;
  bool operator==(const Grid&) const = default;
};

// Sequences in blocks of `size` tokens, the last one shorter where it does not divide (BigBird).
struct Blocks {
  int64_t size = 0;
  // Blocks on each side of a query's own that it sees; none: no window of blocks.
  std::optional<int64_t> reach;
  // Extra key blocks per query block; they count once more for each time they are listed.
  std::vector<std::vector<std::vector<int32_t>>> extra;  // [head][query block][…]; empty: none
  bool operator==(const Blocks&) const = default;
};

// Keys that do not come from the queries' own sequence.
struct Memory {
  int64_t length = 0;         // cached keys before the first query
  bool cross_source = false;  // keys come from another sequence altogether
  bool operator==(const Memory&) const = default;
};

enum class BiasKind { kNone, kTable, kDecomposed, kRelativeSinusoid, kSlopes };

// What a query at a position outside `valid` gives.
enum class MaskedQuery {
  kZero,    // its output is zero (Longformer)
  kAttend,  // it attends to the valid keys like any other (BERT)
};

struct AttentionPattern {
  int64_t heads = 1;
  std::vector<int64_t> lengths;  // tokens of each sequence of the ragged batch
  std::optional<Grid> grid;      // none: sequences
  // None: with a grid the box, with blocks their lists and reach, else any number of steps: full
  // attention where dilation is 1.
  std::optional<Window> window;
  std::vector<int64_t> dilation;             // per head, >= 1; empty: 1 for all
  std::vector<std::vector<int64_t>> global;  // per sequence, increasing positions; empty: none
  bool global_projections = true;  // global rows use query, key and value projections of their own
  std::optional<Blocks> blocks;
  Memory memory;
  std::vector<std::vector<Interval>>
      valid;  // per sequence, increasing disjoint ranges of real keys; empty: all
  MaskedQuery masked_query = MaskedQuery::kZero;
  BiasKind bias = BiasKind::kNone;

  bool operator==(const AttentionPattern&) const = default;
};

// Throws Error(kInvalidArgument) naming the field and value where a pattern contradicts itself: no
// heads, a negative length, a dilation list of the wrong size or below 1, a negative reach, global
// or valid lists of the wrong size, out of order or out of range, a grid that is not what its
// sequences hold, block lists of the wrong size or out of range, two rules for what is near. A
// window larger than the sequence is fine.
void validate(const AttentionPattern& pattern);

// Throws Error(kUnsupported) naming the field and value where a pattern uses a field that compile()
// does not know yet: grid, blocks, memory, bias. count() below knows grid and blocks.
void refuse_unsupported(const AttentionPattern& pattern);

// One line, e.g. "window 256+256, dilation 1 (heads 0-11), global 1 token, 1 sequence of 4096".
std::string to_string(const AttentionPattern& pattern);

// The definition: how often (0 or 1; more with repeating blocks) query `i` of `sequence` counts key
// `j` in `head`.
//   a key outside `valid` counts for nobody; a query outside `valid` counts nothing under kZero;
//   a valid global query counts every valid key; any other counts valid global keys, and valid keys
//   of its window, block window or box; what `blocks` lists counts once more for each time.
// A global position outside `valid` is not global.
int64_t count(const AttentionPattern& pattern, int64_t sequence, int64_t head, int64_t i,
              int64_t j);
// How many keys of its box query `i` counts that stand on no token: the border that fills up a grid
// to whole boxes. 0 for global queries, those that count nothing, and without a grid.
int64_t padding_keys(const AttentionPattern& pattern, int64_t sequence, int64_t i);
bool is_valid(const AttentionPattern& pattern, int64_t sequence, int64_t position);
bool is_global(const AttentionPattern& pattern, int64_t sequence, int64_t position);

// What count() and the faster ways of counting share.
inline int64_t dilation_of(const AttentionPattern& pattern, int64_t head) {
  return pattern.dilation.empty() ? 1 : pattern.dilation[static_cast<size_t>(head)];
}
// The box, or the region of it, in which a token of a grid lies.
struct Region {
  Interval rows;        // of the map
  Interval columns;     // of the map
  int64_t padding = 0;  // its places that are outside the map
};
Region region_of(const Grid& grid, int64_t token);

}  // namespace longformer
