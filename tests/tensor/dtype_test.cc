#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace longformer {
namespace {

// The value of IEEE half bits from its definition.
double half_value(uint32_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double mantissa = bits & 1023;
  if (exponent == 31) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(F16, WidensEveryPattern) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const double expected = half_value(bits);
    const float got = f16_to_f32(static_cast<uint16_t>(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << bits;
    } else {
      ASSERT_EQ(got, expected) << bits;
      ASSERT_EQ(std::signbit(got), (bits & 0x8000) != 0) << bits;
    }
  }
}

// Checks that narrow() sends each finite value to itself, points between two neighbours to the
// nearer one, and the middle to the one with an even last bit. `finite` is the number of finite
// non-negative patterns.
template <typename Widen, typename Narrow>
void check_rounding(uint32_t finite, Widen widen, Narrow narrow) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (uint32_t low = 0; low + 1 < finite; ++low) {
    const float a = widen(low), b = widen(low + 1);
    const double exact = (static_cast<double>(a) + b) / 2;
    const float middle = static_cast<float>(exact);
    ASSERT_EQ(middle, exact) << "the middle is a float";
    const uint32_t even = low + (low & 1);
    ASSERT_EQ(narrow(a), low);
    ASSERT_EQ(narrow(-a), low | 0x8000u);
    ASSERT_EQ(narrow(middle), even);
    ASSERT_EQ(narrow(-middle), even | 0x8000u);
    ASSERT_EQ(narrow(std::nextafter(middle, 0.0f)), low);
    ASSERT_EQ(narrow(std::nextafter(middle, kInfinity)), low + 1);
  }
}

TEST(F16, NarrowsToNearestEven) {
  check_rounding(
      0x7C00, [](uint32_t bits) { return f16_to_f32(static_cast<uint16_t>(bits)); }, f32_to_f16);
}

TEST(F16, NarrowsTheEnds) {
  EXPECT_EQ(f32_to_f16(65504.0f), 0x7BFF);
  EXPECT_EQ(f32_to_f16(std::nextafter(65520.0f, 0.0f)), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7C00);
  EXPECT_EQ(f32_to_f16(-std::numeric_limits<float>::infinity()), 0xFC00);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::quiet_NaN()) & 0x7FFF, 0x7E00);
}

TEST(BF16, WidensToTheUpperHalf) {
  EXPECT_EQ(bf16_to_f32(0x3F80), 1.0f);
  EXPECT_EQ(bf16_to_f32(0xC0A0), -5.0f);
  EXPECT_EQ(bf16_to_f32(0x0001), std::ldexp(1.0f, -133));
  EXPECT_TRUE(std::isnan(bf16_to_f32(0x7FC0)));
}

TEST(BF16, NarrowsToNearestEven) {
  check_rounding(
      0x7F80, [](uint32_t bits) { return bf16_to_f32(static_cast<uint16_t>(bits)); }, f32_to_bf16);
}

TEST(BF16, NarrowsTheEnds) {
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7F80);  // rounds to infinity
  EXPECT_EQ(f32_to_bf16(-std::numeric_limits<float>::infinity()), 0xFF80);
  // A NaN whose only bits are the low ones must not become infinity.
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x7F800001u)), 0x7FC0);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0xFFFFFFFFu)), 0xFFFF);
}

TEST(DType, NamesAndSizesOfTheFormat) {
  EXPECT_EQ(dtype_from_name("BF16"), DType::kBF16);
  EXPECT_EQ(dtype_size(DType::kBF16), 2u);
  EXPECT_EQ(dtype_from_name("BOOL"), DType::kBool);
  EXPECT_EQ(dtype_size(DType::kBool), 1u);
  EXPECT_EQ(dtype_name(DType::kF64), "F64");
  EXPECT_EQ(dtype_size(DType::kI64), 8u);
  for (const char* const name : {"", "f32", "F32 ", "F8_E4M3", "F4"}) {
    EXPECT_FALSE(dtype_from_name(name)) << name;
  }
  for (int i = 0; i <= static_cast<int>(DType::kF64); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(dtype_name(dtype)), dtype);
    const bool floating = dtype_name(dtype).find('F') != std::string_view::npos;
    EXPECT_EQ(is_floating(dtype), floating);
  }
}

}  // namespace
}  // namespace longformer
