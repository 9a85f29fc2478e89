// In which arithmetic a model runs: what the caller asked for, on this processor.
// docs/performance.md
// ("Precision") explains the table.
#pragma once

#include <optional>
#include <string_view>

#include "longformer/encoder.h"
#include "tensor/dtype.h"

namespace longformer {

struct Precision {
  Compute compute = Compute::kF32;  // what was asked, never kStored
  DType rounded = DType::kF32;      // what weights are rounded to: kF32 (not at all), kBF16, kI8
  DType linear = DType::kF32;       // what linear layers multiply: `rounded`, or kF32 after it
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
