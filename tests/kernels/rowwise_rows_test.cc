// Rows on their way into a product, in f32, bf16 and u8, on every SIMD target.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kernels/rowwise.h"
#include "rowwise_operands.h"
#include "targets.h"

namespace longformer::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kDenormal = std::numeric_limits<float>::denorm_min();
constexpr int64_t kColumns[] = {1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 100, 257, 768};

TEST(RowwiseRows, FloatsAreCopied) {
  for_each_target([](const std::string&) {
    for (const int64_t cols : kColumns) {
      Values x = random_values(4 * cols, 1);
      x[cols] = kNan;
      TestRows out(DType::kF32, 4, cols);
      to_rows(4, cols, x.data(), out.buffer());
      EXPECT_TRUE(out.guards_stand());
      for (int64_t r = 0; r < 4; ++r) {
        ASSERT_TRUE(same_bits(&out.f32[r * out.stride], &x[r * cols], cols));
      }
      Values in_place = x;
      to_rows(4, cols, in_place.data(), {.data = in_place.data(), .stride = cols});
      ASSERT_TRUE(same_bits(in_place.data(), x.data(), 4 * cols));
    }
  });
}

// The nearer of the two bf16 numbers around |x|, the even one of two equally near: by distance,
// with 2^128 in the place of infinity.
uint16_t nearest_bf16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const auto below = static_cast<uint16_t>(bits >> 16 & 0x7FFFu);
  if (std::isnan(x)) return static_cast<uint16_t>(sign | below | 0x40u);
  if (std::isinf(x)) return static_cast<uint16_t>(sign | below);
  const auto number = [](uint16_t upper) {
    return upper == 0x7F80u ? 0x1p128 : double{bf16_to_f32(upper)};
  };
  const auto above = static_cast<uint16_t>(below + 1);
  const double magnitude = std::abs(double{x});
  const double down = magnitude - number(below), up = number(above) - magnitude;
  const bool take_above = up < down || (up == down && below % 2 == 1);
  return static_cast<uint16_t>(sign | (take_above ? above : below));
}

// All exponents with all upper halves and the lower halves around ties; every float when slow.
TEST(RowwiseRows, BFloat16IsTheNearestEven) {
  for_each_target([](const std::string&) {
    Values x;
    std::vector<BFloat16> y;
    const auto flush = [&] {
      y.assign(x.size(), BFloat16{0});
      const auto count = static_cast<int64_t>(x.size());
      to_rows(1, count, x.data(), {.type = DType::kBF16, .data = y.data(), .stride = count});
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(y[i].bits, nearest_bf16(x[i])) << std::bit_cast<uint32_t>(x[i]);
      }
      x.clear();
    };
    const std::vector<uint32_t> lower = {0, 1, 0x1234, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
    for (uint32_t upper = 0; upper < 0x10000; ++upper) {
      if (slow_tests()) {
        for (uint32_t low = 0; low < 0x10000; ++low) {
          x.push_back(std::bit_cast<float>(upper << 16 | low));
        }
      } else {
        for (const uint32_t low : lower) x.push_back(std::bit_cast<float>(upper << 16 | low));
      }
      if (x.size() > 4000) flush();
      if (::testing::Test::HasFatalFailure()) return;
    }
    flush();
  });
}

TEST(RowwiseRows, BFloat16RowsMayHaveAStride) {
  for_each_target([](const std::string&) {
    for (const int64_t cols : kColumns) {
      const Values x = random_values(3 * cols, 2);
      TestRows out(DType::kBF16, 3, cols);
      to_rows(3, cols, x.data(), out.buffer());
      EXPECT_TRUE(out.guards_stand());
      for (int64_t i = 0; i < 3 * cols; ++i) {
        ASSERT_EQ(out.bf16[i / cols * out.stride + i % cols].bits, nearest_bf16(x[i]));
      }
    }
  });
}

// Scale and zero as rowwise_rows-inl.h states them, and what they promise.
void expect_steps(const Values& row, const uint8_t* u8, float scale, int32_t zero) {
  const float lowest = std::min(0.0f, *std::min_element(row.begin(), row.end()));
  const float highest = std::max(0.0f, *std::max_element(row.begin(), row.end()));
  const float step = (highest - lowest) / 255.0f;
  ASSERT_EQ(scale, step < std::numeric_limits<float>::min() ? 1.0f : step);
  ASSERT_GE(zero, 0);
  ASSERT_LE(zero, 255);
  for (size_t c = 0; c < row.size(); ++c) {
    const double stands_for = (int{u8[c]} - zero) * double{scale};
    ASSERT_LE(std::abs(stands_for - row[c]), scale * (0.5 + 0x1p-14)) << row[c] << " " << scale;
    ASSERT_TRUE(row[c] != 0.0f || u8[c] == zero);
  }
  std::vector<size_t> order(row.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return row[a] < row[b]; });
  for (size_t i = 1; i < order.size(); ++i) ASSERT_LE(u8[order[i - 1]], u8[order[i]]);
}

// Rows of all signs and magnitudes.
std::vector<Values> rows_of(int64_t cols) {
  std::vector<Values> rows;
  for (const auto& [scale, shift] :
       {std::pair{1.0f, 0.0f}, {1.0f, 30.0f}, {1.0f, -30.0f}, {0.1f, 0.3f}, {1e30f, 0.0f}}) {
    rows.push_back(random_values(cols, static_cast<uint32_t>(rows.size()), scale, shift));
  }
  for (const float value : {0.0f, -0.0f, 1.0f, -1.0f, kDenormal, -kDenormal, 1e-36f, -1e-37f,
                            3e-36f, kLargest, -kLargest}) {
    rows.emplace_back(cols, value);
    rows.emplace_back(cols, 0.0f);
    rows.back()[cols / 2] = value;
  }
  Values ties;  // halves between steps: the largest step is 1, the zero point lies between two
  for (int64_t c = 0; c < cols; ++c) ties.push_back(static_cast<float>(c % 256) - 127.5f);
  rows.push_back(ties);
  Values outlier = random_values(cols, 9);
  outlier[0] = 1000.0f;
  rows.push_back(outlier);
  return rows;
}

TEST(RowwiseRows, U8IsTheNearestOf256Steps) {
  for_each_target([](const std::string&) {
    for (const int64_t cols : kColumns) {
      const std::vector<Values> rows = rows_of(cols);
      const auto count = static_cast<int64_t>(rows.size());
      Values x;
      for (const Values& row : rows) x.insert(x.end(), row.begin(), row.end());
      TestRows out(DType::kU8, count, cols);
      to_rows(count, cols, x.data(), out.buffer());
      EXPECT_TRUE(out.guards_stand());
      for (int64_t r = 0; r < count; ++r) {
        SCOPED_TRACE("row " + std::to_string(r) + " of " + std::to_string(cols));
        expect_steps(rows[r], &out.u8[r * cols], out.scales[r], out.zeros[r]);
        TestRows alone(DType::kU8, 1, cols);
        to_rows(1, cols, rows[r].data(), alone.buffer());
        ASSERT_TRUE(same_bits(alone.u8.data(), &out.u8[r * cols], cols));
        ASSERT_EQ(alone.scales[0], out.scales[r]);
        ASSERT_EQ(alone.zeros[0], out.zeros[r]);
      }
    }
  });
}

TEST(RowwiseRows, U8RowsThatAreNotFiniteHaveNoScale) {
  const auto negative_nan = std::bit_cast<float>(0xFFC00001u);
  for_each_target([&](const std::string&) {
    for (const int64_t cols : {1, 5, 16, 35, 64}) {
      for (const float value :
           {kNan, negative_nan, std::bit_cast<float>(0x7F800001u), kInfinity, -kInfinity}) {
        for (int64_t position = 0; position < cols; ++position) {
          Values x = random_values(3 * cols, 3);
          x[cols + position] = value;
          TestRows out(DType::kU8, 3, cols);
          to_rows(3, cols, x.data(), out.buffer());
          EXPECT_TRUE(out.guards_stand());
          ASSERT_TRUE(std::isnan(out.scales[1])) << value << " at " << position;
          for (const int64_t r : {0, 2}) {
            const Values row(x.begin() + r * cols, x.begin() + (r + 1) * cols);
            expect_steps(row, &out.u8[r * cols], out.scales[r], out.zeros[r]);
          }
        }
      }
    }
    // Finite, but max - min is not.
    const Values x = {kLargest, -kLargest};
    TestRows out(DType::kU8, 1, 2);
    to_rows(1, 2, x.data(), out.buffer());
    EXPECT_TRUE(std::isnan(out.scales[0]));
  });
}

}  // namespace
}  // namespace longformer::kernels
