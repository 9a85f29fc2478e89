// What changes parameters: AdamW, Adafactor, SGD, each as the reference implementation computes it.
// Everything is f32; the bits do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "io/checkpoint/safetensors.h"
#include "nn/parameters.h"

namespace longformer::train {

enum class OptimizerKind { kAdamW, kAdafactor, kSgd };

struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::kAdamW;
  double weight_decay = 0;                            // of parameters that decay
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // AdamW
  double momentum = 0;                                // SGD
};

struct StepRates {
  double learning_rate = 0;
  double gradient_scale = 1;  // gradients count this many times: clipping without a pass of its own
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // One step for every parameter that is not frozen.
  void step(ParameterSet& parameters, const StepRates& rates, ThreadPool& pool);
  int64_t steps() const noexcept { return steps_; }

  // What it remembers, by the parameter's name and its own ("x.exp_avg"): views, not copies.
  std::vector<io::NamedTensor> state() const;
  int64_t state_elements() const noexcept;
  // Throws kInvalidFile with `place` where names or shapes are not those of state().
  void restore(const std::vector<io::NamedTensor>& state, int64_t steps, const std::string& place);

 protected:
  class Floats;
  // Zeros of this shape, kept under "PARAMETER.WHAT".
  float* add_state(const Parameter& parameter, std::string_view what, const Shape& shape);
  virtual void update(ParameterSet& parameters, const StepRates& rates, ThreadPool& pool) = 0;

 private:
  struct State {
    Shape shape;
    std::shared_ptr<Floats> values;
  };
  std::map<std::string, State> state_;
  int64_t steps_ = 0;
};

// For the parameters that are not frozen now; others may not be trained with it later.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerSettings& settings,
                                          const ParameterSet& parameters);

// make_optimizer() of one kind each.
std::unique_ptr<Optimizer> make_adamw(const OptimizerSettings& settings,
                                      const ParameterSet& parameters);
std::unique_ptr<Optimizer> make_adafactor(const OptimizerSettings& settings,
                                          const ParameterSet& parameters);
std::unique_ptr<Optimizer> make_sgd(const OptimizerSettings& settings,
                                    const ParameterSet& parameters);

}  // namespace longformer::train
