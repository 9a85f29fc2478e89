// gemm.h: values against double precision and integers, column ranges, what is refused, which
// implementations run. LONGFORMER_ISA=avx2 runs the same tests on the row-blocked path.
#include "kernels/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <thread>

#include "base/profile.h"
#include "kernels/gemm_operands.h"
#include "kernels/isa.h"
#include "kernels/products.h"
#include "longformer/error.h"

namespace longformer::kernels {
namespace {

const Shape kWeightShapes[] = {{384, 384},  {1536, 384}, {384, 1536}, {768, 768}, {3072, 768},
                               {768, 3072}, {96, 40},    {64, 17},    {40, 96},   {17, 64},
                               {1, 1},      {5, 3},      {33, 7},     {1, 384},   {2, 768},
                               {130, 257},  {36, 36},    {144, 36},   {100, 100}, {30522, 36}};

void expect_exact_values(Kind kind, DType type, int64_t m, int64_t n, int64_t k) {
  SCOPED_TRACE(trace_of(kind, type, m, n, k));
  const bool transposed = kind == Kind::kLinear || kind == Kind::kTransposed;
  const Operand a = random_operand(row_type(type), m, k, 1);
  const Operand b = random_operand(type, transposed ? n : k, transposed ? k : n, 2);
  const Operand before = random_operand(DType::kF32, m, n, 3);
  const int32_t guard = 12345678;
  Result c(static_cast<size_t>(m * n) + 64, guard);
  std::memcpy(c.data(), before.data.data(), before.data.size());
  product(kind, a, 0, m, b, kind == Kind::kLinear ? pack(b) : PackedMatrix(), c.data());
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = kind == Kind::kPlainAdd ? before.values[i * n + j] : 0.0;
      double magnitude = std::abs(sum);
      for (int64_t p = 0; p < k; ++p) {
        const double term =
            double{a.values[i * k + p]} * b.values[transposed ? j * k + p : p * n + j];
        sum += term;
        magnitude += std::abs(term);
      }
      const int32_t result = c[i * n + j];
      if (type == DType::kI8) {
        ASSERT_EQ(result, static_cast<int32_t>(sum)) << "row " << i << ", column " << j;
        continue;
      }
      const double bound = std::ldexp(4.0 + std::sqrt(static_cast<double>(k)), -24) * magnitude;
      ASSERT_NEAR(std::bit_cast<float>(result), sum, bound) << "row " << i << ", column " << j;
    }
  }
  for (size_t i = m * n; i < c.size(); ++i) ASSERT_EQ(c[i], guard) << "wrote past the end";
}

TEST(Gemm, ProductsEqualDoublePrecision) {
  for (const DType type : kWeightTypes) {
    if (!supports(type)) continue;
    for (const Kind kind : {Kind::kLinear, Kind::kTransposed, Kind::kPlain, Kind::kPlainAdd}) {
      if (type == DType::kI8 && kind != Kind::kLinear) continue;
      for (const int64_t m : {1, 5, 17, 70}) {
        for (const auto& [n, k] : {Shape{96, 40},
                                   {17, 64},
                                   {1, 1},
                                   {5, 3},
                                   {33, 7},
                                   {544, 32},
                                   {64, 96},
                                   {130, 257},
                                   {36, 36},
                                   {7, 384}}) {
          expect_exact_values(kind, type, m, n, k);
        }
      }
    }
    expect_exact_values(Kind::kLinear, type, 3, 768, 3072);
  }
}

TEST(Gemm, IntegersDoNotSaturate) {
  if (!supports(DType::kI8)) GTEST_SKIP() << "no int8 products here: " << isa_description();
  const int64_t k = kMaxInt8Features;
  const std::vector<uint8_t> x(static_cast<size_t>(k), 255);
  std::vector<int8_t> weight(static_cast<size_t>(3 * k), 127);
  std::fill_n(weight.begin() + k, k, int8_t{-127});
  for (int64_t i = 0; i < k; i += 2) weight[2 * k + i] = -127;
  const float scales[] = {1.0f, 1.0f, 1.0f};
  const PackedMatrix packed = PackedMatrix::pack(weight.data(), scales, 3, k);
  int32_t sums[3];
  const Products products = linear({DType::kU8, x.data(), nullptr, nullptr}, 1, packed, sums);
  EXPECT_EQ(sums[0], 255 * 127 * 65536);
  EXPECT_EQ(sums[1], -255 * 127 * 65536);
  EXPECT_EQ(sums[2], 0);
  EXPECT_EQ(products.column_sums[0], 127 * 65536);
  EXPECT_EQ(products.column_sums[1], -127 * 65536);
  EXPECT_EQ(products.column_sums[2], 0);
}

// Every range has the bits that the whole has there, and writes nothing else.
void expect_range(const Operand& x, const PackedMatrix& packed, const Result& whole,
                  Columns columns) {
  SCOPED_TRACE("columns from " + std::to_string(columns.first) + ", " +
               std::to_string(columns.count) + " of them");
  const int64_t out = packed.out_features();
  const int64_t count = columns.count == 0 ? out - columns.first : columns.count;
  const int32_t guard = 12345678;
  Result part(static_cast<size_t>(x.rows * count) + 64, guard);
  const std::vector<float> row_scales(static_cast<size_t>(x.rows), 1.0f);
  const std::vector<int32_t> row_zeros(static_cast<size_t>(x.rows), 0);
  const Rows rows{x.type, x.row(0), row_scales.data(), row_zeros.data()};
  const Products products = linear(rows, x.rows, packed, part.data(), columns);
  EXPECT_EQ(products.stride, count);
  for (int64_t r = 0; r < x.rows; ++r) {
    ASSERT_TRUE(same_bits(part.data() + r * count, whole.data() + r * out + columns.first, count))
        << "row " << r;
  }
  for (size_t i = x.rows * count; i < part.size(); ++i) ASSERT_EQ(part[i], guard);
  if (packed.type() == DType::kI8) {
    EXPECT_EQ(products.f32, nullptr);
    EXPECT_EQ(products.s32, part.data());
    EXPECT_EQ(products.row_scales, row_scales.data());
    EXPECT_EQ(products.row_zeros, row_zeros.data());
    EXPECT_EQ(products.column_scales[0], static_cast<float>(columns.first + 1));  // see pack()
  } else {
    EXPECT_EQ(static_cast<const void*>(products.f32), part.data());
    EXPECT_EQ(products.s32, nullptr);
  }
}

TEST(Gemm, ColumnRangesHaveTheBitsOfTheWhole) {
  for (const DType type : kWeightTypes) {
    if (!supports(type)) continue;
    for (const auto& [out, in] : {Shape{384, 384},
                                  {384, 1536},
                                  {768, 96},
                                  {130, 257},
                                  {100, 100},
                                  {144, 36},
                                  {192, 1},
                                  {64, 17},
                                  {17, 64}}) {
      const Operand weight = random_operand(type, out, in, 11);
      const PackedMatrix packed = pack(weight);
      for (const int64_t rows : {1, 5, 16, 70, 128}) {
        SCOPED_TRACE(trace_of(Kind::kLinear, type, rows, out, in));
        const Operand x = random_operand(row_type(type), rows, in, 12);
        Result whole(static_cast<size_t>(rows * out));
        product(Kind::kLinear, x, 0, rows, weight, packed, whole.data());
        for (int64_t first = 0; first < out; first += kColumnQuantum) {
          expect_range(x, packed, whole, {first, 0});
          for (int64_t count = kColumnQuantum; first + count <= out; count *= 2) {
            expect_range(x, packed, whole, {first, count});
          }
        }
      }
    }
  }
}

TEST(Gemm, ColumnsOfAVocabulary) {
  for (const DType type : kWeightTypes) {
    if (!supports(type)) continue;
    const Operand weight = random_operand(type, 30522, 36, 13);
    const PackedMatrix packed = pack(weight);
    const Operand x = random_operand(row_type(type), 3, 36, 14);
    Result whole(3 * 30522);
    product(Kind::kLinear, x, 0, 3, weight, packed, whole.data());
    for (const Columns columns : {Columns{0, 15232}, {15232, 15290}, {30464, 58}, {30400, 0}}) {
      expect_range(x, packed, whole, columns);
    }
  }
}

TEST(Gemm, ThreadsGiveTheSameBits) {
  for (const DType type : kWeightTypes) {
    if (!supports(type)) continue;
    const Operand x = random_operand(row_type(type), 100, 1536, 8);
    const PackedMatrix packed = pack(random_operand(type, 384, 1536, 7));
    const DType attention = type == DType::kI8 ? DType::kF32 : type;
    const Operand queries = random_operand(attention, 100, 64, 10);
    const Operand keys = random_operand(attention, 544, 64, 9);
    struct Results {
      Result linear = Result(100 * 384), left = Result(100 * 64), scores = Result(100 * 544);
    };
    const auto compute = [&](Results& results) {
      for (int64_t rows = 100; rows >= 96; --rows) {
        const Rows source{x.type, x.row(0), nullptr, nullptr};
        linear(source, rows, packed, results.linear.data());
        linear(source, rows, packed, results.left.data(), {64, 64});
        product(Kind::kTransposed, queries, 0, rows, keys, packed, results.scores.data());
      }
    };
    Results here;
    std::vector<Results> there(2);
    for (int repeat = 0; repeat < 3; ++repeat) {
      std::thread first([&] { compute(there[0]); });
      std::thread second([&] { compute(there[1]); });
      first.join();
      second.join();
      // After the threads, which so make the products at the same time.
      if (repeat == 0) compute(here);
      for (const Results& results : there) {
        EXPECT_EQ(results.linear, here.linear);
        EXPECT_EQ(results.left, here.left);
        EXPECT_EQ(results.scores, here.scores);
      }
    }
  }
}

TEST(Gemm, ManyShapesStayWithinTheCacheLimit) {
  const std::vector<float> a(200 * 4, 1.0f);
  const std::vector<float> b(4 * 20, 2.0f);
  std::vector<float> c(200 * 20);
  for (int64_t n = 1; n <= 20; ++n) {
    for (int64_t m = 1; m <= 115; ++m) {
      matmul_nn(m, n, 3, a.data(), b.data(), c.data());
      ASSERT_EQ(c[0], 6.0f);
      ASSERT_EQ(c[m * n - 1], 6.0f);
    }
    ASSERT_LE(cached_products(), kMaxCachedProducts);
  }
}

// The layer shapes of BERT-base and MiniLM, a vocabulary and odd ones; one name for all row counts.
TEST(Gemm, StandardShapesRunAsBlockedKernels) {
  if (matrix_isa() == MatrixIsa::kOther) {
    GTEST_SKIP() << "only AVX-512 has them: " << isa_description();
  }
  EXPECT_EQ(row_quantum(), 1);
  EXPECT_TRUE(splits_columns());
  for (const DType type : kWeightTypes) {
    if (!supports(type)) continue;
    const std::string expected = linear_implementation(128, 768, 768, type);
    EXPECT_TRUE(expected.starts_with("brg")) << expected;
    for (const int64_t rows : {1, 2, 8, 16, 33, 64, 127, 128, 160}) {
      for (const auto& [out, in] : kWeightShapes) {
        EXPECT_EQ(linear_implementation(rows, out, in, type), expected)
            << trace_of(Kind::kLinear, type, rows, out, in);
      }
      if (type == DType::kI8) continue;
      for (const int64_t head_dim : {1, 7, 8, 16, 32, 33, 64, 80, 96, 128}) {
        for (const int64_t keys : {32, 37, 544, 576, 2048}) {
          EXPECT_EQ(matmul_implementation(rows, keys, head_dim, true, type), expected)
              << trace_of(Kind::kTransposed, type, rows, keys, head_dim);
          EXPECT_EQ(matmul_implementation(rows, head_dim, keys, false, type), expected)
              << trace_of(Kind::kPlain, type, rows, head_dim, keys);
        }
      }
    }
  }
}

TEST(Gemm, ProfileNamesShapeTypeAndImplementation) {
  const std::vector<float> weight(70 * 20, 1.0f), x(3 * 20, 1.0f);
  std::vector<float> y(3 * 70);
  take_profile();
  set_profiling(true);
  const PackedMatrix packed = PackedMatrix::pack(weight.data(), 70, 20);
  for (int i = 0; i < 4; ++i) linear(x.data(), 3, packed, y.data());
  matmul_nt(2, 5, 4, x.data(), weight.data(), y.data());
  matmul_nn(2, 5, 4, x.data(), weight.data(), y.data());
  matmul_nn(2, 5, 4, x.data(), weight.data(), y.data(), Accumulate::kYes);
  set_profiling(false);
  std::map<std::string, ProfileLine> lines;
  for (const ProfileLine& line : take_profile()) lines[line.operation] = line;
  EXPECT_EQ(lines["pack weights"].shape, "70 x 20 f32");
  EXPECT_EQ(lines["linear"].shape, "3 x 70 x 20 f32");
  EXPECT_EQ(lines["linear"].implementation, linear_implementation(3, 70, 20));
  EXPECT_EQ(lines["linear"].calls, 4u);
  EXPECT_EQ(lines["linear"].flop, 4 * 2.0 * 3 * 70 * 20);
  for (const char* operation : {"matmul_nt", "matmul_nn", "matmul_nn +="}) {
    EXPECT_EQ(lines[operation].shape, "2 x 5 x 4 f32") << operation;
    EXPECT_EQ(lines[operation].flop, 2.0 * 2 * 5 * 4) << operation;
    EXPECT_GT(lines[operation].seconds, 0.0) << operation;
  }
}

template <typename Call>
ErrorCode code_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kCancelled;
}

TEST(Gemm, RefusesWhatItCannotCompute) {
  std::vector<float> x(300, 1.0f), y(300);
  const auto code = [&](Columns columns) {
    const PackedMatrix packed = PackedMatrix::pack(x.data(), 130, 2);
    return code_of([&] {
      linear({DType::kF32, x.data(), nullptr, nullptr}, 2, packed, y.data(), columns);
    });
  };
  EXPECT_EQ(code({64, 66}), ErrorCode::kCancelled);
  EXPECT_EQ(code({32, 64}), ErrorCode::kInternal);
  EXPECT_EQ(code({0, 63}), ErrorCode::kInternal);
  EXPECT_EQ(code({64, 67}), ErrorCode::kInternal);
  EXPECT_EQ(code({64, 128}), ErrorCode::kInternal);
  EXPECT_EQ(code({-64, 64}), ErrorCode::kInternal);
  EXPECT_EQ(code({192, 0}), ErrorCode::kInternal);
  EXPECT_EQ(code({0, -64}), ErrorCode::kInternal);

  float one = 1.0f;
  const PackedMatrix packed = PackedMatrix::pack(&one, 1, 1);
  EXPECT_EQ(code_of([&] { linear(&one, 1, PackedMatrix(), &one); }), ErrorCode::kInternal);
  EXPECT_EQ(code_of([&] { linear(&one, 0, packed, &one); }), ErrorCode::kInternal);
  EXPECT_EQ(code_of([&] {
              linear({DType::kBF16, &one, nullptr, nullptr}, 1, packed, &one);
            }),
            ErrorCode::kInternal);
  EXPECT_EQ(code_of([&] { matmul_nt(0, 1, 1, &one, &one, &one); }), ErrorCode::kInternal);
  EXPECT_EQ(code_of([&] { matmul_nn(1, 1, 0, &one, &one, &one); }), ErrorCode::kInternal);
}

TEST(Gemm, RefusesTypesThatTheProcessorLacks) {
  EXPECT_TRUE(supports(DType::kF32));
  for (const DType type : {DType::kU8, DType::kF16, DType::kF64}) EXPECT_FALSE(supports(type));
  EXPECT_EQ(supports(DType::kBF16), matrix_isa() == MatrixIsa::kAvx512Bf16);
  EXPECT_EQ(supports(DType::kI8), matrix_isa() >= MatrixIsa::kAvx512Vnni);
  const float one = 1.0f;
  for (const DType type : {DType::kBF16, DType::kI8, DType::kF64}) {
    EXPECT_EQ(code_of([&] { PackedMatrix::pack(&one, 1, 1, type); }),
              supports(type) ? ErrorCode::kCancelled : ErrorCode::kInternal);
  }
  const BFloat16 small{};
  float result = 0.0f;
  EXPECT_EQ(code_of([&] { matmul_nt(1, 1, 1, &small, &small, &result); }),
            supports(DType::kBF16) ? ErrorCode::kCancelled : ErrorCode::kInternal);
}

TEST(Gemm, VersionNamesTheLibrary) { EXPECT_TRUE(library_version().starts_with("oneDNN ")); }

}  // namespace
}  // namespace longformer::kernels
