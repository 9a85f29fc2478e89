// Embedding, feed-forward half and embedding tables against plain loops in double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "base/thread_pool.h"
#include "ops/embedding.h"
#include "ops/feed_forward_block.h"
#include "ops/residual.h"

namespace longformer {
namespace {

std::vector<float> random_values(std::mt19937& engine, int64_t count, float deviation,
                                 float mean = 0) {
  std::normal_distribution<float> normal(mean, deviation);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(engine);
  return values;
}

LayerNorm random_norm(std::mt19937& engine, int64_t width, float eps) {
  return {random_values(engine, width, 0.2f, 1.0f), random_values(engine, width, 0.2f), eps};
}

std::vector<double> normalized(const std::vector<double>& x, const LayerNorm& norm) {
  double mean = 0, variance = 0;
  for (const double value : x) mean += value / static_cast<double>(x.size());
  for (const double value : x)
    variance += (value - mean) * (value - mean) / static_cast<double>(x.size());
  std::vector<double> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    y[i] = (x[i] - mean) / std::sqrt(variance + double{norm.eps}) * norm.gamma[i] + norm.beta[i];
  }
  return y;
}

TEST(Embedding, AddsThreeRowsAndNormalizes) {
  std::mt19937 engine(3);
  const int64_t width = 24;
  const std::vector<float> words = random_values(engine, 30 * width, 1),
                           positions = random_values(engine, 200 * width, 1),
                           types = random_values(engine, 2 * width, 1);
  const auto table = [&](const std::vector<float>& values) {
    const int64_t rows = static_cast<int64_t>(values.size()) / width;
    return EmbeddingTable(make_tensor({rows, width}, std::span<const float>(values)));
  };
  EmbeddingWeights weights{table(words), PositionTable(table(positions)), table(types),
                           random_norm(engine, width, 1e-12f)};
  std::vector<int64_t> ids, places, kinds;
  for (int64_t r = 0; r < 150; ++r) {
    ids.push_back(engine() % 30);
    places.push_back(engine() % 200);
    kinds.push_back(engine() % 2);
  }
  ThreadPool pool(2);
  std::vector<float> x(150 * width);
  embedding(weights, 150, width, ids.data(), places.data(), kinds.data(), x.data(), pool);
  for (int64_t r = 0; r < 150; ++r) {
    std::vector<double> sum(width);
    for (int64_t c = 0; c < width; ++c) {
      sum[c] = double{words[ids[r] * width + c]} + positions[places[r] * width + c] +
               types[kinds[r] * width + c];
    }
    const std::vector<double> want = normalized(sum, weights.norm);
    for (int64_t c = 0; c < width; ++c)
      ASSERT_NEAR(x[r * width + c], want[c], 1e-5) << r << " " << c;
  }
  // Without the other tables: the norm of the word's row.
  weights.position = PositionTable();
  weights.type = EmbeddingTable();
  embedding(weights, 150, width, ids.data(), nullptr, nullptr, x.data(), pool);
  for (int64_t r = 0; r < 150; ++r) {
    const std::vector<double> want = normalized(
        {words.begin() + ids[r] * width, words.begin() + (ids[r] + 1) * width}, weights.norm);
    for (int64_t c = 0; c < width; ++c)
      ASSERT_NEAR(x[r * width + c], want[c], 1e-5) << r << " " << c;
  }
}

// A file may place a tensor at any byte, and may hold half precision.
TEST(EmbeddingTable, ReadsUnalignedAndNarrowRows) {
  const std::vector<float> values = {1.5f, -2.0f, 0.25f, 8.0f, -0.5f, 3.0f};
  std::vector<std::byte> bytes(1 + 6 * sizeof(float));
  std::memcpy(bytes.data() + 1, values.data(), 6 * sizeof(float));
  const Tensor unaligned{DType::kF32, {3, 2}, own_bytes(bytes), 1};
  const Tensor narrow = cast(make_tensor({3, 2}, std::span<const float>(values)), DType::kBF16);
  for (const Tensor& tensor : {unaligned, narrow}) {
    const EmbeddingTable table(tensor);
    EXPECT_EQ(table.rows(), 3);
    float row[2];
    for (int64_t r : {2, 0, 1}) {
      table.read(r, row);
      EXPECT_EQ(row[0], values[2 * r]);
      EXPECT_EQ(row[1], values[2 * r + 1]);
    }
  }
}

TEST(Matrix, RowsAreReadInPlaceOrWidened) {
  const std::vector<float> values = {1.0f, -2.0f, 0.5f, 3.0f, -0.25f, 4.0f};
  const Tensor wide = make_tensor({3, 2}, std::span<const float>(values));
  std::vector<std::byte> shifted(1 + 6 * sizeof(float));
  std::memcpy(shifted.data() + 1, values.data(), 6 * sizeof(float));
  const std::vector<int8_t> steps = {4, -8, 1, 6, -1, 16};
  const std::vector<float> scales = {0.25f, 0.5f, 0.25f};
  std::vector<std::byte> bytes(6);
  std::memcpy(bytes.data(), steps.data(), 6);
  const Matrix matrices[] = {Matrix(wide), Matrix({DType::kF32, {3, 2}, own_bytes(shifted), 1}),
                             Matrix(cast(wide, DType::kBF16)), Matrix(cast(wide, DType::kF64)),
                             Matrix({DType::kI8, {3, 2}, own_bytes(bytes), 0}, scales)};
  for (const Matrix& matrix : matrices) {
    ASSERT_EQ(matrix.rows(), 3);
    ASSERT_EQ(matrix.cols(), 2);
    std::vector<float> buffer;
    for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 3}, {1, 2}, {2, 1}}) {
      const float* const rows = matrix.read(first, count, buffer);
      for (int64_t i = 0; i < 2 * count; ++i) EXPECT_EQ(rows[i], values[2 * first + i]);
      EXPECT_EQ(rows == buffer.data(), &matrix != &matrices[0]);
    }
  }
  EXPECT_EQ(matrices[4].int8_row(1)[1], 6);
  EXPECT_EQ(matrices[4].scales(), scales);
}

TEST(FeedForwardBlock, MatchesItsFormula) {
  std::mt19937 engine(5);
  const int64_t width = 20, inner = 52, rows = 37;
  const std::vector<float> w1 = random_values(engine, inner * width, 0.2f),
                           w2 = random_values(engine, width * inner, 0.2f);
  const std::vector<float> a = random_values(engine, rows * width, 1);
  ThreadPool pool(1);
  FeedForwardWeights weights;
  std::vector<float> y(a.size()), in_place = a, middle(rows * inner), outer(a.size());
  pool.run(1, [&](int64_t, int) {
    weights.inner = {kernels::PackedMatrix::pack(w1.data(), inner, width),
                     random_values(engine, inner, 0.3f)};
    weights.outer = {kernels::PackedMatrix::pack(w2.data(), width, inner),
                     random_values(engine, width, 0.3f)};
    weights.norm = random_norm(engine, width, 1e-5f);
    const auto run = [&](const float* in, float* out) {
      feed_forward_inner(weights, rows, {DType::kF32, in, nullptr, nullptr}, {0, inner},
                         {DType::kF32, middle.data(), inner, nullptr, nullptr}, middle.data());
      add_linear(weights.outer, weights.norm, weights.placement, rows,
                 {DType::kF32, middle.data(), nullptr, nullptr}, in, out, outer.data());
    };
    run(a.data(), y.data());
    run(in_place.data(), in_place.data());
  });
  EXPECT_EQ(y, in_place);
  for (int64_t r = 0; r < rows; ++r) {
    std::vector<double> hidden(inner), sum(width);
    for (int64_t i = 0; i < inner; ++i) {
      double t = weights.inner.bias[i];
      for (int64_t c = 0; c < width; ++c) t += double{a[r * width + c]} * w1[i * width + c];
      hidden[i] = 0.5 * t * (1 + std::erf(t / std::sqrt(2.0)));
    }
    for (int64_t c = 0; c < width; ++c) {
      sum[c] = double{a[r * width + c]} + weights.outer.bias[c];
      for (int64_t i = 0; i < inner; ++i) sum[c] += hidden[i] * w2[c * inner + i];
    }
    const std::vector<double> want = normalized(sum, weights.norm);
    for (int64_t c = 0; c < width; ++c)
      ASSERT_NEAR(y[r * width + c], want[c], 2e-5) << r << " " << c;
  }
}

}  // namespace
}  // namespace longformer
