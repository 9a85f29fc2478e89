// What is trained: tensors by the names that a checkpoint gives them, in f32, each with its
// gradient. Operations read values and add to gradients; optimizers read gradients and change
// values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace longformer {

class ThreadPool;

struct ParameterSpec {
  std::string name;
  Shape shape;
  bool decays = true;  // under weight decay; biases and the weights of norms do not
};

struct Parameter {
  ParameterSpec spec;
  int64_t elements = 0;
  float* value = nullptr;     // [elements], 64-byte aligned
  float* gradient = nullptr;  // the same; null: frozen, nothing is added and nothing changes
  bool frozen() const noexcept { return gradient == nullptr; }
};

class ParameterSet {
 public:
  // Values are zeros; no gradients yet, so everything is frozen. Throws kInvalidArgument for a name
  // that stands twice.
  explicit ParameterSet(std::vector<ParameterSpec> specs);
  ParameterSet(ParameterSet&&) noexcept;
  ParameterSet& operator=(ParameterSet&&) noexcept;
  ~ParameterSet();

  // In the order of the specs.
  std::span<Parameter> all() noexcept { return parameters_; }
  std::span<const Parameter> all() const noexcept { return parameters_; }
  bool has(std::string_view name) const { return index_.find(name) != index_.end(); }
  // Throws kInternal for an unknown name.
  Parameter& at(std::string_view name);
  const Parameter& at(std::string_view name) const;
  // The value as a tensor that shares its memory and keeps it alive.
  Tensor view(std::string_view name) const;

  // Gives the parameter a gradient of zeros, or takes it away.
  void train(std::string_view name);
  void freeze(std::string_view name);
  void clear_gradients(ThreadPool& pool);

  int64_t elements() const noexcept;          // of all
  int64_t trained_elements() const noexcept;  // of those that are not frozen

 private:
  struct Memory;
  std::vector<Parameter> parameters_;
  std::map<std::string, size_t, std::less<>> index_;
  std::vector<std::shared_ptr<Memory>> values_, gradients_;
};

}  // namespace longformer
