// A stack of encoder layers over one long sequence, in memory that does not grow with it. Where
// every layer has a window, a row of layer l needs rows of layer l - 1 within the window's reach
// only, so rows go through the layers as a wavefront: each layer keeps a slice of the sequence, its
// input rows, keys and values, and moves it on. The bits are those of run_encoder(): slices begin
// at multiples of the row blocks, and a tile is computed only where the slice shows it the keys
// that the whole sequence would.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "nn/encoder_layer.h"
#include "nn/tile_layer.h"
#include "tensor/arena.h"

namespace longformer {

class ThreadPool;

// What the layers of a stream are computed with.
struct StreamSettings {
  int64_t rows = 0;                // of the sequence
  AttentionPattern pattern;        // heads and kind of masked queries; one sequence without globals
  std::vector<Window> windows;     // per layer
  std::vector<int64_t> dilations;  // per layer
  int64_t head_dim = 0;
};

class EncoderStream {
 public:
  // Gets rows of the last layer, in order: the first of them and [rows, hidden].
  using Sink = std::function<void(int64_t first, std::span<const float> states)>;

  EncoderStream(const std::vector<EncoderLayer>& layers, const StreamSettings& settings,
                ThreadPool& pool);
  ~EncoderStream();

  // Rows that push() takes at most.
  int64_t step_rows() const noexcept { return step_rows_; }
  // The next embedded rows [count, hidden]; whatever can be computed then goes to the sink. With
  // the last row of the sequence all of it has.
  void push(int64_t count, const float* x, const Sink& sink);

  // Bytes that a stream of these layers takes.
  static int64_t bytes_for(const std::vector<EncoderLayer>& layers, const StreamSettings& settings,
                           int threads);

 private:
  struct Layer;

  const AttentionPlan* plan_of(size_t layer, int64_t length);
  void make_room(size_t layer, int64_t count);
  void move_slice(Layer& layer, int64_t base, const AttentionPlan* plan);
  void advance(size_t layer, int64_t added, const Sink& sink);
  bool complete(size_t layer, const Sink& sink);
  std::vector<uint8_t> ready_blocks(const Layer& layer, int64_t& end) const;
  void resize_scratch(const Layer& layer, std::span<const RowTile> tiles);

  const StreamSettings settings_;
  ThreadPool& pool_;
  int64_t hidden_ = 0;
  int64_t step_rows_ = 0;
  std::vector<Layer> layers_;
  std::vector<TileScratch> scratch_;  // one a thread
  std::vector<float> out_;            // rows of the last layer
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, std::unique_ptr<AttentionPlan>> plans_;
};

}  // namespace longformer
