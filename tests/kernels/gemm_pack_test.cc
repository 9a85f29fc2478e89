// How weights are rounded on their way into a PackedMatrix, read back as products with unit rows.
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>

#include "kernels/gemm.h"
#include "kernels/gemm_operands.h"
#include "longformer/error.h"

namespace longformer::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Quantized {
  std::vector<int8_t> values;
  std::vector<float> scales;
};

Quantized quantize(const std::vector<float>& weight, int64_t out) {
  const auto in = static_cast<int64_t>(weight.size()) / out;
  Quantized result{std::vector<int8_t>(weight.size(), 99),
                   std::vector<float>(static_cast<size_t>(out), -1.0f)};
  quantize_weights(weight.data(), out, in, result.values.data(), result.scales.data());
  return result;
}

TEST(GemmPack, PackedMatrixTellsItsSizes) {
  for (const DType type : kWeightTypes) {
    if (!supports(type)) continue;
    const PackedMatrix packed = pack(random_operand(type, 96, 40, 10));
    EXPECT_EQ(packed.type(), type);
    EXPECT_EQ(packed.row_type(), row_type(type));
    EXPECT_EQ(packed.out_features(), 96);
    EXPECT_EQ(packed.in_features(), 40);
    EXPECT_GE(packed.bytes(), 96u * 40u * dtype_size(type));
    EXPECT_LE(packed.bytes(), 128u * 64u * dtype_size(type) + 96u * 8u);
  }
  EXPECT_EQ(PackedMatrix().bytes(), 0u);
}

TEST(GemmPack, Bf16RoundsToNearestEven) {
  if (!supports(DType::kBF16)) GTEST_SKIP() << "no bf16 products here";
  const float step = 0x1p-7f;  // between bf16 numbers from 1 to 2
  const std::vector<float> weight = {1.0f,
                                     1.0f + step / 2,                // tie: down to even
                                     1.0f + step + step / 2,         // tie: up to even
                                     1.0f + step / 2 + 0x1p-23f,     // above a tie
                                     1.0f + step * 1.5f - 0x1p-23f,  // below a tie
                                     -1.0f - step / 2 - 0x1p-20f,
                                     kInfinity,
                                     kNaN};
  const std::vector<float> expected = {1.0f,        1.0f,         1.0f + 2 * step, 1.0f + step,
                                       1.0f + step, -1.0f - step, kInfinity,       kNaN};
  const auto out = static_cast<int64_t>(weight.size());
  const PackedMatrix packed = PackedMatrix::pack(weight.data(), out, 1, DType::kBF16);
  const uint16_t one = f32_to_bf16(1.0f);
  std::vector<float> y(weight.size());
  linear({DType::kBF16, &one, nullptr, nullptr}, 1, packed, y.data());
  for (size_t i = 0; i < y.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(y[i]));
    } else {
      EXPECT_EQ(y[i], expected[i]) << "weight " << i;
    }
  }
}

TEST(GemmPack, QuantizedWeightsAreTheNearestSteps) {
  for (const int64_t in : {1, 2, 15, 16, 17, 40, 257}) {
    const Operand weight = random_operand(DType::kF32, 50, in, 20);
    const Quantized quantized = quantize(weight.values, 50);
    for (int64_t c = 0; c < 50; ++c) {
      float largest = 0.0f;
      int extent = 0;
      const double scale = quantized.scales[c];
      for (int64_t i = c * in; i < (c + 1) * in; ++i) {
        largest = std::max(largest, std::abs(weight.values[i]));
        extent = std::max(extent, std::abs(int{quantized.values[i]}));
        EXPECT_LE(std::abs(weight.values[i] - quantized.values[i] * scale), scale * (0.5 + 1e-5));
      }
      EXPECT_EQ(quantized.scales[c], largest / 127.0f);
      EXPECT_EQ(extent, 127);
    }
  }
}

TEST(GemmPack, QuantizedWeightsAreSymmetricAndTiesGoToEven) {
  // Scale 1: the largest is 127.
  const Quantized ties =
      quantize({127.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 0.49f, -126.5f}, 1);
  EXPECT_EQ(ties.scales[0], 1.0f);
  EXPECT_EQ(ties.values, (std::vector<int8_t>{127, 0, 2, 2, 0, -2, -2, 0, -126}));

  Operand weight = random_operand(DType::kF32, 1, 100, 21);
  const Quantized plus = quantize(weight.values, 1);
  for (float& value : weight.values) value = -value;
  const Quantized minus = quantize(weight.values, 1);
  EXPECT_EQ(plus.scales, minus.scales);
  for (size_t i = 0; i < plus.values.size(); ++i) EXPECT_EQ(plus.values[i], -minus.values[i]);
}

TEST(GemmPack, ChannelsOfZerosAndOfExtremes) {
  const Quantized zeros = quantize({0.0f, -0.0f, 0.0f}, 1);
  EXPECT_EQ(zeros.scales[0], 1.0f);
  EXPECT_EQ(zeros.values, (std::vector<int8_t>{0, 0, 0}));
  const Quantized huge = quantize({FLT_MAX, -FLT_MAX, FLT_MAX / 254}, 1);
  EXPECT_EQ(huge.scales[0], FLT_MAX / 127.0f);
  EXPECT_EQ(huge.values[0], 127);
  EXPECT_EQ(huge.values[1], -127);
  // Steps of subnormal numbers are as wide as those numbers are apart; nothing else changes.
  for (const float units :
       {1.0f, 50.0f, 63.0f, 64.0f, 127.0f, 128.0f, 190.0f, 191.0f, 300.0f, 1e5f}) {
    const std::vector<float> weight = {units * FLT_TRUE_MIN, -units * FLT_TRUE_MIN,
                                       std::floor(units / 3) * FLT_TRUE_MIN};
    const Quantized tiny = quantize(weight, 1);
    ASSERT_GT(tiny.scales[0], 0.0f);
    for (size_t i = 0; i < weight.size(); ++i) {
      const double scale = tiny.scales[0];
      EXPECT_LE(std::abs(weight[i] - tiny.values[i] * scale), scale * (0.5 + 1e-5)) << units;
    }
  }
}

TEST(GemmPack, WhatIsNotFiniteStaysSo) {
  for (const float bad : {kNaN, -kNaN, kInfinity, -kInfinity}) {
    for (const size_t place : {0u, 7u, 15u, 16u, 36u}) {
      std::vector<float> weight(3 * 37, 1.0f);
      weight[37 + place] = bad;
      const Quantized quantized = quantize(weight, 3);
      EXPECT_EQ(quantized.scales[0], 1.0f / 127.0f);
      EXPECT_TRUE(std::isnan(quantized.scales[1])) << bad << " at " << place;
      EXPECT_EQ(quantized.scales[2], 1.0f / 127.0f);
    }
  }
}

TEST(GemmPack, Int8ProductsCarryScalesAndSums) {
  if (!supports(DType::kI8)) GTEST_SKIP() << "no int8 products here";
  const int64_t out = 70, in = 21;
  const Operand weight = random_operand(DType::kF32, out, in, 22);
  const Quantized quantized = quantize(weight.values, out);
  const PackedMatrix packed = PackedMatrix::pack(weight.values.data(), out, in, DType::kI8);
  // Row r is the unit vector r.
  std::vector<uint8_t> units(static_cast<size_t>(in * in), 0);
  for (int64_t r = 0; r < in; ++r) units[r * in + r] = 1;
  std::vector<int32_t> sums(static_cast<size_t>(in * out));
  const Products products =
      linear({DType::kU8, units.data(), nullptr, nullptr}, in, packed, sums.data());
  for (int64_t c = 0; c < out; ++c) {
    int32_t sum = 0;
    for (int64_t i = 0; i < in; ++i) {
      EXPECT_EQ(sums[i * out + c], quantized.values[c * in + i]);
      sum += quantized.values[c * in + i];
    }
    EXPECT_EQ(products.column_sums[c], sum);
    EXPECT_EQ(products.column_scales[c], quantized.scales[c]);
  }
  const Products tail = products.columns(64);
  EXPECT_EQ(tail.s32, sums.data() + 64);
  EXPECT_EQ(tail.column_sums, products.column_sums + 64);
  EXPECT_EQ(tail.column_scales, products.column_scales + 64);
  EXPECT_EQ(tail.stride, out);
}

TEST(GemmPack, RefusesSizes) {
  const auto code_of = [](int64_t out, int64_t in, DType type) {
    const float value = 1.0f;
    try {
      PackedMatrix::pack(&value, out, in, type);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kCancelled;
  };
  EXPECT_EQ(code_of(0, 4, DType::kF32), ErrorCode::kInternal);
  EXPECT_EQ(code_of(4, -1, DType::kF32), ErrorCode::kInternal);
  // Longer sums would not fit 32 bits.
  EXPECT_EQ(code_of(1, kMaxInt8Features + 1, DType::kI8), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace longformer::kernels
