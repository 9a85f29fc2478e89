#include "nn/pooler.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/thread_pool.h"

namespace longformer {
namespace {

TEST(Pooler, ReadsTheFirstRowOfEachSequence) {
  ThreadPool pool(2);
  const std::vector<float> weight = {0.5f, -1.0f, 2.0f, 0.25f};  // [2, 2]
  StateTransform dense;
  pool.run(1, [&](int64_t, int) {
    dense.dense = {kernels::PackedMatrix::pack(weight.data(), 2, 2), {0.1f, -0.2f}};
  });
  const std::vector<float> x = {1, 2, 9, 9, 9, 9, -1, 0.5f};  // rows 0 and 3 start sequences
  const std::vector<float> pooled = pool_first_token(dense, x.data(), 2, {0, 3}, pool);
  const double want[] = {0.5 - 2 + 0.1, 2 + 0.5 - 0.2, -0.5 - 0.5 + 0.1, -2 + 0.125 - 0.2};
  ASSERT_EQ(pooled.size(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(pooled[i], std::tanh(want[i]), 1e-6) << i;
  EXPECT_TRUE(pool_first_token(dense, x.data(), 2, {}, pool).empty());
}

}  // namespace
}  // namespace longformer
