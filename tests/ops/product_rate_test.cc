#include "ops/product_rate.h"

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "kernels/gemm.h"

namespace longformer {
namespace {

TEST(ProductRate, IsThatOfAProcessorWhereTheTypeIsMultiplied) {
  ThreadPool pool(2);
  for (const DType type : {DType::kF32, DType::kBF16, DType::kI8}) {
    const double rate = product_rate(type, pool, 2);
    if (!kernels::supports(type)) {
      EXPECT_EQ(rate, 0.0);
      continue;
    }
    // Slower under sanitizers, never faster than a core of any processor.
    EXPECT_GT(rate, 0.05) << dtype_name(type);
    EXPECT_LT(rate, 1e6) << dtype_name(type);
  }
  EXPECT_EQ(product_rate(DType::kU32, pool, 1), 0.0);
}

}  // namespace
}  // namespace longformer
