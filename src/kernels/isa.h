// The instruction sets that the kernels may use, limited by LONGFORMER_ISA.
#pragma once

#include <string>

namespace longformer::kernels {

// Reads LONGFORMER_ISA and limits oneDNN and Highway to it: avx2; avx512, without dot products of
// integers and of bf16; avx512_vnni, with those of integers; avx512_bf16, with both; or native, the
// same as absent; on a processor that has less, nothing changes. Another value throws
// kInvalidArgument naming the variable and the allowed values. Call at start, before the first
// kernel; later calls do nothing (products call it too, in case nobody did).
void apply_isa_limit_from_environment();

// What the kernels use now, e.g. "oneDNN avx512_core_bf16, Highway AVX3". Calls
// apply_isa_limit_from_environment().
std::string isa_description();

// What matrix products may use, each with all before it.
enum class MatrixIsa { kOther, kAvx512, kAvx512Vnni, kAvx512Bf16 };
MatrixIsa matrix_isa();

}  // namespace longformer::kernels
