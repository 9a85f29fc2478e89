// What differs between the releases of oneDNN (2.6 and 3.x), and how its failures become ours.
// Included by gemm.cc, products.* and isa.cc only; nothing else sees the library.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "longformer/error.h"

namespace longformer::kernels::onednn {

inline dnnl::matmul::primitive_desc make_matmul(const dnnl::engine& engine,
                                                const dnnl::memory::desc& source,
                                                const dnnl::memory::desc& weights,
                                                const dnnl::memory::desc& destination,
                                                const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul::primitive_desc(engine, source, weights, destination, attributes);
#else
  return dnnl::matmul::primitive_desc(dnnl::matmul::desc(source, weights, destination), attributes,
                                      engine);
#endif
}

// "brg:avx512_core" in 2.6, "brg_matmul:avx512_core" in 3.x.
inline bool is_brgemm(const std::string& implementation) {
  return implementation.starts_with("brg");
}
inline bool is_jit_gemm(const std::string& implementation) {
  return implementation.starts_with("gemm:jit") || implementation.starts_with("x64:gemm:jit");
}

[[noreturn]] inline void fail(const char* doing, int status, const char* reason = "") {
  throw Error(ErrorCode::kInternal, std::string("oneDNN failed while ") + doing + " (status " +
                                        std::to_string(status) + ") " + reason);
}

inline void check(dnnl_status_t status, const char* doing) {
  if (status != dnnl_success) fail(doing, static_cast<int>(status));
}

// Runs body; an exception of the library becomes Error(kInternal).
template <typename Body>
auto guarded(const char* doing, Body&& body) {
  try {
    return body();
  } catch (const dnnl::error& error) {
    fail(doing, static_cast<int>(error.status), error.what());
  }
}

}  // namespace longformer::kernels::onednn
