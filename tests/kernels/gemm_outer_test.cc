// Products of a transposed first operand: values against double precision, the bits of an element
// whatever else is computed, and packed transposes. LONGFORMER_ISA=avx2 runs the row-blocked path.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <thread>

#include "kernels/gemm.h"
#include "kernels/gemm_operands.h"
#include "kernels/isa.h"
#include "longformer/error.h"

namespace longformer::kernels {
namespace {

constexpr Accumulate kBoth[] = {Accumulate::kNo, Accumulate::kYes};

struct Outer {
  Operand a, b;  // [k, m], [k, n]
  int64_t k() const { return a.rows; }
  int64_t m() const { return a.cols; }
  int64_t n() const { return b.cols; }
  double exact(int64_t i, int64_t j, double& magnitude) const {
    double sum = 0;
    for (int64_t p = 0; p < k(); ++p) {
      const double term = double{a.values[p * m() + i]} * b.values[p * n() + j];
      sum += term;
      magnitude += std::abs(term);
    }
    return sum;
  }
};

Outer random_outer(DType type, int64_t m, int64_t n, int64_t k) {
  return {random_operand(type, k, m, 1), random_operand(type, k, n, 2)};
}

// Columns [first, first + count) of an operand.
Operand columns_of(const Operand& whole, int64_t first, int64_t count) {
  Operand part{whole.type, whole.rows, count, {}, {}};
  const size_t size = dtype_size(whole.type);
  for (int64_t r = 0; r < whole.rows; ++r) {
    const float* values = whole.values.data() + r * whole.cols + first;
    const std::byte* data = whole.row(r) + static_cast<size_t>(first) * size;
    part.values.insert(part.values.end(), values, values + count);
    part.data.insert(part.data.end(), data, data + static_cast<size_t>(count) * size);
  }
  return part;
}

void run(const Outer& of, Accumulate accumulate, float* c) {
  if (of.a.type == DType::kBF16) {
    matmul_tn(of.m(), of.n(), of.k(), of.a.as<BFloat16>(), of.b.as<BFloat16>(), c, accumulate);
  } else {
    matmul_tn(of.m(), of.n(), of.k(), of.a.as<float>(), of.b.as<float>(), c, accumulate);
  }
}

// On what already is `start` everywhere.
std::vector<float> product(const Outer& of, Accumulate accumulate, float start = 0.25f) {
  std::vector<float> c(static_cast<size_t>(of.m() * of.n()), start);
  run(of, accumulate, c.data());
  return c;
}

class GemmOuter : public ::testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (!supports(GetParam())) GTEST_SKIP() << "no products of " << dtype_name(GetParam());
  }
};

TEST_P(GemmOuter, EqualsDoublePrecision) {
  for (const Accumulate accumulate : kBoth) {
    for (const int64_t m : {1, 3, 17, 70, 544}) {
      for (const int64_t n : {1, 5, 33, 64}) {
        for (const int64_t k : {1, 2, 7, 24, 64, 257}) {
          SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k));
          const Outer of = random_outer(GetParam(), m, n, k);
          const float guard = 321.5f;
          std::vector<float> c(static_cast<size_t>(m * n), -1.5f);
          c.resize(c.size() + 40, guard);
          run(of, accumulate, c.data());
          for (int64_t i = 0; i < m * n; ++i) {
            double magnitude = 1.5;
            double want = of.exact(i / n, i % n, magnitude);
            if (accumulate == Accumulate::kYes) want -= 1.5;
            const double bound =
                std::ldexp(4.0 + std::sqrt(static_cast<double>(k)), -24) * magnitude;
            ASSERT_NEAR(c[i], want, bound) << i;
          }
          for (size_t i = m * n; i < c.size(); ++i) ASSERT_EQ(c[i], guard) << "wrote past the end";
        }
      }
    }
  }
}

// Columns of a and of b on their own give what the whole gives there.
void expect_part(const Outer& of, Accumulate accumulate, const std::vector<float>& whole,
                 Columns rows, Columns columns) {
  const Outer part{columns_of(of.a, rows.first, rows.count),
                   columns_of(of.b, columns.first, columns.count)};
  const std::vector<float> got = product(part, accumulate);
  for (int64_t r = 0; r < rows.count; ++r) {
    const float* want = whole.data() + (rows.first + r) * of.n() + columns.first;
    ASSERT_EQ(std::memcmp(got.data() + r * columns.count, want,
                          sizeof(float) * static_cast<size_t>(columns.count)),
              0)
        << rows.count << " rows from " << rows.first << ", " << columns.count << " columns from "
        << columns.first << ": row " << r;
  }
}

TEST_P(GemmOuter, ElementsDoNotDependOnTheOtherColumns) {
  const bool splits = matrix_isa() != MatrixIsa::kOther;
  for (const Accumulate accumulate : kBoth) {
    for (const int64_t k : {1, 7, 16, 33, 64, 100, 257, 512, 1000}) {
      SCOPED_TRACE(k);
      const Outer of = random_outer(GetParam(), 160, 130, k);
      const std::vector<float> whole = product(of, accumulate);
      for (const int64_t m : {1, 2, 3, 8, 15, 16, 17, 33, 48, 64, 97, 128, 160}) {
        expect_part(of, accumulate, whole, {0, m}, {0, 130});
        expect_part(of, accumulate, whole, {160 - m, m}, {0, 130});
      }
      if (!splits) continue;
      for (const int64_t n : {1, 2, 3, 8, 15, 16, 17, 33, 48, 64, 97, 128}) {
        expect_part(of, accumulate, whole, {0, 160}, {130 - n, n});
        expect_part(of, accumulate, whole, {31, n}, {2, n});
      }
    }
  }
}

// The shapes of layers, where the library might cut k in another way.
TEST_P(GemmOuter, PiecesOfWideWeightsHaveTheBitsOfTheWhole) {
  for (const int64_t k : {512, 1536}) {
    const Outer of = random_outer(GetParam(), 768, 1536, k);
    const std::vector<float> whole = product(of, Accumulate::kYes);
    for (const int64_t m : {32, 64, 100, 256, 384}) {
      expect_part(of, Accumulate::kYes, whole, {768 - m, m}, {0, 1536});
    }
  }
}

TEST_P(GemmOuter, ThreadsGiveTheSameBits) {
  const Outer of = random_outer(GetParam(), 544, 64, 64);
  const std::vector<float> here = product(of, Accumulate::kYes);
  std::vector<float> there[2];
  std::thread first([&] { there[0] = product(of, Accumulate::kYes); });
  std::thread second([&] { there[1] = product(of, Accumulate::kYes); });
  first.join();
  second.join();
  EXPECT_EQ(there[0], here);
  EXPECT_EQ(there[1], here);
}

TEST_P(GemmOuter, StandardShapesRunAsBlockedKernels) {
  if (matrix_isa() == MatrixIsa::kOther) {
    GTEST_SKIP() << "only AVX-512 has them: " << isa_description();
  }
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{768, 3072, 512},
                                {3072, 768, 512},
                                {544, 64, 64},
                                {64, 64, 64},
                                {32, 33, 16},
                                {1, 1, 1}}) {
    const std::string name = matmul_tn_implementation(m, n, k, GetParam());
    EXPECT_TRUE(name.starts_with("brg")) << name << " for " << m << " x " << n << " x " << k;
  }
}

// The packed transpose is what pack() makes of the transposed weights, bit for bit in what it
// gives.
TEST_P(GemmOuter, PackTransposedIsThePackOfTheTranspose) {
  for (const auto& [out, in] : {Shape{1, 1}, {5, 3}, {33, 7}, {96, 40}, {130, 257}, {768, 384}}) {
    const Operand weight = random_operand(DType::kF32, out, in, 3);
    std::vector<float> turned(weight.values.size());
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t i = 0; i < in; ++i) turned[i * out + o] = weight.values[o * in + i];
    }
    const PackedMatrix got =
        PackedMatrix::pack_transposed(weight.values.data(), out, in, GetParam());
    const PackedMatrix want = PackedMatrix::pack(turned.data(), in, out, GetParam());
    EXPECT_EQ(got.type(), GetParam());
    EXPECT_EQ(got.out_features(), in);
    EXPECT_EQ(got.in_features(), out);
    EXPECT_EQ(got.bytes(), want.bytes());
    const Operand x = random_operand(GetParam(), 20, out, 4);
    const Rows rows{x.type, x.data.data(), nullptr, nullptr};
    std::vector<float> y(static_cast<size_t>(20 * in)), expected(y.size());
    linear(rows, 20, got, y.data());
    linear(rows, 20, want, expected.data());
    EXPECT_EQ(y, expected) << out << " x " << in;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, GemmOuter, ::testing::Values(DType::kF32, DType::kBF16),
                         [](const auto& type) { return std::string(dtype_name(type.param)); });

template <typename Call>
ErrorCode code_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kCancelled;
}

TEST(GemmOuterErrors, RefusesWhatItCannotCompute) {
  float one = 1.0f;
  EXPECT_EQ(code_of([&] { matmul_tn(0, 1, 1, &one, &one, &one); }), ErrorCode::kInternal);
  EXPECT_EQ(code_of([&] { matmul_tn(1, 1, 0, &one, &one, &one); }), ErrorCode::kInternal);
  EXPECT_EQ(code_of([&] { PackedMatrix::pack_transposed(&one, 0, 1); }), ErrorCode::kInternal);
  EXPECT_EQ(code_of([&] { PackedMatrix::pack_transposed(&one, 1, 1, DType::kI8); }),
            ErrorCode::kInternal);
  const BFloat16 small{};
  EXPECT_EQ(code_of([&] { matmul_tn(1, 1, 1, &small, &small, &one); }),
            supports(DType::kBF16) ? ErrorCode::kCancelled : ErrorCode::kInternal);
}

}  // namespace
}  // namespace longformer::kernels
