// What a model does to a pooled vector: dense layers, layer norms, normalisation, in the order of
// its modules.json. y = act(W x + b) (+ x, or + R x, where the module says so).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/rowwise.h"
#include "ops/weights.h"
#include "tasks/sentence_modules.h"

namespace longformer::tasks {

class VectorHead {
 public:
  VectorHead() = default;
  // `input_size`: numbers of the pooled vector. Throws kInvalidFile for weights that are missing,
  // broken or of another size, kUnsupported naming an activation that is not computed.
  static VectorHead load(const std::vector<HeadModule>& modules, int64_t input_size);

  int64_t input_size() const noexcept { return input_size_; }
  int64_t output_size() const noexcept { return output_size_; }
  bool normalizes() const noexcept;  // vectors have length 1

  // pooled [input_size()] -> out [output_size()].
  void apply(std::span<const float> pooled, std::span<float> out) const;

 private:
  enum class After { kNothing, kSigmoid, kActivation };
  struct Step {
    HeadModule::Kind kind = HeadModule::Kind::kNormalize;
    int64_t rows = 0;  // of the weight: numbers that come out
    int64_t cols = 0;
    Matrix weight;            // [rows, cols]
    std::vector<float> bias;  // [rows]; zeros where the module has none
    After after = After::kNothing;
    kernels::Activation activation = kernels::Activation::kTanh;
    bool residual = false;
    Matrix residual_weight;  // [rows, cols], only where rows != cols
    LayerNorm norm;
  };
  static Step read_dense(const HeadModule& module, int64_t input_size);
  static Step read_norm(const HeadModule& module, int64_t input_size);

  int64_t input_size_ = 0;
  int64_t output_size_ = 0;
  std::vector<Step> steps_;
};

}  // namespace longformer::tasks
