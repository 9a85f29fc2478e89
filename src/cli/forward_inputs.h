// The tensors that `forward` and `gradients` read.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "longformer/encoder.h"
#include "longformer/task_model.h"
#include "tensor/tensor.h"

namespace longformer::cli {

struct InputTensors {
  Shape shape;         // [batch, seq], or [batch, choices, seq]
  EncoderInput input;  // the sequences one after the other

  int64_t length() const { return shape.back(); }
  int64_t sequences() const { return static_cast<int64_t>(input.lengths.size()); }
  std::span<const int64_t> ids(int64_t sequence) const {
    return std::span(input.input_ids)
        .subspan(static_cast<size_t>(sequence * length()), static_cast<size_t>(length()));
  }
};

// Throws kInvalidFile and kInvalidArgument naming the tensor: input_ids is missing, shapes differ,
// a tensor is not of integers, a mask holds something else than 0 and 1; kUnsupported for a tensor
// that is no input. With `labels`, tensors of kLabelNames go there, whatever their shapes.
using LabelTensors = std::map<std::string, Tensor>;
inline constexpr const char* kLabelNames[] = {"labels", "start_positions", "end_positions"};
InputTensors read_inputs(const std::string& path, LabelTensors* labels = nullptr);

// Global tokens as --global says, instead of the file's mask and of the class's default; nothing
// where it says nothing.
void apply_global(const std::string& global, const TaskInfo& info, InputTensors& in);

}  // namespace longformer::cli
