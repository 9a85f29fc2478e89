// Optimizers that treat each number by itself.
//
// AdamW (Loshchilov and Hutter 2019), as torch.optim.AdamW, t the number of the step from 1:
//   w *= 1 - lr decay;  m += (1 - b1)(g - m);  v = b2 v + (1 - b2) g²
//   w -= lr / (1 - b1^t) · m / (sqrt(v) / sqrt(1 - b2^t) + eps)
// SGD, as torch.optim.SGD:  g += decay w;  b = momentum b + g;  w -= lr b
#include <cmath>

#include "longformer/error.h"
#include "train/optimizer.h"
#include "train/pieces.h"

namespace longformer::train {
namespace {

struct Slot {
  float* first = nullptr;   // m, or b
  float* second = nullptr;  // v
};

const Slot& slot_of(const std::vector<Slot>& slots, size_t parameter, const Parameter& of) {
  if (slots.at(parameter).first == nullptr) {
    throw Error(ErrorCode::kInternal, "parameter \"" + of.spec.name +
                                          "\" is trained, but was frozen when the optimizer began");
  }
  return slots[parameter];
}

class AdamW final : public Optimizer {
 public:
  AdamW(const OptimizerSettings& settings, const ParameterSet& parameters) : settings_(settings) {
    for (const Parameter& parameter : parameters.all()) {
      Slot& slot = slots_.emplace_back();
      if (parameter.frozen()) continue;
      slot.first = add_state(parameter, "exp_avg", parameter.spec.shape);
      slot.second = add_state(parameter, "exp_avg_sq", parameter.spec.shape);
    }
  }

 private:
  struct Factors {
    float scale, keep, beta2, rest1, rest2, rate, root, epsilon;
  };

  Factors factors(const StepRates& rates, double weight_decay) const {
    const auto t = static_cast<double>(steps());
    const double correction1 = 1 - std::pow(settings_.beta1, t);
    const double correction2 = 1 - std::pow(settings_.beta2, t);
    return {.scale = static_cast<float>(rates.gradient_scale),
            .keep = static_cast<float>(1 - rates.learning_rate * weight_decay),
            .beta2 = static_cast<float>(settings_.beta2),
            .rest1 = static_cast<float>(1 - settings_.beta1),
            .rest2 = static_cast<float>(1 - settings_.beta2),
            .rate = static_cast<float>(rates.learning_rate / correction1),
            .root = static_cast<float>(std::sqrt(correction2)),
            .epsilon = static_cast<float>(settings_.epsilon)};
  }

  static void update_piece(const Factors& f, int64_t count, const float* __restrict gradient,
                           float* __restrict m, float* __restrict v, float* __restrict w) noexcept {
    for (int64_t i = 0; i < count; ++i) {
      const float g = gradient[i] * f.scale;
      m[i] += f.rest1 * (g - m[i]);
      v[i] = v[i] * f.beta2 + f.rest2 * g * g;
      w[i] = w[i] * f.keep - f.rate * m[i] / (std::sqrt(v[i]) / f.root + f.epsilon);
    }
  }

  void update(ParameterSet& parameters, const StepRates& rates, ThreadPool& pool) override {
    const Factors decaying = factors(rates, settings_.weight_decay), plain = factors(rates, 0);
    const std::vector<Piece> pieces = trained_pieces(parameters);
    pool.run(static_cast<int64_t>(pieces.size()), [&](int64_t i, int) {
      const Piece& piece = pieces[static_cast<size_t>(i)];
      const Parameter& parameter = parameters.all()[piece.parameter];
      const Slot& slot = slot_of(slots_, piece.parameter, parameter);
      update_piece(parameter.spec.decays ? decaying : plain, piece.count,
                   parameter.gradient + piece.first, slot.first + piece.first,
                   slot.second + piece.first, parameter.value + piece.first);
    });
  }

  OptimizerSettings settings_;
  std::vector<Slot> slots_;
};

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerSettings& settings, const ParameterSet& parameters) : settings_(settings) {
    if (settings.momentum == 0) return;
    for (const Parameter& parameter : parameters.all()) {
      Slot& slot = slots_.emplace_back();
      if (!parameter.frozen()) {
        slot.first = add_state(parameter, "momentum_buffer", parameter.spec.shape);
      }
    }
  }

 private:
  void update(ParameterSet& parameters, const StepRates& rates, ThreadPool& pool) override {
    const auto scale = static_cast<float>(rates.gradient_scale);
    const auto rate = static_cast<float>(rates.learning_rate);
    const auto momentum = static_cast<float>(settings_.momentum);
    const std::vector<Piece> pieces = trained_pieces(parameters);
    pool.run(static_cast<int64_t>(pieces.size()), [&](int64_t i, int) {
      const Piece& piece = pieces[static_cast<size_t>(i)];
      const Parameter& parameter = parameters.all()[piece.parameter];
      const auto decay = static_cast<float>(parameter.spec.decays ? settings_.weight_decay : 0.0);
      float* const w = parameter.value + piece.first;
      const float* const g = parameter.gradient + piece.first;
      float* const b = slots_.empty()
                           ? nullptr
                           : slot_of(slots_, piece.parameter, parameter).first + piece.first;
      for (int64_t j = 0; j < piece.count; ++j) {
        float change = g[j] * scale + decay * w[j];
        if (b != nullptr) change = b[j] = momentum * b[j] + change;
        w[j] -= rate * change;
      }
    });
  }

  OptimizerSettings settings_;
  std::vector<Slot> slots_;  // empty without momentum
};

}  // namespace

std::unique_ptr<Optimizer> make_adamw(const OptimizerSettings& settings,
                                      const ParameterSet& parameters) {
  return std::make_unique<AdamW>(settings, parameters);
}

std::unique_ptr<Optimizer> make_sgd(const OptimizerSettings& settings,
                                    const ParameterSet& parameters) {
  return std::make_unique<Sgd>(settings, parameters);
}

}  // namespace longformer::train
