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

// 2-D geometry and disjoint boxes (Swin, SAM).
struct Grid {
  int64_t height = 0;
  int64_t width = 0;
  int64_t box_height = 0;
  int64_t box_width = 0;
  int64_t shift = 0;
  bool operator==(const Grid&) const = default;
};

// Per query block, extra key blocks that it sees (may repeat: then they count twice).
struct Blocks {
  int64_t size = 0;
  std::vector<std::vector<std::vector<int32_t>>> extra;  // [head][query block][…]
  bool operator==(const Blocks&) const = default;
};

// Keys that do not come from the queries' own sequence.
struct Memory {
  int64_t length = 0;         // cached keys before the first query
  bool cross_source = false;  // keys come from another sequence altogether
  bool operator==(const Memory&) const = default;
};

enum class BiasKind { kNone, kTable, kDecomposed, kRelativeSinusoid, kSlopes };

struct Dropout {
  double probability = 0;
  uint64_t key = 0;
  bool operator==(const Dropout&) const = default;
};

// What a query at a position outside `valid` gives.
enum class MaskedQuery {
  kZero,    // its output is zero (Longformer)
  kAttend,  // it attends to the valid keys like any other (BERT)
};

struct AttentionPattern {
  int64_t heads = 1;
  std::vector<int64_t> lengths;   // tokens of each sequence of the ragged batch
  std::optional<Grid> grid;       // none: sequences
  std::optional<Window> window;   // none: any number of steps, full attention where dilation is 1
  std::vector<int64_t> dilation;  // per head, >= 1; empty: 1 for all
  std::vector<std::vector<int64_t>> global;  // per sequence, increasing positions; empty: none
  bool global_projections = true;  // global rows use query, key and value projections of their own
  std::optional<Blocks> blocks;
  Memory memory;
  std::vector<std::vector<Interval>>
      valid;  // per sequence, increasing disjoint ranges of real keys; empty: all
  MaskedQuery masked_query = MaskedQuery::kZero;
  BiasKind bias = BiasKind::kNone;
  Dropout dropout;

  bool operator==(const AttentionPattern&) const = default;
};

// Throws Error(kInvalidArgument) naming the field and value where a pattern contradicts itself: no
// heads, a negative length, a dilation list of the wrong size or below 1, a negative reach, global
// or valid lists of the wrong size, out of order or out of range. A window larger than the sequence
// is fine.
void validate(const AttentionPattern& pattern);

// Throws Error(kUnsupported) naming the field and value where a pattern uses a field that has no
// user yet: grid, blocks, memory, bias, dropout. count() below does not know them.
void refuse_unsupported(const AttentionPattern& pattern);

// One line, e.g. "window 256+256, dilation 1 (heads 0-11), global 1 token, 1 sequence of 4096".
std::string to_string(const AttentionPattern& pattern);

// The definition: how often (0 or 1; more with repeating blocks) query `i` of `sequence` counts key
// `j` in `head`.
//   a key outside `valid` counts for nobody; a query outside `valid` counts nothing under kZero;
//   a valid global query counts every valid key; any other counts valid global keys, and valid keys
//   of its window.
// A global position outside `valid` is not global.
int64_t count(const AttentionPattern& pattern, int64_t sequence, int64_t head, int64_t i,
              int64_t j);
bool is_valid(const AttentionPattern& pattern, int64_t sequence, int64_t position);
bool is_global(const AttentionPattern& pattern, int64_t sequence, int64_t position);

}  // namespace longformer
