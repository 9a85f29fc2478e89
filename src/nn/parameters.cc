#include "nn/parameters.h"

#include <algorithm>
#include <utility>

#include "base/thread_pool.h"
#include "longformer/error.h"
#include "tensor/arena.h"

namespace longformer {
namespace {

constexpr int64_t kElementsPerTask = 1 << 20;

}  // namespace

struct ParameterSet::Memory final : Storage {
  explicit Memory(int64_t elements) : count(static_cast<size_t>(elements)) {
    arena.reset(Arena::bytes_for(elements));
    data = arena.floats(elements);
    std::fill_n(data, elements, 0.0f);
  }
  std::span<const std::byte> bytes() const noexcept override {
    return std::as_bytes(std::span(data, count));
  }
  Arena arena;
  float* data = nullptr;
  size_t count = 0;
};

ParameterSet::ParameterSet(std::vector<ParameterSpec> specs) {
  parameters_.reserve(specs.size());
  gradients_.resize(specs.size());
  for (ParameterSpec& spec : specs) {
    if (!index_.emplace(spec.name, parameters_.size()).second) {
      throw Error(ErrorCode::kInvalidArgument, "parameter \"" + spec.name + "\" stands twice");
    }
    const int64_t elements = element_count(spec.shape);
    values_.push_back(std::make_shared<Memory>(elements));
    parameters_.push_back({std::move(spec), elements, values_.back()->data, nullptr});
  }
}

ParameterSet::ParameterSet(ParameterSet&&) noexcept = default;
ParameterSet& ParameterSet::operator=(ParameterSet&&) noexcept = default;
ParameterSet::~ParameterSet() = default;

const Parameter& ParameterSet::at(std::string_view name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) {
    throw Error(ErrorCode::kInternal, "no parameter is called \"" + std::string(name) + "\"");
  }
  return parameters_[found->second];
}

Parameter& ParameterSet::at(std::string_view name) {
  return const_cast<Parameter&>(std::as_const(*this).at(name));
}

Tensor ParameterSet::view(std::string_view name) const {
  const Parameter& parameter = at(name);
  const auto index = static_cast<size_t>(&parameter - parameters_.data());
  return {DType::kF32, parameter.spec.shape, values_[index], 0};
}

void ParameterSet::train(std::string_view name) {
  Parameter& parameter = at(name);
  if (!parameter.frozen()) return;
  const auto index = static_cast<size_t>(&parameter - parameters_.data());
  gradients_[index] = std::make_shared<Memory>(parameter.elements);
  parameter.gradient = gradients_[index]->data;
}

void ParameterSet::freeze(std::string_view name) {
  Parameter& parameter = at(name);
  gradients_[static_cast<size_t>(&parameter - parameters_.data())].reset();
  parameter.gradient = nullptr;
}

void ParameterSet::clear_gradients(ThreadPool& pool) {
  struct Piece {
    float* first;
    int64_t count;
  };
  std::vector<Piece> pieces;
  for (const Parameter& parameter : parameters_) {
    if (parameter.frozen()) continue;
    for (int64_t first = 0; first < parameter.elements; first += kElementsPerTask) {
      pieces.push_back(
          {parameter.gradient + first, std::min(kElementsPerTask, parameter.elements - first)});
    }
  }
  pool.run(static_cast<int64_t>(pieces.size()), [&](int64_t i, int) {
    std::fill_n(pieces[static_cast<size_t>(i)].first, pieces[static_cast<size_t>(i)].count, 0.0f);
  });
}

int64_t ParameterSet::elements() const noexcept {
  int64_t sum = 0;
  for (const Parameter& parameter : parameters_) sum += parameter.elements;
  return sum;
}

int64_t ParameterSet::trained_elements() const noexcept {
  int64_t sum = 0;
  for (const Parameter& parameter : parameters_) sum += parameter.frozen() ? 0 : parameter.elements;
  return sum;
}

}  // namespace longformer
