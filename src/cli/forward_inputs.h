// The tensors that `forward` reads.
#pragma once

#include <cstdint>
#include <string>

#include "longformer/encoder.h"
#include "tensor/tensor.h"

namespace longformer::cli {

struct InputTensors {
  Shape shape;         // [batch, seq], or [batch, choices, seq]
  EncoderInput input;  // the sequences one after the other

  int64_t length() const { return shape.back(); }
  int64_t sequences() const { return static_cast<int64_t>(input.lengths.size()); }
};

// Throws kInvalidFile and kInvalidArgument naming the tensor: input_ids is missing, shapes differ,
// a tensor is not of integers, a mask holds something else than 0 and 1; kUnsupported for a tensor
// that is no input.
InputTensors read_inputs(const std::string& path);

}  // namespace longformer::cli
