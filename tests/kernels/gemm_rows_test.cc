// gemm.h's promise that a row's bits depend on nothing but the row and the second operand.
// LONGFORMER_ISA=avx2 runs the same tests on the row-blocked path.
#include <gtest/gtest.h>

#include "kernels/gemm.h"
#include "kernels/gemm_operands.h"

namespace longformer::kernels {
namespace {

const Shape kWeightShapes[] = {{384, 384},  {1536, 384}, {384, 1536}, {768, 768}, {3072, 768},
                               {768, 3072}, {96, 40},    {64, 17},    {40, 96},   {17, 64},
                               {1, 1},      {5, 3},      {33, 7},     {1, 384},   {2, 768},
                               {130, 257},  {36, 36},    {100, 100}};

// Every row count of `counts` gives the first rows of `base`, and rows started elsewhere give
// theirs.
void expect_row_independence(Kind kind, DType type, int64_t n, int64_t k,
                             const std::vector<int64_t>& counts) {
  const int64_t most = 160;
  SCOPED_TRACE(trace_of(kind, type, most, n, k));
  const bool transposed = kind == Kind::kLinear || kind == Kind::kTransposed;
  const Operand a = random_operand(row_type(type), most, k, 4);
  const Operand b = random_operand(type, transposed ? n : k, transposed ? k : n, 5);
  const Operand start = random_operand(DType::kF32, most, n, 6);
  const PackedMatrix packed = kind == Kind::kLinear ? pack(b) : PackedMatrix();
  const auto run = [&](int64_t first, int64_t m, int32_t* c) {
    if (kind == Kind::kPlainAdd) {
      std::memcpy(c, start.row(first), sizeof(float) * static_cast<size_t>(m * n));
    }
    product(kind, a, first, m, b, packed, c);
  };
  Result base(static_cast<size_t>(most * n)), c(base.size());
  run(0, 128, base.data());
  run(128, 32, base.data() + 128 * n);
  for (const int64_t m : counts) {
    run(0, m, c.data());
    ASSERT_TRUE(same_bits(c.data(), base.data(), m * n)) << m << " rows from row 0";
    if (n * k > 1'000'000 && m % 8 != 5) continue;  // for time
    run(most - m, m, c.data());
    ASSERT_TRUE(same_bits(c.data(), base.data() + (most - m) * n, m * n)) << m << " last rows";
  }
  for (int64_t r = 0; r<most; r += n * k> 100'000 ? 7 : 1) {
    run(r, 1, c.data());
    ASSERT_TRUE(same_bits(c.data(), base.data() + r * n, n)) << "row " << r << " alone";
  }
}

class GemmRows : public ::testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (!supports(GetParam())) GTEST_SKIP() << "no products of " << dtype_name(GetParam());
  }
};

TEST_P(GemmRows, LinearRowsDoNotDependOnTheOtherRows) {
  std::vector<int64_t> all;
  for (int64_t m = 1; m <= 160; ++m) all.push_back(m);
  for (const auto& [out, in] : kWeightShapes) {
    expect_row_independence(Kind::kLinear, GetParam(), out, in, all);
  }
}

TEST_P(GemmRows, AttentionRowsDoNotDependOnTheOtherRows) {
  if (GetParam() == DType::kI8) GTEST_SKIP() << "attention has no int8 products";
  const std::vector<int64_t> counts = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 48, 56, 64, 104, 128};
  for (const int64_t head_dim : {8, 16, 32, 64, 80, 96, 128, 1, 7, 33}) {
    for (const int64_t keys : {32, 96, 544, 576, 2048, 37}) {
      expect_row_independence(Kind::kTransposed, GetParam(), keys, head_dim, counts);
      expect_row_independence(Kind::kPlain, GetParam(), head_dim, keys, counts);
      if (keys < 600) {
        expect_row_independence(Kind::kPlainAdd, GetParam(), head_dim, keys, counts);
      }
    }
  }
}

TEST_P(GemmRows, SpansInStepsOf32DoNotDependOnTheOtherRows) {
  if (GetParam() == DType::kI8) GTEST_SKIP() << "attention has no int8 products";
  for (int64_t keys = 32; keys <= 1056; keys += 32) {
    expect_row_independence(Kind::kTransposed, GetParam(), keys, 64, {1, 24, 32, 64});
    expect_row_independence(Kind::kPlain, GetParam(), 64, keys, {1, 24, 32, 64});
  }
}

INSTANTIATE_TEST_SUITE_P(Types, GemmRows, ::testing::ValuesIn(kWeightTypes),
                         [](const auto& type) { return std::string(dtype_name(type.param)); });

}  // namespace
}  // namespace longformer::kernels
