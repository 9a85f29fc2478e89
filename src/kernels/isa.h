// The instruction sets that the kernels may use, limited by LONGFORMER_ISA.
#pragma once

#include <string>

namespace longformer::kernels {

// Reads LONGFORMER_ISA: avx2, avx512, avx512_bf16 or native (the same as absent), and limits oneDNN
// and Highway to it; on a processor that has less, nothing changes. Another value throws
// kInvalidArgument naming the variable and the allowed values. Call at start, before the first
// kernel; later calls do nothing (products call it too, in case nobody did).
void apply_isa_limit_from_environment();

// What the kernels use now, e.g. "oneDNN avx512_core_bf16, Highway AVX3". Calls
// apply_isa_limit_from_environment().
std::string isa_description();

}  // namespace longformer::kernels
