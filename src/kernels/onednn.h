// What differs between the releases of oneDNN (2.6 and 3.x), and how its failures become ours.
// Included by gemm.cc, products.* and isa.cc only; nothing else sees the library.
#pragma once

#include <cstdint>
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

// Where the elements of a blocked two-dimensional layout stand.
struct Layout {
  dnnl::memory::dims strides, padded, inner_blocks, inner_dims;

  Layout() = default;
  explicit Layout(const dnnl::memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
    strides = desc.get_strides();
    padded = desc.get_padded_dims();
    inner_blocks = desc.get_inner_blks();
    inner_dims = desc.get_inner_idxs();
#else
    const dnnl_blocking_desc_t& blocking = desc.data.format_desc.blocking;
    strides.assign(blocking.strides, blocking.strides + desc.data.ndims);
    padded.assign(desc.data.padded_dims, desc.data.padded_dims + desc.data.ndims);
    inner_blocks.assign(blocking.inner_blks, blocking.inner_blks + blocking.inner_nblks);
    inner_dims.assign(blocking.inner_idxs, blocking.inner_idxs + blocking.inner_nblks);
#endif
  }
  // Columns that lie together.
  int64_t column_block() const {
    int64_t columns = 1;
    for (size_t i = 0; i < inner_blocks.size(); ++i) {
      if (inner_dims[i] == 1) columns *= inner_blocks[i];
    }
    return columns;
  }
  // Whether a matrix of some of this one's columns has the blocks that are here already.
  bool contains(const Layout& part) const {
    return strides == part.strides && padded[0] == part.padded[0] &&
           inner_blocks == part.inner_blocks && inner_dims == part.inner_dims;
  }
};

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
