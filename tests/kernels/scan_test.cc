#include "kernels/scan.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "kernels/targets.h"
#include "tensor/dtype.h"

namespace longformer::kernels {
namespace {

// Lengths around the widths of vectors, and real ones.
const std::vector<int64_t> kLengths = {1,  2,  7,  8,  15,  16,  17,  31,
                                       33, 63, 64, 65, 127, 384, 387, 768};

std::vector<float> random_values(std::mt19937& random, int64_t count) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

double exact_dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

double size_of_terms(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += std::abs(static_cast<double>(a[i]) * static_cast<double>(b[i]));
  return sum;
}

// A table of `rows` rows at odd addresses: stride and start are no multiples of anything.
struct Table {
  int64_t stride;
  std::vector<std::byte> bytes;
  std::byte* row(int64_t r) { return bytes.data() + 1 + r * stride; }
  Table(int64_t rows, int64_t row_bytes)
      : stride(row_bytes + 3), bytes(static_cast<size_t>(1 + rows * stride)) {}
};

TEST(Scan, FloatsAgreeWithExactSums) {
  for_each_target([](const std::string&) {
    std::mt19937 random(1);
    for (const int64_t cols : kLengths) {
      const std::vector<float> query = random_values(random, cols);
      Table f32(5, 4 * cols);
      Table f16(5, 2 * cols);
      std::vector<std::vector<float>> rows;
      std::vector<std::vector<float>> halves;
      for (int64_t r = 0; r < 5; ++r) {
        rows.push_back(random_values(random, cols));
        std::memcpy(f32.row(r), rows.back().data(), rows.back().size() * 4);
        halves.emplace_back();
        for (size_t c = 0; c < rows.back().size(); ++c) {
          const uint16_t half = f32_to_f16(rows.back()[c]);
          std::memcpy(f16.row(r) + 2 * c, &half, 2);
          halves.back().push_back(f16_to_f32(half));
        }
      }
      float out[5];
      scan_f32(5, cols, f32.row(0), f32.stride, query.data(), out);
      for (size_t r = 0; r < 5; ++r) {
        EXPECT_NEAR(out[r], exact_dot(rows[r], query),
                    1e-6 * size_of_terms(rows[r], query) + 1e-30);
      }
      scan_f16(5, cols, f16.row(0), f16.stride, query.data(), out);
      for (size_t r = 0; r < 5; ++r) {
        EXPECT_NEAR(out[r], exact_dot(halves[r], query),
                    1e-6 * size_of_terms(halves[r], query) + 1e-30);
      }
    }
  });
}

TEST(Scan, IntegersAreExactOnEveryTarget) {
  for_each_target([](const std::string&) {
    std::mt19937 random(2);
    for (const int64_t cols : kLengths) {
      IntegerQuery query;
      query.scale = 0.25f;
      Table table(4, 4 + cols);
      std::vector<int64_t> expected(4, 0);
      const int64_t limit = std::min<int64_t>(INT16_MAX, INT32_MAX / (128 * cols));
      for (int64_t c = 0; c < cols; ++c) {
        query.values.push_back(static_cast<int16_t>(
            static_cast<int64_t>(random() % static_cast<uint32_t>(2 * limit + 1)) - limit));
      }
      const float scales[4] = {1.0f, 0.5f, 0.0f, 3e-3f};
      for (int64_t r = 0; r < 4; ++r) {
        std::memcpy(table.row(r), &scales[r], 4);
        for (int64_t c = 0; c < cols; ++c) {
          const auto value = static_cast<int8_t>(static_cast<int64_t>(random() % 256) - 128);
          std::memcpy(table.row(r) + 4 + c, &value, 1);
          expected[static_cast<size_t>(r)] += int64_t{value} * query.values[static_cast<size_t>(c)];
        }
      }
      float out[4];
      scan_int8(4, table.row(0), table.stride, query, out);
      for (size_t r = 0; r < 4; ++r) {
        EXPECT_EQ(out[r], static_cast<float>(expected[r]) * scales[r] * 0.25f) << cols;
      }
    }
  });
}

TEST(Scan, TheLargestSumFitsInto32Bits) {
  for_each_target([](const std::string&) {
    for (const int64_t cols : {1, 384, 4096, 65'536}) {
      const IntegerQuery query =
          quantize_query(std::vector<float>(static_cast<size_t>(cols), -2.0f));
      Table table(1, 4 + cols);
      const float scale = 1.0f;
      std::memcpy(table.row(0), &scale, 4);
      std::memset(table.row(0) + 4, 0x80, static_cast<size_t>(cols));  // -128, the worst byte
      float out;
      scan_int8(1, table.row(0), table.stride, query, &out);
      EXPECT_NEAR(out, 256.0 * static_cast<double>(cols), 1e-6 * 256.0 * static_cast<double>(cols));
    }
  });
}

TEST(Scan, AQuantizedQueryIsNear) {
  std::mt19937 random(4);
  for (const int64_t cols : {3, 384, 768, 4096}) {
    const std::vector<float> query = random_values(random, cols);
    const IntegerQuery integers = quantize_query(query);
    const float largest = *std::max_element(
        query.begin(), query.end(), [](float a, float b) { return std::abs(a) < std::abs(b); });
    // Half a step of at least 12 bits.
    for (size_t c = 0; c < query.size(); ++c) {
      EXPECT_NEAR(static_cast<float>(integers.values[c]) * integers.scale, query[c],
                  std::abs(largest) * 0.51f / 4095);
    }
  }
  const IntegerQuery zero = quantize_query(std::vector<float>(5, 0.0f));
  EXPECT_EQ(zero.values, std::vector<int16_t>(5, 0));
}

}  // namespace
}  // namespace longformer::kernels
