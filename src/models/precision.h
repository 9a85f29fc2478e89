// In which arithmetic a model runs: what the caller asked for, on this processor.
// docs/performance.md
// ("Precision") explains the table.
#pragma once

#include <optional>
#include <string_view>

#include "longformer/encoder.h"
#include "tensor/dtype.h"

namespace longformer {

// Of the weights of a linear layer.
struct WeightTypes {
  DType rounded = DType::kF32;     // what they are rounded to: kF32 (not at all), kBF16, kI8
  DType multiplied = DType::kF32;  // what is packed: `rounded`, or kF32 after it
  bool operator==(const WeightTypes&) const = default;
};

struct Precision {
  Compute compute = Compute::kF32;  // what was asked, never kStored
  WeightTypes linear;
  // The second matrix of the feed-forward half, which reads activations: rounding those to 8 bits
  // costs half of all that int8 loses, so under int8 it stays bf16.
  WeightTypes outer;
  // EncoderInfo::computed. The attention follows from it: plane_type() of ops/attention_block.h.
  std::string_view computed = "f32";
};

// What matrix products run at speed (kernels::supports()).
struct Arithmetic {
  bool bf16 = false;
  bool int8 = false;
};
Arithmetic processor_arithmetic();

// stored_int8: the checkpoint holds int8 weights.
Precision choose_precision(Compute asked, bool stored_int8, Arithmetic arithmetic);

// "f32", "bf16", "int8"; kStored has no name.
std::string_view compute_name(Compute compute);
std::optional<Compute> compute_from_name(std::string_view name);

}  // namespace longformer
