#include "kernels/isa.h"

#include <cstdlib>
#include <mutex>
#include <string_view>

#include "kernels/onednn.h"
#include "kernels/rowwise.h"
#include "longformer/error.h"

namespace longformer::kernels {
namespace {

constexpr const char* kVariable = "LONGFORMER_ISA";

struct Level {
  std::string_view name;
  dnnl_cpu_isa_t onednn;
  std::string_view highway;
};

#if defined(__x86_64__)
// Highway's AVX3_DL needs VNNI, and has no bf16 arithmetic.
constexpr Level kLevels[] = {{"avx2", dnnl_cpu_isa_avx2, "AVX2"},
                             {"avx512", dnnl_cpu_isa_avx512_core, "AVX3"},
                             {"avx512_vnni", dnnl_cpu_isa_avx512_core_vnni, "AVX3_DL"},
                             {"avx512_bf16", dnnl_cpu_isa_avx512_core_bf16, "AVX3_DL"}};
constexpr const char* kAllowed = "avx2, avx512, avx512_vnni, avx512_bf16, native";
#else
constexpr Level kLevels[] = {{"native", dnnl_cpu_isa_all, ""}};
constexpr const char* kAllowed = "native";
#endif

void apply(std::string_view value) {
  if (value.empty() || value == "native") return;
  for (const Level& level : kLevels) {
    if (level.name != value) continue;
    if (!limit_target(level.highway)) {
      throw Error(ErrorCode::kInternal, "the SIMD target cannot be limited", kVariable);
    }
    if (dnnl_set_max_cpu_isa(level.onednn) != dnnl_success) {
      throw Error(ErrorCode::kInternal,
                  "the limit came after the first matrix product; set it before any work",
                  kVariable);
    }
    return;
  }
  throw Error(ErrorCode::kInvalidArgument,
              "unknown instruction set; allowed are " + std::string(kAllowed) +
                  ". Set one of them or unset the variable",
              kVariable);
}

std::string onednn_isa_name(dnnl_cpu_isa_t isa) {
  switch (isa) {
    case dnnl_cpu_isa_sse41:
      return "sse41";
    case dnnl_cpu_isa_avx:
      return "avx";
    case dnnl_cpu_isa_avx2:
      return "avx2";
    case dnnl_cpu_isa_avx2_vnni:
      return "avx2_vnni";
    case dnnl_cpu_isa_avx512_core:
      return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl_cpu_isa_avx512_core_amx:
      return "avx512_core_amx";
    default:
      return "isa " + std::to_string(static_cast<int>(isa));
  }
}

}  // namespace

void apply_isa_limit_from_environment() {
  static std::once_flag once;
  // An exception leaves the flag unset, so that a wrong value is reported each time.
  std::call_once(once, [] {
    const char* value = std::getenv(kVariable);
    apply(value == nullptr ? std::string_view() : std::string_view(value));
  });
}

std::string isa_description() {
  apply_isa_limit_from_environment();
  return "oneDNN " + onednn_isa_name(dnnl_get_effective_cpu_isa()) + ", Highway " +
         supported_targets().front();
}

MatrixIsa matrix_isa() {
  static const MatrixIsa isa = [] {
    apply_isa_limit_from_environment();
#if defined(__x86_64__)
    const int effective = dnnl_get_effective_cpu_isa();
    const auto has = [&](int wanted) { return (effective & wanted) == wanted; };
    if (has(dnnl_cpu_isa_avx512_core_bf16)) return MatrixIsa::kAvx512Bf16;
    if (has(dnnl_cpu_isa_avx512_core_vnni)) return MatrixIsa::kAvx512Vnni;
    if (has(dnnl_cpu_isa_avx512_core)) return MatrixIsa::kAvx512;
#endif
    return MatrixIsa::kOther;
  }();
  return isa;
}

}  // namespace longformer::kernels
