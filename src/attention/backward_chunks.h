// How the way back is cut: a chunk is a run of row blocks of one sequence, cut every
// kBackwardQueries rows from the first valid one, as the blocks are. Chunks depend on a sequence
// alone, and masked rows around it change nothing in what they add up, nor in which order.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/backward_tile.h"
#include "attention/plan.h"

namespace longformer {

// What the heads of one group do in one chunk.
struct ChunkGroup {
  std::vector<int32_t> tiles;  // by residue class: those of a class share keys
  std::vector<KeyInterval> intervals;
  int64_t rows = 0;     // of the intervals; none where sums stand in the planes
  int64_t globals = 0;  // rounded up to kGatherAlign
};

struct Chunk {
  size_t sequence = 0;
  int64_t anchor = 0;  // first valid row of the sequence
  size_t first_block = 0;
  size_t end_block = 0;
  bool adds = false;   // any row
  bool whole = false;  // no other of its sequence adds anything
  std::vector<ChunkGroup> groups;
};

// [plan.rows]: whether what comes out of a row has a derivative by the inputs of the tiles. Not
// that of global rows, nor of masked rows that give zero.
std::vector<uint8_t> rows_that_add(const AttentionPlan& plan);

// All chunks, sequence by sequence; adds: rows_that_add().
std::vector<Chunk> backward_chunks(const AttentionPlan& plan, const std::vector<uint8_t>& adds);

}  // namespace longformer
