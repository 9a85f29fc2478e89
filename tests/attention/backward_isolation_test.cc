// What must not reach a derivative: threads, neighbours, padding, what masked and global rows hold.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "backward_case.h"
#include "kernels/gemm.h"

namespace longformer {
namespace {

using testing::alone;
using testing::BackwardCase;
using testing::Derivatives;
using testing::Draws;
using testing::ForwardInputs;
using testing::Random;
using testing::random_inputs;
using testing::random_pattern;
using testing::repro;
using testing::test_cases;

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

bool same_bits(const Derivatives& a, const Derivatives& b) {
  return same_bits(a.q, b.q) && same_bits(a.k, b.k) && same_bits(a.v, b.v);
}

// Rows [begin, end), with `left` and `right` rows of garbage around them.
std::vector<float> cut(const std::vector<float>& values, int64_t row_floats, int64_t begin,
                       int64_t end, int64_t left = 0, int64_t right = 0) {
  std::vector<float> result(static_cast<size_t>(left * row_floats), 3.5f);
  result.insert(result.end(), values.begin() + begin * row_floats,
                values.begin() + end * row_floats);
  result.insert(result.end(), static_cast<size_t>(right * row_floats), -2.5f);
  return result;
}

Derivatives cut(const Derivatives& all, int64_t row_floats, int64_t begin, int64_t end) {
  return {cut(all.q, row_floats, begin, end), cut(all.k, row_floats, begin, end),
          cut(all.v, row_floats, begin, end)};
}

// Long and short sequences, two of them of several chunks, with everything that a batch may hold.
AttentionPattern batch_of_six() {
  AttentionPattern pattern;
  pattern.heads = 3;
  pattern.lengths = {2200, 60, 257, 1, 1100, 2};
  pattern.window = Window{70, 45};
  pattern.dilation = {1, 2, 3};
  pattern.global = {{0, 1350}, {0}, {}, {}, {5, 6, 7, 300}, {1}};
  pattern.valid = {{{0, 2200}}, {{0, 50}}, {{3, 257}}, {{0, 1}}, {{0, 1030}, {1050, 1100}}, {}};
  return pattern;
}

struct Batch {
  AttentionPattern pattern;
  ForwardInputs inputs;
  std::vector<float> d_out;
};

Batch random_batch(const AttentionPattern& pattern, int64_t head_dim, uint64_t seed) {
  Random random(seed);
  Batch batch{pattern, random_inputs(random, pattern, head_dim), {}};
  batch.d_out = random.values(static_cast<int64_t>(batch.inputs.q.size()));
  return batch;
}

template <typename T>
void expect_no_influence_of_threads() {
  for (const int64_t head_dim : {32, 33}) {
    const Batch batch = random_batch(batch_of_six(), head_dim, 41);
    const Draws draws(6, 0.2);
    for (const AttentionDropout* dropout :
         {static_cast<const AttentionDropout*>(nullptr), &draws.dropout}) {
      const BackwardCase<T> pass(batch.pattern, batch.inputs, dropout);
      ThreadPool one(1);
      const Derivatives expected = pass.backward(batch.d_out, one);
      for (const int threads : {2, 3}) {
        ThreadPool pool(threads);
        EXPECT_TRUE(same_bits(pass.backward(batch.d_out, pool), expected)) << threads;
      }
    }
  }
}

TEST(AttentionBackwardBits, ThreadsDoNotMatter) {
  expect_no_influence_of_threads<float>();
  if (kernels::supports(DType::kBF16)) expect_no_influence_of_threads<BFloat16>();
}

template <typename T>
void expect_no_influence_of_neighbours() {
  const int64_t head_dim = 32;
  const Batch batch = random_batch(batch_of_six(), head_dim, 42);
  const int64_t row = batch.pattern.heads * head_dim;
  const Draws draws(6, 0.2);
  ThreadPool pool(2);
  const Derivatives all =
      BackwardCase<T>(batch.pattern, batch.inputs, &draws.dropout).backward(batch.d_out, pool);
  int64_t begin = 0;
  for (size_t s = 0; s < batch.pattern.lengths.size(); ++s) {
    const int64_t end = begin + batch.pattern.lengths[s];
    ForwardInputs inputs = batch.inputs;
    inputs.for_each([&](std::vector<float>& tensor) { tensor = cut(tensor, row, begin, end); });
    const std::vector<uint64_t> keys = {draws.keys[s]};
    const AttentionDropout dropout{draws.dropout.rule, keys};
    const Derivatives got = BackwardCase<T>(alone(batch.pattern, s), inputs, &dropout)
                                .backward(cut(batch.d_out, row, begin, end), pool);
    EXPECT_TRUE(same_bits(got, cut(all, row, begin, end))) << "sequence " << s;
    begin = end;
  }
}

TEST(AttentionBackwardBits, AloneOrInABatch) {
  expect_no_influence_of_neighbours<float>();
  if (kernels::supports(DType::kBF16)) expect_no_influence_of_neighbours<BFloat16>();
}

// Padding gives nothing under kZero; draws are by position, so there is no dropout here.
TEST(AttentionBackwardBits, PaddingDoesNotMatter) {
  ThreadPool pool(2);
  for (int64_t seed = 0; seed < test_cases(40); ++seed) {
    const auto key = static_cast<uint64_t>(seed) + 10'000'000;
    Random random(key);
    AttentionPattern pattern = alone(random_pattern(random), 0);
    if (seed == 0) pattern = alone(batch_of_six(), 0);
    pattern.masked_query = MaskedQuery::kZero;
    SCOPED_TRACE(repro(key, pattern));
    const int64_t n = pattern.lengths[0], head_dim = 16, row = pattern.heads * head_dim;
    const Batch batch = random_batch(pattern, head_dim, key);
    const Derivatives expected =
        BackwardCase<float>(pattern, batch.inputs, nullptr).backward(batch.d_out, pool);
    for (const auto& [left, right] : {std::pair<int64_t, int64_t>{0, 1},
                                      {0, random.between(2, 300)},
                                      {random.between(1, 1300), random.between(0, 100)}}) {
      ForwardInputs inputs = batch.inputs;
      inputs.for_each(
          [&](std::vector<float>& tensor) { tensor = cut(tensor, row, 0, n, left, right); });
      const Derivatives padded =
          BackwardCase<float>(alone(pattern, 0, left, right), inputs, nullptr)
              .backward(cut(batch.d_out, row, 0, n, left, right), pool);
      ASSERT_TRUE(same_bits(cut(padded, row, left, left + n), expected))
          << left << " left, " << right << " right";
    }
  }
}

// NaN in rows that are masked, and in what comes back to global rows, stays there.
TEST(AttentionBackwardMasking, NansOfRowsThatAddNothingStayThere) {
  ThreadPool pool(2);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t seed = 0; seed < test_cases(60); ++seed) {
    const auto key = static_cast<uint64_t>(seed) + 11'000'000;
    Random random(key);
    AttentionPattern pattern = random_pattern(random);
    pattern.masked_query = MaskedQuery::kZero;
    SCOPED_TRACE(repro(key, pattern));
    const int64_t head_dim = 16, row_floats = pattern.heads * head_dim;
    const Batch batch = random_batch(pattern, head_dim, key);
    Batch poisoned = batch;
    int64_t row = 0;
    for (int64_t s = 0; s < static_cast<int64_t>(pattern.lengths.size()); ++s) {
      for (int64_t i = 0; i < pattern.lengths[static_cast<size_t>(s)]; ++i, ++row) {
        const auto fill = [&](std::vector<float>& tensor) {
          std::fill_n(tensor.begin() + row * row_floats, row_floats, nan);
        };
        if (!is_valid(pattern, s, i)) poisoned.inputs.for_each(fill);
        if (is_global(pattern, s, i)) fill(poisoned.inputs.q);
        if (!is_valid(pattern, s, i) || is_global(pattern, s, i)) fill(poisoned.d_out);
      }
    }
    const Derivatives expected =
        BackwardCase<float>(pattern, batch.inputs, nullptr).backward(batch.d_out, pool);
    const Derivatives actual =
        BackwardCase<float>(pattern, poisoned.inputs, nullptr).backward(poisoned.d_out, pool);
    ASSERT_TRUE(same_bits(actual, expected));
  }
}

// A key's derivatives come from exactly the queries that count it.
TEST(AttentionBackwardInfluence, EndsExactlyAtTheReach) {
  AttentionPattern pattern;
  pattern.heads = 2;
  pattern.lengths = {400};
  pattern.window = Window{37, 50};
  pattern.dilation = {1, 3};
  pattern.global = {{200}};
  ThreadPool pool(2);
  const int64_t head_dim = 8, row = 16;
  Batch batch = random_batch(pattern, head_dim, 43);
  for (const int64_t query : {0, 63, 64, 127, 128, 199, 200, 201, 399}) {
    std::fill(batch.d_out.begin(), batch.d_out.end(), 0.0f);
    std::fill_n(batch.d_out.begin() + query * row, row, 1.0f);
    const Derivatives got =
        BackwardCase<float>(pattern, batch.inputs, nullptr).backward(batch.d_out, pool);
    for (int64_t j = 0; j < 400; ++j) {
      for (int64_t h = 0; h < 2; ++h) {
        bool any = false;
        for (int64_t c = 0; c < head_dim; ++c) {
          any |= got.v[static_cast<size_t>(j * row + h * head_dim + c)] != 0.0f;
        }
        const bool counts = query != 200 && count(pattern, 0, h, query, j) != 0;
        ASSERT_EQ(any, counts) << "query " << query << ", key " << j << ", head " << h;
      }
    }
  }
}

}  // namespace
}  // namespace longformer
