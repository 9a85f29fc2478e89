#include "train/optimizer.h"

#include <cstring>
#include <span>
#include <utility>

#include "longformer/error.h"

namespace longformer::train {

class Optimizer::Floats final : public Storage {
 public:
  explicit Floats(int64_t count) : values(static_cast<size_t>(count), 0.0f) {}
  std::span<const std::byte> bytes() const noexcept override {
    return std::as_bytes(std::span(values));
  }
  std::vector<float> values;
};

void Optimizer::step(ParameterSet& parameters, const StepRates& rates, ThreadPool& pool) {
  ++steps_;
  update(parameters, rates, pool);
}

float* Optimizer::add_state(const Parameter& parameter, std::string_view what, const Shape& shape) {
  auto values = std::make_shared<Floats>(element_count(shape));
  float* const first = values->values.data();
  state_[parameter.spec.name + "." + std::string(what)] = {shape, std::move(values)};
  return first;
}

std::vector<io::NamedTensor> Optimizer::state() const {
  std::vector<io::NamedTensor> tensors;
  for (const auto& [name, state] : state_) {
    tensors.push_back({name, {DType::kF32, state.shape, state.values, 0}});
  }
  return tensors;
}

int64_t Optimizer::state_elements() const noexcept {
  int64_t sum = 0;
  for (const auto& [name, state] : state_) sum += static_cast<int64_t>(state.values->values.size());
  return sum;
}

void Optimizer::restore(const std::vector<io::NamedTensor>& state, int64_t steps,
                        const std::string& place) {
  if (state.size() != state_.size()) {
    throw Error(ErrorCode::kInvalidFile,
                "holds " + std::to_string(state.size()) + " tensors of an optimizer, and " +
                    std::to_string(state_.size()) +
                    " are needed; continue with the same optimizer and the same trained parameters",
                place);
  }
  for (const io::NamedTensor& item : state) {
    const auto found = state_.find(item.name);
    if (found == state_.end() || found->second.shape != item.tensor.shape ||
        item.tensor.dtype != DType::kF32) {
      throw Error(ErrorCode::kInvalidFile,
                  "tensor \"" + item.name + "\" of shape " + to_string(item.tensor.shape) +
                      " does not belong to this optimizer and model",
                  place);
    }
  }
  for (const io::NamedTensor& item : state) {
    to_f32(item.tensor, state_.at(item.name).values->values);
  }
  steps_ = steps;
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSettings& settings,
                                          const ParameterSet& parameters) {
  switch (settings.kind) {
    case OptimizerKind::kAdamW:
      return make_adamw(settings, parameters);
    case OptimizerKind::kAdafactor:
      return make_adafactor(settings, parameters);
    case OptimizerKind::kSgd:
      return make_sgd(settings, parameters);
  }
  throw Error(ErrorCode::kInternal, "no such optimizer");
}

}  // namespace longformer::train
