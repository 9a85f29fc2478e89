#include "io/collection/vector_segment.h"

#include <cmath>
#include <random>

#include "io/testing.h"

namespace longformer::io {
namespace {

class VectorSegmentTest : public DirectoryTest {
 protected:
  static std::vector<float> vector(int64_t seed, int64_t dims) {
    std::mt19937 random(static_cast<unsigned>(seed));
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<size_t>(dims));
    for (float& value : values) value = normal(random);
    return values;
  }
  static std::vector<float> stored(const VectorReader& reader, int64_t position) {
    std::vector<float> values(static_cast<size_t>(reader.layout().dims));
    decode_vector(reader.layout(), reader.row(position), values);
    return values;
  }
  // Four rows a segment.
  static VectorLayout small(VectorKind kind, int64_t dims = 6) {
    VectorLayout layout{kind, dims, 0};
    layout.segment_bytes = 4 * layout.row_bytes();
    return layout;
  }
};

TEST_F(VectorSegmentTest, F32IsExactAndPositionsCrossSegments) {
  const VectorLayout layout = small(VectorKind::kF32);
  VectorWriter writer(directory_, layout, 1, 0);
  for (int64_t i = 0; i < 11; ++i) EXPECT_EQ(writer.append(vector(i, 6)), i);
  writer.sync();
  EXPECT_EQ(names(),
            (std::vector<std::string>{"vectors-1-0.bin", "vectors-1-1.bin", "vectors-1-2.bin"}));
  const VectorReader reader(directory_, layout, 1, 11);
  for (int64_t i = 0; i < 11; ++i) EXPECT_EQ(stored(reader, i), vector(i, 6)) << i;
  EXPECT_EQ(reader.contiguous(0), 4);
  EXPECT_EQ(reader.contiguous(6), 2);
  EXPECT_EQ(reader.contiguous(8), 3);
}

TEST_F(VectorSegmentTest, RoundingKeepsLengthAndDirection) {
  for (const VectorKind kind : {VectorKind::kF16, VectorKind::kInt8}) {
    for (const int64_t dims : {1, 3, 384}) {
      const VectorLayout layout{kind, dims};
      const std::vector<float> values = vector(7, dims);
      std::vector<std::byte> row(static_cast<size_t>(layout.row_bytes()));
      encode_vector(layout, values, row);
      std::vector<float> back(static_cast<size_t>(dims));
      decode_vector(layout, row, back);
      double length = 0;
      double length_back = 0;
      float largest = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        length += static_cast<double>(values[i]) * static_cast<double>(values[i]);
        length_back += static_cast<double>(back[i]) * static_cast<double>(back[i]);
        largest = std::max(largest, std::abs(values[i]));
      }
      // int8: half a step, and a little for the length that is put right.
      const float step = kind == VectorKind::kF16 ? 0.001f : 0.6f / 127;
      for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(back[i], values[i], step * largest);
      EXPECT_NEAR(std::sqrt(length_back / length), 1.0, kind == VectorKind::kF16 ? 1e-3 : 1e-6);
    }
  }
}

TEST_F(VectorSegmentTest, Int8IsTheStatedFormula) {
  const VectorLayout layout{VectorKind::kInt8, 3};
  EXPECT_EQ(layout.row_bytes(), 8);
  std::vector<std::byte> row(8);
  encode_vector(layout, std::vector<float>{0.5f, -1.0f, 0.25f}, row);
  const auto value = [&](size_t i) { return static_cast<int>(static_cast<int8_t>(row[4 + i])); };
  EXPECT_EQ(value(0), 64);  // 63.5, to even
  EXPECT_EQ(value(1), -127);
  EXPECT_EQ(value(2), 32);  // 31.75
  EXPECT_EQ(value(3), 0);   // padding
  float scale;
  std::memcpy(&scale, row.data(), 4);
  EXPECT_FLOAT_EQ(scale, static_cast<float>(std::sqrt(1.3125 / (64 * 64 + 127 * 127 + 32 * 32))));
  encode_vector(layout, std::vector<float>{0, 0, 0}, row);
  EXPECT_EQ(row, std::vector<std::byte>(8));
}

TEST_F(VectorSegmentTest, WhatAKilledWriterLeftIsCutOff) {
  for (const VectorKind kind : {VectorKind::kF32, VectorKind::kF16, VectorKind::kInt8}) {
    const VectorLayout layout = small(kind);
    const std::filesystem::path place = directory_ / vector_kind_name(kind);
    std::filesystem::create_directory(place);
    {
      VectorWriter writer(place, layout, 1, 0);
      for (int64_t i = 0; i < 10; ++i) writer.append(vector(i, 6));
      writer.sync();
    }
    // Only six of them were committed.
    VectorWriter writer(place, layout, 1, 6);
    EXPECT_FALSE(std::filesystem::exists(segment_path(place, 1, 2)));
    EXPECT_EQ(writer.append(vector(100, 6)), 6);
    writer.append(vector(101, 6));
    writer.truncate(7);
    EXPECT_EQ(writer.append(vector(102, 6)), 7);
    writer.append(vector(103, 6));
    writer.sync();
    const VectorReader reader(place, layout, 1, 9);
    std::vector<std::byte> row(static_cast<size_t>(layout.row_bytes()));
    const int64_t seeds[] = {0, 1, 2, 3, 4, 5, 100, 102, 103};
    for (int64_t i = 0; i < 9; ++i) {
      encode_vector(layout, vector(seeds[i], 6), row);
      EXPECT_TRUE(std::equal(row.begin(), row.end(), reader.row(i).begin())) << i;
    }
  }
}

TEST_F(VectorSegmentTest, TruncatingToNothingStartsAgain) {
  const VectorLayout layout = small(VectorKind::kInt8);
  VectorWriter writer(directory_, layout, 1, 0);
  for (int64_t i = 0; i < 9; ++i) writer.append(vector(i, 6));
  writer.sync();
  writer.truncate(0);
  EXPECT_EQ(names(), std::vector<std::string>{});
  EXPECT_EQ(writer.append(vector(1, 6)), 0);
  writer.sync();
  EXPECT_EQ(VectorReader(directory_, layout, 1, 1).rows(), 1);
}

TEST_F(VectorSegmentTest, OldGenerationsGo) {
  const VectorLayout layout = small(VectorKind::kInt8);
  for (const int64_t generation : {1, 2, 12}) {
    VectorWriter writer(directory_, layout, generation, 0);
    writer.append(vector(1, 6));
    writer.sync();
  }
  put("vectors.txt", "not ours");
  put("vectors-of-mine.bin", "not ours");
  remove_other_generations(directory_, 2);
  EXPECT_EQ(names(),
            (std::vector<std::string>{"vectors-2-0.bin", "vectors-of-mine.bin", "vectors.txt"}));
}

TEST_F(VectorSegmentTest, BrokenSegmentsAreRefused) {
  const VectorLayout layout = small(VectorKind::kInt8);
  {
    VectorWriter writer(directory_, layout, 1, 0);
    for (int64_t i = 0; i < 4; ++i) writer.append(vector(i, 6));
    writer.sync();
  }
  const std::string segment = path("vectors-1-0.bin");
  const std::string whole = slurp(segment);
  const auto read = [&](int64_t rows) { VectorReader(directory_, layout, 1, rows); };
  const auto write = [&](int64_t rows) { VectorWriter(directory_, layout, 1, rows); };
  read(4);
  write(4);
  expect_error(ErrorCode::kNotFound, {"vectors-1-1.bin"}, [&] { read(5); });
  expect_error(ErrorCode::kNotFound, {"vectors-1-1.bin"}, [&] { write(5); });
  put("vectors-1-0.bin", whole.substr(0, whole.size() - 1));
  read(3);
  expect_error(ErrorCode::kInvalidFile, {segment, "cut short", "--rebuild"}, [&] { read(4); });
  expect_error(ErrorCode::kInvalidFile, {"cut short"}, [&] { write(4); });
  expect_error(ErrorCode::kInvalidFile, {"out of range"}, [&] { read(-1); });
  expect_error(ErrorCode::kInvalidFile, {"out of range"}, [&] { read(int64_t{1} << 60); });
  for (const size_t size : {0u, 5u, 63u, 64u, 70u}) {
    put("vectors-1-0.bin", whole.substr(0, size));
    expect_error(ErrorCode::kInvalidFile, {"cut short"}, [&] { read(3); });
    expect_error(ErrorCode::kInvalidFile, {"cut short"}, [&] { write(3); });
  }
  for (const size_t place : {0u, 8u, 12u, 16u, 24u, 32u, 40u}) {
    std::string broken = whole;
    broken[place] ^= 1;
    put("vectors-1-0.bin", broken);
    expect_error(ErrorCode::kInvalidFile, {segment}, [&] { read(3); });
    expect_error(ErrorCode::kInvalidFile, {segment}, [&] { write(3); });
  }
  // Another kind or size of vectors than the file's.
  put("vectors-1-0.bin", whole);
  expect_error(ErrorCode::kInvalidFile, {"does not belong"},
               [&] { VectorReader(directory_, small(VectorKind::kF16), 1, 3); });
  expect_error(ErrorCode::kInvalidFile, {"does not belong"},
               [&] { VectorReader(directory_, small(VectorKind::kInt8, 7), 1, 3); });
  std::filesystem::remove(segment);
  std::filesystem::create_directory(segment);
  EXPECT_THROW(read(3), Error);
  EXPECT_THROW(write(3), Error);
}

}  // namespace
}  // namespace longformer::io
