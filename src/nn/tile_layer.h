// A layer over row tiles that stay in the cache, for texts that give every thread tiles of its own:
//   pass A  tile_keys_values() of all tiles
//   pass B  tile_attend() and tile_finish() of a tile, one after the other
// with a barrier between them, because a tile reads keys of its neighbours. A pre-norm tile is
// normalised in both passes: twice a row's norm is less than a buffer of all rows would cost.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nn/encoder_layer.h"
#include "nn/layer_record.h"
#include "ops/operand.h"

namespace longformer {

// Working memory of one thread.
class TileScratch {
 public:
  // For these tiles of the plan, and for ranges of up to `rows` rows that do not attend.
  void resize(const EncoderLayer& layer, const AttentionPlan& plan, int64_t head_dim,
              std::span<const RowTile> tiles, int64_t rows = 0);
  // Bytes that resize() takes.
  static size_t bytes_for(const EncoderLayer& layer, const AttentionPlan& plan, int64_t head_dim,
                          std::span<const RowTile> tiles, int64_t rows = 0);

  Operand input;                   // [rows, hidden], of the projections
  Operand context;                 // [rows, hidden], of the attention's output
  Operand attended;                // [rows, hidden], of the feed-forward half
  Operand inner;                   // [kFeedForwardRows, intermediate]
  float* sums = nullptr;           // [rows, hidden]
  float* inner_sums = nullptr;     // [kFeedForwardRows, columns in front of the activation]
  float* context_rows = nullptr;   // [rows, hidden]
  float* attended_rows = nullptr;  // [rows, hidden]
  QueryPlanes queries;
  AttentionScratch attention;

 private:
  Arena arena_;
};

// Rows of the feed-forward half that are computed together: what keeps the intermediate rows in the
// second-level cache.
inline constexpr int64_t kFeedForwardRows = 128;

// x: [rows of the batch, hidden], the layer's input.
void tile_keys_values(const EncoderLayer& layer, const LayerContext& context, int64_t head_dim,
                      const float* x, RowRange rows, const KeyValuePlanes& planes,
                      TileScratch& scratch);
// What the rows of the tile attend to, [tile rows, hidden]. With a record, queries and logsumexp
// stay in it, and its dropout applies.
void tile_attend(const EncoderLayer& layer, const LayerContext& context, int64_t head_dim,
                 const float* x, const RowTile& tile, const KeyValuePlanes& planes,
                 const float* global_context, float* attended, TileScratch& scratch,
                 const LayerRecord* record = nullptr);
// The layer's output y from that and the layer's input x, [rows, hidden] each; y may be x.
// `record` and the row of the batch that these begin with: as above, for the sums in front of
// norms.
void tile_finish(const EncoderLayer& layer, int64_t rows, const float* attended, const float* x,
                 float* y, TileScratch& scratch, const LayerRecord* record = nullptr,
                 int64_t first_row = 0);

}  // namespace longformer
