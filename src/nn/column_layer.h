// A layer in steps over the whole batch, each cut into ranges of rows and of output columns, for
// texts too short to give every thread row tiles of its own: a thread then reads its share of the
// weights instead of all of them. The bits are those of tile_layer.h.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/encoder_layer.h"
#include "ops/operand.h"

namespace longformer {

class ThreadPool;

class ColumnLayer {
 public:
  // For layers shaped like this one over the rows of `plan`. Buffers are kept from layer to layer.
  void resize(const EncoderLayer& layer, const AttentionPlan& plan, int64_t head_dim, int threads);
  // For finish() of up to `rows` rows alone.
  void resize_for_finish(const EncoderLayer& layer, int64_t head_dim, int64_t rows, int threads);
  // Bytes that resize() takes.
  static size_t bytes_for(const EncoderLayer& layer, const AttentionPlan& plan, int64_t head_dim,
                          int threads);

  // Keys and values of all rows into the planes, then what the rows attend to: attended() [rows,
  // hidden].
  void attend(const EncoderLayer& layer, const LayerContext& context, int64_t head_dim,
              const float* x, const KeyValuePlanes& planes, const float* global_context,
              ThreadPool& pool);
  float* attended() noexcept { return attended_; }

  // The layer's output y of `rows` rows from `attended` and the layer's input x; y may be x.
  void finish(const EncoderLayer& layer, int64_t rows, const float* attended, const float* x,
              float* y, ThreadPool& pool);

 private:
  void take(const EncoderLayer& layer, int64_t head_dim, int64_t rows, int64_t query_rows,
            int threads);

  int threads_ = 1;
  int64_t rows_ = 0;
  Arena arena_;
  QueryPlanes queries_;
  Operand input_;                // rows of the projections
  Operand context_;              // of the attention's output
  Operand half_;                 // of the feed-forward half
  Operand inner_;                // of its second product
  float* normed_ = nullptr;      // [rows, hidden]
  float* attended_ = nullptr;    // [rows, hidden]
  float* half_rows_ = nullptr;   // [rows, hidden]: the layer between its halves
  float* inner_rows_ = nullptr;  // [rows, intermediate], f32 values
  std::vector<float*> sums_;     // per thread
  std::vector<AttentionScratch> attention_;
};

}  // namespace longformer
