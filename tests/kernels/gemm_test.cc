// gemm.h: values against double precision, and the promise that a row's bits depend on nothing but
// the row and the second operand. LONGFORMER_ISA=avx2 runs the same tests on the row-blocked path.
#include "kernels/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kernels/isa.h"
#include "kernels/products.h"
#include "longformer/error.h"

namespace longformer::kernels {
namespace {

using Matrix = std::vector<float>;

Matrix random_matrix(int64_t rows, int64_t cols, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Matrix values(static_cast<size_t>(rows * cols));
  for (float& value : values) value = normal(generator);
  return values;
}

bool same_bits(const float* a, const float* b, int64_t count) {
  return std::memcmp(a, b, sizeof(float) * static_cast<size_t>(count)) == 0;
}

struct Shape {
  int64_t out, in;
};
const Shape kWeightShapes[] = {{384, 384},  {1536, 384}, {384, 1536}, {768, 768},
                               {3072, 768}, {768, 3072}, {96, 40},    {64, 17},
                               {40, 96},    {17, 64},    {1, 1},      {5, 3},
                               {33, 7},     {1, 384},    {2, 768},    {130, 257}};

enum class Kind { kLinear, kTransposed, kPlain, kPlainAdd };

// b is [n, k] for kLinear and kTransposed, [k, n] otherwise.
void product(Kind kind, int64_t m, int64_t n, int64_t k, const float* a, const Matrix& b,
             const PackedMatrix& packed, float* c) {
  switch (kind) {
    case Kind::kLinear:
      return linear(a, m, packed, c);
    case Kind::kTransposed:
      return matmul_nt(m, n, k, a, b.data(), c);
    case Kind::kPlain:
      return matmul_nn(m, n, k, a, b.data(), c);
    case Kind::kPlainAdd:
      return matmul_nn(m, n, k, a, b.data(), c, Accumulate::kYes);
  }
}

void expect_exact_values(Kind kind, int64_t m, int64_t n, int64_t k) {
  SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + ", m " + std::to_string(m) +
               ", n " + std::to_string(n) + ", k " + std::to_string(k));
  const bool transposed = kind == Kind::kLinear || kind == Kind::kTransposed;
  const Matrix a = random_matrix(m, k, 1);
  const Matrix b = random_matrix(n, k, 2);
  const float guard = 1234.5f;
  Matrix c = random_matrix(m, n, 3);
  const Matrix before = c;
  c.resize(c.size() + 64, guard);
  const PackedMatrix packed =
      kind == Kind::kLinear ? PackedMatrix::pack(b.data(), n, k) : PackedMatrix();
  product(kind, m, n, k, a.data(), b, packed, c.data());
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = kind == Kind::kPlainAdd ? before[i * n + j] : 0.0;
      double magnitude = std::abs(sum);
      for (int64_t p = 0; p < k; ++p) {
        const double term = double{a[i * k + p]} * (transposed ? b[j * k + p] : b[p * n + j]);
        sum += term;
        magnitude += std::abs(term);
      }
      const double bound = std::ldexp(4.0 + std::sqrt(static_cast<double>(k)), -24) * magnitude;
      ASSERT_NEAR(c[i * n + j], sum, bound) << "row " << i << ", column " << j;
    }
  }
  for (size_t i = before.size(); i < c.size(); ++i) ASSERT_EQ(c[i], guard) << "wrote past the end";
}

TEST(Gemm, ProductsEqualDoublePrecision) {
  for (const Kind kind : {Kind::kLinear, Kind::kTransposed, Kind::kPlain, Kind::kPlainAdd}) {
    for (const int64_t m : {1, 5, 17, 70}) {
      for (const auto& [n, k] : {Shape{96, 40},
                                 {17, 64},
                                 {1, 1},
                                 {5, 3},
                                 {33, 7},
                                 {544, 32},
                                 {64, 96},
                                 {130, 257},
                                 {7, 384}}) {
        expect_exact_values(kind, m, n, k);
      }
    }
  }
  expect_exact_values(Kind::kLinear, 3, 768, 3072);
}

// Every row count of `counts` gives the first rows of `base`, and rows started elsewhere give
// theirs.
void expect_row_independence(Kind kind, int64_t n, int64_t k, const std::vector<int64_t>& counts) {
  SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + ", n " + std::to_string(n) +
               ", k " + std::to_string(k));
  const int64_t most = 160;
  const Matrix a = random_matrix(most, k, 4);
  const Matrix b = random_matrix(n, k, 5);
  const Matrix start = random_matrix(most, n, 6);
  const PackedMatrix packed =
      kind == Kind::kLinear ? PackedMatrix::pack(b.data(), n, k) : PackedMatrix();
  const auto run = [&](int64_t first, int64_t m, Matrix& c) {
    if (kind == Kind::kPlainAdd) {
      std::copy_n(start.data() + first * n, m * n, c.data());
    }
    product(kind, m, n, k, a.data() + first * k, b, packed, c.data());
  };
  Matrix base(start.size()), c(start.size());
  run(0, 128, base);
  run(128, 32, c);
  std::copy_n(c.data(), 32 * n, base.data() + 128 * n);
  for (const int64_t m : counts) {
    run(0, m, c);
    ASSERT_TRUE(same_bits(c.data(), base.data(), m * n)) << m << " rows from row 0";
    if (n * k > 1'000'000 && m % 8 != 5) continue;  // for time
    run(most - m, m, c);
    ASSERT_TRUE(same_bits(c.data(), base.data() + (most - m) * n, m * n)) << m << " last rows";
  }
  for (int64_t r = 0; r<most; r += n * k> 100'000 ? 7 : 1) {
    run(r, 1, c);
    ASSERT_TRUE(same_bits(c.data(), base.data() + r * n, n)) << "row " << r << " alone";
  }
}

TEST(Gemm, LinearRowsDoNotDependOnTheOtherRows) {
  std::vector<int64_t> all;
  for (int64_t m = 1; m <= 160; ++m) all.push_back(m);
  for (const auto& [out, in] : kWeightShapes) expect_row_independence(Kind::kLinear, out, in, all);
}

TEST(Gemm, AttentionRowsDoNotDependOnTheOtherRows) {
  const std::vector<int64_t> counts = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 48, 56, 64, 104, 128};
  for (const int64_t head_dim : {8, 16, 32, 64, 80, 96, 128, 1, 7, 33}) {
    for (const int64_t keys : {32, 96, 544, 576, 2048, 37}) {
      expect_row_independence(Kind::kTransposed, keys, head_dim, counts);
      expect_row_independence(Kind::kPlain, head_dim, keys, counts);
      if (keys < 600) expect_row_independence(Kind::kPlainAdd, head_dim, keys, counts);
    }
  }
}

TEST(Gemm, SpansInStepsOf32DoNotDependOnTheOtherRows) {
  for (int64_t keys = 32; keys <= 1056; keys += 32) {
    expect_row_independence(Kind::kTransposed, keys, 64, {1, 24, 32, 64});
    expect_row_independence(Kind::kPlain, 64, keys, {1, 24, 32, 64});
  }
}

TEST(Gemm, ThreadsGiveTheSameBits) {
  const Matrix weight = random_matrix(384, 1536, 7);
  const Matrix x = random_matrix(100, 1536, 8);
  const Matrix keys = random_matrix(544, 64, 9);
  const PackedMatrix packed = PackedMatrix::pack(weight.data(), 384, 1536);
  struct Result {
    Matrix linear = Matrix(100 * 384), scores = Matrix(100 * 544), values = Matrix(100 * 64);
  };
  const auto compute = [&](Result& result) {
    for (int64_t rows = 100; rows >= 96; --rows) {
      linear(x.data(), rows, packed, result.linear.data());
      matmul_nt(rows, 544, 64, x.data(), keys.data(), result.scores.data());
      matmul_nn(rows, 64, 544, x.data(), keys.data(), result.values.data());
    }
  };
  Result here;
  std::vector<Result> there(2);
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::thread first([&] { compute(there[0]); });
    std::thread second([&] { compute(there[1]); });
    first.join();
    second.join();
    if (repeat == 0)
      compute(here);  // after the threads, which so make the products at the same time
    for (const Result& result : there) {
      EXPECT_TRUE(same_bits(result.linear.data(), here.linear.data(), 100 * 384));
      EXPECT_TRUE(same_bits(result.scores.data(), here.scores.data(), 100 * 544));
      EXPECT_TRUE(same_bits(result.values.data(), here.values.data(), 100 * 64));
    }
  }
}

TEST(Gemm, ManyShapesStayWithinTheCacheLimit) {
  const Matrix a(200 * 4, 1.0f);
  const Matrix b(4 * 20, 2.0f);
  Matrix c(200 * 20);
  for (int64_t n = 1; n <= 20; ++n) {
    for (int64_t m = 1; m <= 115; ++m) {
      matmul_nn(m, n, 3, a.data(), b.data(), c.data());
      ASSERT_EQ(c[0], 6.0f);
      ASSERT_EQ(c[m * n - 1], 6.0f);
    }
    ASSERT_LE(cached_products(), kMaxCachedProducts);
  }
}

TEST(Gemm, StandardShapesRunAsBlockedKernels) {
  if (isa_description().find("avx512") == std::string::npos) {
    GTEST_SKIP() << "only AVX-512 has them: " << isa_description();
  }
  EXPECT_EQ(row_quantum(), 1);
  for (const auto& [out, in] : kWeightShapes) {
    for (const int64_t rows : {1, 2, 8, 16, 33, 64, 127, 128, 160}) {
      EXPECT_TRUE(linear_implementation(rows, out, in).starts_with("brg"))
          << rows << " x " << out << " x " << in << ": " << linear_implementation(rows, out, in);
    }
  }
  for (const int64_t head_dim : {1, 7, 8, 16, 32, 33, 64, 80, 96, 128}) {
    for (const int64_t rows : {1, 8, 32, 64, 128}) {
      for (const int64_t keys : {32, 544, 576, 2048}) {
        EXPECT_TRUE(matmul_implementation(rows, keys, head_dim, true).starts_with("brg"))
            << rows << " x " << keys << " x " << head_dim;
        EXPECT_TRUE(matmul_implementation(rows, head_dim, keys, false).starts_with("brg"))
            << rows << " x " << head_dim << " x " << keys;
      }
    }
  }
}

TEST(Gemm, PackedMatrixTellsItsSizes) {
  const Matrix weight = random_matrix(96, 40, 10);
  const PackedMatrix packed = PackedMatrix::pack(weight.data(), 96, 40);
  EXPECT_EQ(packed.out_features(), 96);
  EXPECT_EQ(packed.in_features(), 40);
  EXPECT_GE(packed.bytes(), 96u * 40u * sizeof(float));
  EXPECT_EQ(PackedMatrix().bytes(), 0u);
}

TEST(Gemm, RefusesEmptyOperands) {
  const auto code_of = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kCancelled;
  };
  float value = 1.0f;
  EXPECT_EQ(code_of([&] { linear(&value, 1, PackedMatrix(), &value); }), ErrorCode::kInternal);
  EXPECT_EQ(code_of([&] { PackedMatrix::pack(&value, 0, 4); }), ErrorCode::kInternal);
  EXPECT_EQ(code_of([&] { matmul_nt(0, 1, 1, &value, &value, &value); }), ErrorCode::kInternal);
  EXPECT_EQ(code_of([&] { matmul_nn(1, 1, 0, &value, &value, &value); }), ErrorCode::kInternal);
}

TEST(Gemm, VersionNamesTheLibrary) { EXPECT_TRUE(library_version().starts_with("oneDNN ")); }

}  // namespace
}  // namespace longformer::kernels
