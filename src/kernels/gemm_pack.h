// What stands behind a PackedMatrix, for gemm.cc and gemm_pack.cc.
#pragma once

#include <vector>

#include "kernels/gemm.h"
#include "kernels/onednn.h"

namespace longformer::kernels {

struct PackedMatrix::Impl {
  dnnl::memory memory;  // in linear_weight_layout()
  onednn::Layout layout;
  size_t bytes = 0;  // of memory and of the vectors
  // kI8, one for each output channel.
  std::vector<float> scales;
  std::vector<int32_t> sums;
};

struct LinearAccess {
  using Impl = PackedMatrix::Impl;
  static const Impl* of(const PackedMatrix& matrix) { return matrix.impl_.get(); }
};

}  // namespace longformer::kernels
