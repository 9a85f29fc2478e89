#include "nn/pooler.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/thread_pool.h"

namespace longformer {
namespace {

TEST(Pooler, ReadsTheFirstRowOfEachSequence) {
  ThreadPool pool(2);
  const std::vector<float> weight = {0.5f, -1.0f, 2.0f, 0.25f, 0.0f, 1.0f};  // [3, 2]
  Linear dense;
  pool.run(1, [&](int64_t, int) {
    dense = {kernels::PackedMatrix::pack(weight.data(), 3, 2), {0.1f, -0.2f, 0.3f}};
  });
  const std::vector<float> x = {1, 2, 9, 9, 9, 9, -1, 0.5f};  // rows 0 and 3 start sequences
  const std::vector<float> pooled = pool_first_token(dense, x.data(), 2, {0, 3}, pool);
  const double want[] = {0.5 - 2 + 0.1,    2 + 0.5 - 0.2,    2 + 0.3,
                         -0.5 - 0.5 + 0.1, -2 + 0.125 - 0.2, 0.5 + 0.3};
  ASSERT_EQ(pooled.size(), 6u);
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(pooled[i], std::tanh(want[i]), 1e-6) << i;
  EXPECT_TRUE(pool_first_token(dense, x.data(), 2, {}, pool).empty());
}

}  // namespace
}  // namespace longformer
