// What must not reach a row: threads, neighbours, padding, masked values, keys beyond the reach.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "forward_case.h"

namespace longformer {
namespace {

using testing::alone;
using testing::ForwardInputs;
using testing::ForwardOutputs;
using testing::Random;
using testing::random_inputs;
using testing::random_pattern;
using testing::repro;
using testing::run_forward;
using testing::test_cases;
using testing::total_rows;

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

bool same_bits(const ForwardOutputs& a, const ForwardOutputs& b) {
  return same_bits(a.out, b.out) && same_bits(a.lse, b.lse);
}

std::vector<float> slice(const std::vector<float>& values, int64_t begin, int64_t end) {
  return std::vector<float>(values.begin() + begin, values.begin() + end);
}

// Rows [begin, end) of the outputs.
ForwardOutputs rows_of(const AttentionPattern& pattern, int64_t head_dim,
                       const ForwardOutputs& outputs, int64_t begin, int64_t end) {
  const int64_t heads = pattern.heads;
  return {slice(outputs.out, begin * heads * head_dim, end * heads * head_dim),
          slice(outputs.lse, begin * heads, end * heads)};
}

// The inputs of one sequence with `left` and `right` rows of garbage around it.
ForwardInputs cut_inputs(const AttentionPattern& pattern, ForwardInputs inputs, int64_t begin,
                         int64_t end, int64_t left = 0, int64_t right = 0) {
  const int64_t row = pattern.heads * inputs.head_dim;
  inputs.for_each([&](std::vector<float>& tensor) {
    std::vector<float> cut(static_cast<size_t>(left * row), 3.5f);
    cut.insert(cut.end(), tensor.begin() + begin * row, tensor.begin() + end * row);
    cut.insert(cut.end(), static_cast<size_t>(right * row), -2.5f);
    tensor = std::move(cut);
  });
  return inputs;
}

// Seven sequences, long and short, with everything that a batch may hold.
AttentionPattern batch_of_seven() {
  AttentionPattern pattern;
  pattern.heads = 3;
  pattern.lengths = {700, 60, 257, 1, 333, 128, 2};
  pattern.window = Window{70, 45};
  pattern.dilation = {1, 2, 3};
  pattern.global = {{0, 350}, {0}, {}, {}, {5, 6, 7, 300}, {127}, {1}};
  pattern.valid = {{{0, 700}}, {{0, 50}}, {{3, 257}}, {{0, 1}}, {{0, 100}, {120, 333}},
                   {{0, 128}}, {}};
  return pattern;
}

AttentionPattern reversed(AttentionPattern pattern) {
  std::reverse(pattern.lengths.begin(), pattern.lengths.end());
  std::reverse(pattern.global.begin(), pattern.global.end());
  std::reverse(pattern.valid.begin(), pattern.valid.end());
  return pattern;
}

ForwardInputs reversed(const AttentionPattern& pattern, ForwardInputs inputs) {
  const int64_t row = pattern.heads * inputs.head_dim;
  inputs.for_each([&](std::vector<float>& tensor) {
    std::vector<float> result;
    int64_t end = static_cast<int64_t>(tensor.size());
    for (auto length = pattern.lengths.rbegin(); length != pattern.lengths.rend(); ++length) {
      result.insert(result.end(), tensor.begin() + end - *length * row, tensor.begin() + end);
      end -= *length * row;
    }
    tensor = std::move(result);
  });
  return inputs;
}

TEST(AttentionBits, ThreadsDoNotMatter) {
  const AttentionPattern pattern = batch_of_seven();
  for (const int64_t head_dim : {32, 64, 33}) {
    Random random(21);
    const ForwardInputs inputs = random_inputs(random, pattern, head_dim);
    ThreadPool one(1);
    const ForwardOutputs expected = run_forward(pattern, inputs, one);
    for (const int threads : {2, 3}) {
      ThreadPool pool(threads);
      EXPECT_TRUE(same_bits(run_forward(pattern, inputs, pool), expected)) << threads;
    }
  }
}

TEST(AttentionBits, AloneInABatchOfSevenOrInItsReverse) {
  const AttentionPattern pattern = batch_of_seven();
  const int64_t head_dim = 64;
  Random random(22);
  const ForwardInputs inputs = random_inputs(random, pattern, head_dim);
  ThreadPool pool(2);
  const ForwardOutputs batch = run_forward(pattern, inputs, pool);
  const ForwardOutputs backwards = run_forward(reversed(pattern), reversed(pattern, inputs), pool);
  int64_t begin = 0;
  int64_t from_end = total_rows(pattern);
  for (size_t s = 0; s < pattern.lengths.size(); ++s) {
    const int64_t end = begin + pattern.lengths[s];
    const ForwardOutputs expected = rows_of(pattern, head_dim, batch, begin, end);
    const ForwardOutputs single =
        run_forward(alone(pattern, s), cut_inputs(pattern, inputs, begin, end), pool);
    EXPECT_TRUE(same_bits(single, expected)) << "sequence " << s << " alone";
    from_end -= pattern.lengths[s];
    EXPECT_TRUE(same_bits(
        rows_of(pattern, head_dim, backwards, from_end, from_end + pattern.lengths[s]), expected))
        << "sequence " << s << " in the reversed batch";
    begin = end;
  }
}

// Rows between the first and the last valid one: all others are padding already.
std::pair<int64_t, int64_t> hull(const AttentionPattern& pattern) {
  int64_t first = 0;
  int64_t last = pattern.lengths[0];
  while (first < last && !is_valid(pattern, 0, first)) ++first;
  while (last > first && !is_valid(pattern, 0, last - 1)) --last;
  return {first, last};
}

TEST(AttentionBits, PaddingDoesNotMatter) {
  ThreadPool pool(2);
  for (int64_t seed = 0; seed < test_cases(60); ++seed) {
    Random random(static_cast<uint64_t>(seed) + 4'000'000);
    const AttentionPattern batch = random_pattern(random);
    const AttentionPattern pattern = alone(batch, 0);
    SCOPED_TRACE(repro(static_cast<uint64_t>(seed) + 4'000'000, pattern));
    const int64_t n = pattern.lengths[0];
    const int64_t head_dim = 32;
    const ForwardInputs inputs = random_inputs(random, pattern, head_dim);
    const auto [first, last] = hull(pattern);
    const ForwardOutputs expected =
        rows_of(pattern, head_dim, run_forward(pattern, inputs, pool), first, last);
    const std::pair<int64_t, int64_t> paddings[] = {
        {0, 1}, {0, random.between(2, 300)}, {random.between(1, 300), random.between(0, 100)}};
    for (const auto& [left, right] : paddings) {
      const ForwardOutputs padded = run_forward(
          alone(pattern, 0, left, right), cut_inputs(pattern, inputs, 0, n, left, right), pool);
      ASSERT_TRUE(
          same_bits(rows_of(pattern, head_dim, padded, left + first, left + last), expected))
          << left << " left, " << right << " right";
    }
  }
}

TEST(AttentionMasking, NansInMaskedRowsStayThere) {
  ThreadPool pool(2);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t seed = 0; seed < test_cases(60); ++seed) {
    Random random(static_cast<uint64_t>(seed) + 5'000'000);
    const AttentionPattern pattern = random_pattern(random);
    SCOPED_TRACE(repro(static_cast<uint64_t>(seed) + 5'000'000, pattern));
    const int64_t head_dim = 16;
    const int64_t row_floats = pattern.heads * head_dim;
    const ForwardInputs inputs = random_inputs(random, pattern, head_dim);
    ForwardInputs poisoned = inputs;
    const AttentionPlan plan = compile(pattern);
    for (int64_t row = 0; row < plan.rows; ++row) {
      if (plan.valid_row[static_cast<size_t>(row)] != 0) continue;
      poisoned.for_each([&](std::vector<float>& tensor) {
        std::fill_n(tensor.begin() + row * row_floats, row_floats, nan);
      });
    }
    const ForwardOutputs expected = run_forward(pattern, inputs, pool);
    const ForwardOutputs actual = run_forward(pattern, poisoned, pool);
    for (int64_t row = 0; row < plan.rows; ++row) {
      const bool valid = plan.valid_row[static_cast<size_t>(row)] != 0;
      // An attending masked query is NaN itself; nothing else may be.
      if (!valid && pattern.masked_query == MaskedQuery::kAttend) continue;
      ASSERT_TRUE(same_bits(rows_of(pattern, head_dim, actual, row, row + 1),
                            rows_of(pattern, head_dim, expected, row, row + 1)))
          << "row " << row;
      if (valid) continue;
      for (int64_t c = 0; c < row_floats; ++c) {
        ASSERT_EQ(actual.out[static_cast<size_t>(row * row_floats + c)], 0.0f);
      }
    }
  }
}

TEST(AttentionMasking, FullyMaskedSequencesGiveZerosNotNan) {
  ThreadPool pool(1);
  for (const MaskedQuery masked : {MaskedQuery::kZero, MaskedQuery::kAttend}) {
    AttentionPattern pattern;
    pattern.heads = 2;
    pattern.lengths = {300, 40};
    pattern.window = Window{10, 10};
    pattern.dilation = {1, 2};
    pattern.global = {{0, 9}, {}};
    pattern.valid = {{}, {{0, 40}}};
    pattern.masked_query = masked;
    Random random(23);
    const ForwardOutputs outputs = run_forward(pattern, random_inputs(random, pattern, 8), pool);
    for (int64_t i = 0; i < 300 * 16; ++i) ASSERT_EQ(outputs.out[static_cast<size_t>(i)], 0.0f);
    for (int64_t i = 0; i < 600; ++i) {
      ASSERT_EQ(outputs.lse[static_cast<size_t>(i)], -std::numeric_limits<float>::infinity());
    }
    EXPECT_TRUE(std::isfinite(outputs.lse[600]));
  }
}

// Changing key and value of token j changes exactly the rows that count it: at the reach, not one
// step beyond.
void expect_influence(const AttentionPattern& pattern, const std::vector<int64_t>& tokens) {
  ThreadPool pool(2);
  const int64_t head_dim = 16;
  Random random(24);
  const ForwardInputs inputs = random_inputs(random, pattern, head_dim);
  const ForwardOutputs before = run_forward(pattern, inputs, pool);
  for (const int64_t j : tokens) {
    ForwardInputs changed = inputs;
    for (std::vector<float>* tensor :
         {&changed.k, &changed.v, &changed.global_k, &changed.global_v}) {
      for (int64_t c = 0; c < pattern.heads * head_dim; ++c) {
        (*tensor)[static_cast<size_t>(j * pattern.heads * head_dim + c)] += 1.0f;
      }
    }
    const ForwardOutputs after = run_forward(pattern, changed, pool);
    for (int64_t i = 0; i < pattern.lengths[0]; ++i) {
      for (int64_t h = 0; h < pattern.heads; ++h) {
        const int64_t at = (i * pattern.heads + h) * head_dim;
        const bool same =
            same_bits(slice(before.out, at, at + head_dim), slice(after.out, at, at + head_dim));
        ASSERT_EQ(same, count(pattern, 0, h, i, j) == 0)
            << "token " << j << ", query " << i << ", head " << h;
      }
    }
  }
}

TEST(AttentionInfluence, EndsExactlyAtTheReach) {
  AttentionPattern pattern;
  pattern.heads = 2;
  pattern.lengths = {400};
  pattern.window = Window{37, 50};
  expect_influence(pattern, {0, 36, 63, 64, 150, 199, 200, 399});
}

TEST(AttentionInfluence, EndsExactlyAtTheDilatedReach) {
  AttentionPattern pattern;
  pattern.heads = 3;
  pattern.lengths = {410};
  pattern.window = Window{20, 33};
  pattern.dilation = {1, 2, 4};
  expect_influence(pattern, {0, 1, 127, 128, 205, 409});
}

TEST(AttentionInfluence, CausalTokensNeverReachBack) {
  AttentionPattern pattern;
  pattern.heads = 2;
  pattern.lengths = {300};
  pattern.window = Window{300, 0};
  pattern.dilation = {1, 3};
  expect_influence(pattern, {0, 1, 63, 64, 150, 299});
}

TEST(AttentionInfluence, GlobalTokensReachAllAndMaskedTokensNobody) {
  AttentionPattern pattern;
  pattern.heads = 2;
  pattern.lengths = {300};
  pattern.window = Window{8, 8};
  pattern.global = {{0, 150, 250}};
  pattern.valid = {{{0, 200}, {210, 249}, {251, 290}}};
  expect_influence(pattern, {0, 150, 151, 205, 209, 210, 250, 289, 290, 299});
}

}  // namespace
}  // namespace longformer
