// A stack of encoder layers in training: forward with records, then back. The tape of the project:
// models are a stack between embeddings and a head, so what is recorded is a list of layers.
// run_encoder() (encoder_stack.h) is the same stack without a record, with the same bits.
//
// Memory: the input of each layer, and its record; with checkpointing one record, filled again by a
// second forward pass of the layer when the way back reaches it. Gradients are the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "nn/layer_backward.h"
#include "nn/layer_record.h"
#include "nn/tile_layer.h"

namespace longformer {

class ThreadPool;

enum class Activations { kKept, kCheckpointed };

enum class Direction { kForward, kBackward };

// Who looks at the rows between layers: [rows, hidden], the output of layer l on the way forward,
// the derivative by its input on the way back. Called on the thread that runs the step.
using StepObserver = std::function<void(Direction direction, int64_t layer, const float* rows)>;

// One step's stack. What it refers to must outlive the step.
struct StackStep {
  // Layer l with weights packed from the values of now; called on pool threads, more than once.
  std::function<EncoderLayer(int64_t layer)> layer;
  std::span<const LayerContext> contexts;      // one a layer
  std::span<const TrainedLayer> trained;       // one a layer
  std::span<const LayerDropout> dropout = {};  // one a layer; empty: none
  int64_t head_dim = 0;
  // Layers below this one need no derivatives, nor does anything below them: backward() ends there.
  int64_t lowest = 0;
  Activations activations = Activations::kKept;
  StepObserver observer = {};  // empty: nobody looks
};

class StackTraining {
 public:
  // Makes room for the embeddings of a batch, [rows, hidden], which the caller fills in.
  float* begin(int64_t layers, int64_t rows, int64_t hidden);
  // The output of the last layer, [rows, hidden].
  const float* forward(const StackStep& step, ThreadPool& pool);
  // After forward() of the same step: d [rows, hidden], by the last layer's output, becomes the
  // derivative by the input of step.lowest.
  void backward(const StackStep& step, float* d, ThreadPool& pool);

  // About the bytes that a step takes beside weights and their derivatives.
  static uint64_t bytes_for(const EncoderLayer& layer, std::span<const AttentionPlan* const> plans,
                            int64_t head_dim, Activations activations, int threads);

 private:
  void pack(const StackStep& step, int64_t first, int64_t count, ThreadPool& pool);
  void run_layer(const StackStep& step, int64_t layer, LayerRecord& record, GlobalRecord& global,
                 ThreadPool& pool);

  int64_t layers_ = 0;
  int64_t rows_ = 0;
  int64_t hidden_ = 0;
  Arena inputs_;
  std::vector<float*> x_;             // layers + 1 times [rows, hidden]
  std::vector<EncoderLayer> packed_;  // of all layers; empty ones are not packed at the moment
  std::vector<LayerRecord> records_;  // one a layer, or one
  std::vector<GlobalRecord> globals_;
  std::vector<TileScratch> tiles_;  // one a thread
  GlobalAttention global_;
  LayerBackwardWorkspace backward_;
};

}  // namespace longformer
