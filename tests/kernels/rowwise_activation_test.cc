// Activations as epilogues: every source of sums, every type of rows, aliasing, strides, on every
// SIMD target. Their accuracy is checked in rowwise_math_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/rowwise.h"
#include "rowwise_operands.h"
#include "targets.h"

namespace longformer::kernels {
namespace {

constexpr int64_t kColumns[] = {1, 3, 16, 17, 33, 96, 100};
constexpr int64_t kRows = 5;
constexpr DType kTypes[] = {DType::kF32, DType::kBF16, DType::kU8};
constexpr Activation kActivations[] = {Activation::kGelu, Activation::kGeluTanh,
                                       Activation::kRelu, Activation::kSilu,
                                       Activation::kTanh, Activation::kQuickGelu};

// act of one value, as the kernel computes it.
float activated(Activation activation, float value) {
  const float zero = 0.0f;
  float out;
  bias_activation(1, 1, activation, dense_product(&value, 1), &zero, {.data = &out, .stride = 1});
  return out;
}

// Within rounding of the exact (x + bias): products of s32 sums are rounded up to three times.
void expect_biased(double got, const TestProduct& x, int64_t r, int64_t c, float bias) {
  const double exact = x.value(r, c);
  ASSERT_NEAR(got, exact + bias, 0x1p-24 * (3.1 * std::abs(exact) + std::abs(exact + bias)))
      << r << ", " << c;
}

// relu of large positive biases shows the sums themselves.
TEST(RowwiseActivation, SumsStandForWhatTheyShould) {
  for_each_target([](const std::string&) {
    for (const Sums kind : kSums) {
      for (const int64_t cols : kColumns) {
        const TestProduct x(kind, kRows, cols, 3, 1);
        const Values bias(cols, 64.0f);
        TestRows out(DType::kF32, kRows, cols);
        bias_activation(kRows, cols, Activation::kRelu, x.products(), bias.data(), out.buffer());
        EXPECT_TRUE(out.guards_stand());
        for (int64_t r = 0; r < kRows; ++r) {
          for (int64_t c = 0; c < cols; ++c) expect_biased(out.value(r, c), x, r, c, 64.0f);
        }
      }
    }
  });
}

// The largest sums that kMaxInt8Features allows do not overflow.
TEST(RowwiseActivation, LargestSumsAreExact) {
  const int32_t largest = 255 * 127 * int32_t{65536};
  const std::vector<int32_t> sums = {largest, -largest, 0, 0}, zeros = {0, 255};
  const std::vector<int32_t> column_sums = {127 * 65536, -127 * 65536};
  const Values ones = {1.0f, 1.0f}, bias = {0.0f, 0.0f};
  const Products x{2,           nullptr,           sums.data(), ones.data(), zeros.data(),
                   ones.data(), column_sums.data()};
  for_each_target([&](const std::string&) {
    Values out(4);
    bias_residual(2, 2, x, bias.data(), Values(4).data(), 2, out.data());
    const auto want = static_cast<float>(largest);
    EXPECT_EQ(out, (Values{want, -want, -want, want}));
  });
}

// bf16 and u8 rows are those of the f32 result, bit for bit; u8 leaves that result in the sums.
TEST(RowwiseActivation, RowsOfEveryTypeAreThoseOfTheFloats) {
  for_each_target([](const std::string&) {
    for (const Activation activation : kActivations) {
      for (const Sums kind : kSums) {
        for (const int64_t cols : kColumns) {
          const Values bias = random_values(cols, 2);
          TestProduct x(kind, kRows, cols, 5, 3);
          TestRows floats(DType::kF32, kRows, cols, 0);
          bias_activation(kRows, cols, activation, x.products(), bias.data(), floats.buffer());
          for (const DType type : kTypes) {
            TestRows got(type, kRows, cols), want(type, kRows, cols);
            TestProduct sums = x;
            bias_activation(kRows, cols, activation, sums.products(), bias.data(), got.buffer());
            to_rows(kRows, cols, floats.f32.data(), want.buffer());
            EXPECT_TRUE(got.guards_stand());
            ASSERT_TRUE(same_bits(got.f32.data(), want.f32.data(), got.f32.size()));
            ASSERT_TRUE(same_bits(got.bf16.data(), want.bf16.data(), got.bf16.size()));
            ASSERT_EQ(got.u8, want.u8);
            ASSERT_EQ(got.scales, want.scales);
            ASSERT_EQ(got.zeros, want.zeros);
            for (int64_t r = 0; r < kRows && type == DType::kU8; ++r) {
              ASSERT_TRUE(same_bits(sums.memory() + r * sums.stride, &floats.f32[r * cols], cols));
            }
          }
        }
      }
    }
  });
}

TEST(RowwiseActivation, FloatsMayReplaceTheSums) {
  for_each_target([](const std::string&) {
    for (const Sums kind : kSums) {
      for (const int64_t cols : kColumns) {
        const Values bias = random_values(cols, 4);
        TestProduct x(kind, kRows, cols, 0, 5);
        TestProduct before = x;
        TestRows want(DType::kF32, kRows, cols);
        bias_activation(kRows, cols, Activation::kGelu, x.products(), bias.data(), want.buffer());
        bias_activation(kRows, cols, Activation::kGelu, x.products(), bias.data(),
                        {.data = x.memory(), .stride = x.stride});
        for (int64_t r = 0; r < kRows; ++r) {
          float* row = x.memory() + r * x.stride;
          ASSERT_TRUE(same_bits(row, &want.f32[r * want.stride], cols));
          ASSERT_TRUE(same_bits(row + cols, before.memory() + r * x.stride + cols, 4));
        }
      }
    }
  });
}

TEST(RowwiseActivation, NotFiniteRowsOfSumsStayAlone) {
  for_each_target([](const std::string&) {
    TestProduct x(Sums::kS32, 3, 40, 0, 6);
    x.row_scales[1] = std::numeric_limits<float>::quiet_NaN();
    const Values bias(40);
    for (const DType type : kTypes) {
      TestProduct sums = x;
      TestRows out(type, 3, 40);
      bias_activation(3, 40, Activation::kGelu, sums.products(), bias.data(), out.buffer());
      for (int64_t c = 0; c < 40; ++c) {
        ASSERT_FALSE(std::isnan(out.value(0, c)));
        ASSERT_TRUE(std::isnan(out.value(1, c)));
        ASSERT_FALSE(std::isnan(out.value(2, c)));
      }
    }
  });
}

// Each bias_activation() times (gate + bias), in every type of rows.
TEST(RowwiseActivation, GateMultipliesTheActivation) {
  for_each_target([](const std::string&) {
    for (const Activation activation : {Activation::kGelu, Activation::kSilu}) {
      for (const Sums kind : kSums) {
        for (const int64_t cols : kColumns) {
          const Values bias = random_values(2 * cols, 7), none(cols);
          // x: the columns in front; the gate: the next.
          const TestProduct both(kind, kRows, 2 * cols, 0, 8);
          const Products x = both.products(), gate = x.columns(cols);
          TestRows want(DType::kF32, kRows, cols, 0), floats(DType::kF32, kRows, cols);
          bias_activation(kRows, cols, activation, x, bias.data(), want.buffer());
          Values gates(kRows * cols);
          bias_residual(kRows, cols, gate, &bias[cols], Values(kRows * both.stride).data(), cols,
                        gates.data());
          for (int64_t i = 0; i < kRows * cols; ++i) want.f32[i] *= gates[i];
          gated_activation(kRows, cols, activation, x, bias.data(), gate, &bias[cols],
                           floats.buffer());
          EXPECT_TRUE(floats.guards_stand());
          for (int64_t r = 0; r < kRows; ++r) {
            ASSERT_TRUE(same_bits(&floats.f32[r * floats.stride], &want.f32[r * cols], cols));
          }
          for (const DType type : {DType::kBF16, DType::kU8}) {
            TestProduct sums = both;
            TestRows got(type, kRows, cols), rows(type, kRows, cols);
            gated_activation(kRows, cols, activation, sums.products(), bias.data(),
                             sums.products().columns(cols), &bias[cols], got.buffer());
            to_rows(kRows, cols, want.f32.data(), rows.buffer());
            EXPECT_TRUE(got.guards_stand());
            ASSERT_TRUE(same_bits(got.bf16.data(), rows.bf16.data(), got.bf16.size()));
            ASSERT_EQ(got.u8, rows.u8);
            ASSERT_EQ(got.scales, rows.scales);
          }
          TestProduct in_place = both;
          gated_activation(kRows, cols, activation, in_place.products(), bias.data(),
                           in_place.products().columns(cols), &bias[cols],
                           {.data = in_place.memory(), .stride = cols});
          ASSERT_TRUE(same_bits(in_place.memory(), want.f32.data(), kRows * cols));
        }
      }
    }
  });
}

// A part of the columns gives what the whole gives there.
TEST(RowwiseActivation, ColumnsOfAProductAreThoseOfTheWhole) {
  for_each_target([](const std::string&) {
    for (const Sums kind : kSums) {
      const TestProduct x(kind, kRows, 100, 0, 9);
      const Values bias = random_values(100, 10);
      TestRows whole(DType::kF32, kRows, 100), parts(DType::kF32, kRows, 100);
      bias_activation(kRows, 100, Activation::kGelu, x.products(), bias.data(), whole.buffer());
      int64_t first = 0;
      for (const int64_t cols : {64, 1, 16, 19}) {
        bias_activation(kRows, cols, Activation::kGelu, x.products().columns(first), &bias[first],
                        {.data = parts.f32.data() + first, .stride = parts.stride});
        first += cols;
      }
      ASSERT_EQ(first, 100);
      ASSERT_EQ(parts.f32, whole.f32);
    }
  });
}

TEST(RowwiseActivation, OneValueIsActivatedAlikeEverywhere) {
  for_each_target([](const std::string&) {
    const TestProduct x(Sums::kF32, 1, 100, 0, 11);
    const Values bias(100);
    TestRows out(DType::kF32, 1, 100);
    bias_activation(1, 100, Activation::kGelu, x.products(), bias.data(), out.buffer());
    for (int64_t c = 0; c < 100; ++c) {
      ASSERT_EQ(out.f32[c], activated(Activation::kGelu, x.f32[c]));
    }
  });
}

}  // namespace
}  // namespace longformer::kernels
