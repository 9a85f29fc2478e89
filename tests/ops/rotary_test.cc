// Frequencies, angles, and position tables that serve more positions than they have rows.
#include "ops/rotary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/thread_pool.h"
#include "ops/weights.h"

namespace longformer {
namespace {

// Published for heads of 64.
TEST(Rotary, FrequenciesAreThePublishedOnes) {
  const std::vector<float> global = rotary_frequencies(160000, 64);
  ASSERT_EQ(global.size(), 32u);
  EXPECT_EQ(global[0], 1.0f);
  EXPECT_FLOAT_EQ(global[1], 0.687656045f);
  EXPECT_FLOAT_EQ(global[2], 0.472870797f);
  EXPECT_FLOAT_EQ(global[16], 0.0025f);
  EXPECT_FLOAT_EQ(global[31], 9.08884704e-06f);
  const std::vector<float> local = rotary_frequencies(10000, 64);
  EXPECT_FLOAT_EQ(local[1], 0.749894202f);
  EXPECT_FLOAT_EQ(local[31], 1.33352150e-04f);
}

TEST(Rotary, AnglesFollowThePositionsGiven) {
  ThreadPool pool(2);
  std::vector<int64_t> positions;
  for (int64_t r = 0; r < 700; ++r) positions.push_back(r * 37 % 5000);
  const RotaryAngles angles = make_rotary_angles(positions, 10000, 8, pool);
  const std::vector<float> frequencies = rotary_frequencies(10000, 8);
  ASSERT_EQ(angles.cosines.size(), 700u * 4);
  for (size_t r = 0; r < positions.size(); ++r) {
    for (size_t c = 0; c < 4; ++c) {
      const float angle = static_cast<float>(positions[r]) * frequencies[c];
      ASSERT_NEAR(angles.cosines[r * 4 + c], std::cos(double{angle}), 1e-7);
      ASSERT_NEAR(angles.sines[r * 4 + c], std::sin(double{angle}), 1e-7);
    }
  }
}

// Rows 0, 10, 20, …, so that a value says where it was read.
EmbeddingTable ramp(int64_t rows) {
  std::vector<float> values;
  for (int64_t r = 0; r < rows; ++r) values.insert(values.end(), {10.0f * r, -10.0f * r});
  return EmbeddingTable(make_tensor({rows, 2}, std::span<const float>(values)));
}

float value_at(const PositionTable& table, int64_t index) {
  float row[2];
  table.read(index, row);
  EXPECT_EQ(row[1], -row[0]);
  return row[0];
}

TEST(PositionTable, AsStoredIsTheTable) {
  const PositionTable table(ramp(4));
  for (int64_t k = 0; k < 4; ++k) EXPECT_EQ(value_at(table, k), 10.0f * k);
}

TEST(PositionTable, RepeatStartsTheBodyAgain) {
  // Two reserved rows, a body of three: 20, 30, 40.
  const PositionTable table(ramp(5), PositionTable::Reading::kRepeat, 2, 8);
  const float want[] = {0, 10, 20, 30, 40, 20, 30, 40, 20, 30};
  for (int64_t k = 0; k < 10; ++k) EXPECT_EQ(value_at(table, k), want[k]) << k;
}

TEST(PositionTable, InterpolateSpansTheNewLength) {
  // The body 20, 30, 40 over nine positions: a quarter of a row a step.
  const PositionTable table(ramp(5), PositionTable::Reading::kInterpolate, 2, 9);
  EXPECT_EQ(value_at(table, 0), 0.0f);
  EXPECT_EQ(value_at(table, 1), 10.0f);
  for (int64_t k = 0; k < 9; ++k) EXPECT_FLOAT_EQ(value_at(table, 2 + k), 20.0f + 2.5f * k) << k;
  const PositionTable one(ramp(3), PositionTable::Reading::kInterpolate, 2, 4);
  for (int64_t k = 0; k < 4; ++k) EXPECT_EQ(value_at(one, 2 + k), 20.0f);
}

}  // namespace
}  // namespace longformer
