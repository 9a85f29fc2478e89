// The tiled way back against the dense reference in double precision.
#include "attention/backward.h"

#include <gtest/gtest.h>

#include "attention/reference.h"
#include "backward_case.h"
#include "kernels/gemm.h"
#include "longformer/error.h"

namespace longformer {
namespace {

using testing::BackwardCase;
using testing::Derivatives;
using testing::Draws;
using testing::ForwardInputs;
using testing::Random;
using testing::random_inputs;
using testing::random_pattern;
using testing::repro;
using testing::test_cases;
using testing::widen;

// What comes out of global rows has no derivative here.
std::vector<double> without_globals(const AttentionPattern& pattern, int64_t row_floats,
                                    const std::vector<float>& d_out) {
  std::vector<double> result = widen(d_out);
  auto at = result.begin();
  for (int64_t s = 0; s < static_cast<int64_t>(pattern.lengths.size()); ++s) {
    for (int64_t i = 0; i < pattern.lengths[static_cast<size_t>(s)]; ++i, at += row_floats) {
      if (is_global(pattern, s, i)) std::fill_n(at, row_floats, 0.0);
    }
  }
  return result;
}

double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) result = std::max(result, std::abs(value));
  return result;
}

void expect_near(const std::vector<float>& actual, const std::vector<double>& expected,
                 double tolerance, const char* name) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], tolerance) << name << ", element " << i;
  }
}

// Relative to the largest element, or to `least` where that is more.
struct Tolerance {
  double relative, least;
};
constexpr Tolerance kFloats{2e-5, 1.0};
constexpr Tolerance kRounded{1e-2, 1e-3};

template <typename T>
void expect_reference(const AttentionPattern& pattern, ForwardInputs inputs,
                      const std::vector<float>& d_out, const AttentionDropout* dropout,
                      ThreadPool& pool, Tolerance tolerance) {
  if (std::is_same_v<T, BFloat16>) {
    inputs.for_each([](std::vector<float>& tensor) {
      for (float& value : tensor) value = bf16_to_f32(f32_to_bf16(value));
    });
  }
  const Derivatives actual = BackwardCase<T>(pattern, inputs, dropout).backward(d_out, pool);
  const ReferenceInputs reference{
      inputs.head_dim, widen(inputs.q), widen(inputs.k), widen(inputs.v), {}, {}, {}};
  const ReferenceDerivatives expected = attention_reference_backward(
      pattern, reference, without_globals(pattern, pattern.heads * inputs.head_dim, d_out),
      dropout);
  const auto bound = [&](const std::vector<double>& values) {
    return tolerance.relative * std::max(tolerance.least, largest(values));
  };
  expect_near(actual.q, expected.q, bound(expected.q), "q");
  expect_near(actual.k, expected.k, bound(expected.k), "k");
  expect_near(actual.v, expected.v, bound(expected.v), "v");
}

void expect_reference(const AttentionPattern& pattern, int64_t head_dim, Random& random,
                      const AttentionDropout* dropout = nullptr) {
  ThreadPool pool(2);
  const ForwardInputs inputs = random_inputs(random, pattern, head_dim);
  const std::vector<float> d_out = random.values(static_cast<int64_t>(inputs.q.size()));
  expect_reference<float>(pattern, inputs, d_out, dropout, pool, kFloats);
}

TEST(AttentionBackward, RandomPatternsEqualTheReference) {
  const int64_t head_dims[] = {1, 7, 8, 16, 32, 33, 64, 80};
  ThreadPool pool(2);
  for (int64_t seed = 0; seed < test_cases(200); ++seed) {
    const auto key = static_cast<uint64_t>(seed) + 8'000'000;
    Random random(key);
    const AttentionPattern pattern = random_pattern(random);
    SCOPED_TRACE(repro(key, pattern));
    const Draws draws(pattern.lengths.size(), seed % 4 < 2 ? 0.1 : 0.6);
    const AttentionDropout* dropout = seed % 2 == 0 ? nullptr : &draws.dropout;
    const float spread = random.chance(30) ? 6.0f : 1.0f;  // flat and peaked rows
    const ForwardInputs inputs = random_inputs(random, pattern, head_dims[seed % 8], spread);
    const std::vector<float> d_out = random.values(static_cast<int64_t>(inputs.q.size()));
    expect_reference<float>(pattern, inputs, d_out, dropout, pool, kFloats);
    if (HasFailure()) return;
  }
}

TEST(AttentionBackward, RoundedTilesAreCloseToTheReference) {
  if (!kernels::supports(DType::kBF16)) GTEST_SKIP() << "no products of BF16 on this processor";
  ThreadPool pool(2);
  for (int64_t seed = 0; seed < test_cases(60); ++seed) {
    const auto key = static_cast<uint64_t>(seed) + 9'000'000;
    Random random(key);
    const AttentionPattern pattern = random_pattern(random);
    SCOPED_TRACE(repro(key, pattern));
    const Draws draws(pattern.lengths.size(), 0.2);
    const AttentionDropout* dropout = seed % 2 == 0 ? nullptr : &draws.dropout;
    const ForwardInputs inputs = random_inputs(random, pattern, seed % 3 == 0 ? 33 : 64);
    const std::vector<float> d_out = random.values(static_cast<int64_t>(inputs.q.size()));
    expect_reference<BFloat16>(pattern, inputs, d_out, dropout, pool, kRounded);
    if (HasFailure()) return;
  }
}

TEST(AttentionBackward, LengthsAroundTheWindow) {
  const int64_t w = 24;
  for (const int64_t length : {int64_t{1}, w - 1, w, w + 1, 2 * w, 2 * w + 1}) {
    for (const int64_t dilation : {1, 2}) {
      AttentionPattern pattern;
      pattern.heads = 2;
      pattern.lengths = {length};
      pattern.window = Window{w, w};
      pattern.dilation = {1, dilation};
      SCOPED_TRACE(to_string(pattern));
      Random random(static_cast<uint64_t>(length));
      expect_reference(pattern, 16, random);
    }
  }
}

// Chunks with sums of their own: windows, dilation, globals, padding on either side.
TEST(AttentionBackward, SequencesOfSeveralChunks) {
  AttentionPattern pattern;
  pattern.heads = 2;
  pattern.lengths = {2300, 1100};
  pattern.window = Window{60, 37};
  pattern.dilation = {1, 3};
  pattern.global = {{0, 1023, 1024, 2299}, {7}};
  pattern.valid = {{{0, 1500}, {1520, 2300}}, {{20, 1090}}};
  Random random(31);
  const Draws draws(2, 0.3);
  expect_reference(pattern, 8, random);
  expect_reference(pattern, 8, random, &draws.dropout);
}

TEST(AttentionBackward, StripsBeyondTheLongest) {
  AttentionPattern pattern;
  pattern.lengths = {2500};
  Random random(32);
  expect_reference(pattern, 4, random);  // full attention
  pattern.window = Window{2400, 0};      // causal
  expect_reference(pattern, 4, random);
}

TEST(AttentionBackward, MoreGlobalsThanAStripHasKeys) {
  AttentionPattern pattern;
  pattern.heads = 2;
  pattern.lengths = {1300};
  pattern.window = Window{3, 3};
  pattern.dilation = {1, 2};
  pattern.global.resize(1);
  for (int64_t g = 0; g < 1300; g += 2) pattern.global[0].push_back(g);  // 650
  Random random(33);
  const Draws draws(1, 0.2);
  expect_reference(pattern, 4, random, &draws.dropout);
}

TEST(AttentionBackward, MaskedQueriesThatAttend) {
  AttentionPattern pattern;
  pattern.heads = 1;
  pattern.lengths = {1300, 40};
  pattern.window = Window{30, 30};
  pattern.valid = {{{1040, 1200}}, {{0, 40}}};
  pattern.masked_query = MaskedQuery::kAttend;
  Random random(34);
  expect_reference(pattern, 8, random);
}

// The loss of the kernels themselves, by differences: forward and backward drop alike.
TEST(AttentionBackward, FollowsTheForwardPassWithDropout) {
  AttentionPattern pattern;
  pattern.heads = 2;
  pattern.lengths = {90};
  pattern.window = Window{12, 9};
  pattern.dilation = {1, 2};
  pattern.global = {{4, 60}};
  Random random(35);
  ForwardInputs inputs = random_inputs(random, pattern, 8);
  const std::vector<float> d_out = random.values(static_cast<int64_t>(inputs.q.size()));
  const std::vector<double> weights = without_globals(pattern, 16, d_out);
  const Draws draws(1, 0.4);
  ThreadPool pool(1);
  const auto loss = [&] {
    const BackwardCase<float> pass(pattern, inputs, &draws.dropout);
    double sum = 0;
    for (size_t i = 0; i < weights.size(); ++i) sum += weights[i] * double{pass.out()[i]};
    return sum;
  };
  const Derivatives got =
      BackwardCase<float>(pattern, inputs, &draws.dropout).backward(d_out, pool);
  for (const auto& [tensor, derivatives] :
       {std::pair{&inputs.q, &got.q}, {&inputs.k, &got.k}, {&inputs.v, &got.v}}) {
    for (size_t i = 3; i < tensor->size(); i += 211) {
      const float before = (*tensor)[i], step = 0x1p-7f;
      (*tensor)[i] = before + step;
      const double above = loss();
      (*tensor)[i] = before - step;
      const double below = loss();
      (*tensor)[i] = before;
      ASSERT_NEAR((*derivatives)[i], (above - below) / (2 * double{step}), 2e-3) << i;
    }
  }
}

TEST(AttentionBackward, LogsumexpDoesNotSeeDropout) {
  AttentionPattern pattern;
  pattern.lengths = {100};
  pattern.window = Window{20, 20};
  Random random(36);
  const ForwardInputs inputs = random_inputs(random, pattern, 8);
  const Draws draws(1, 0.5);
  const BackwardCase<float> dropped(pattern, inputs, &draws.dropout);
  const BackwardCase<float> all(pattern, inputs, nullptr);
  EXPECT_EQ(0, std::memcmp(dropped.logsumexp().data(), all.logsumexp().data(),
                           all.logsumexp().size() * sizeof(float)));
  EXPECT_NE(dropped.out(), all.out());
  const ReferenceOutputs reference = attention_reference(
      pattern, {8, widen(inputs.q), widen(inputs.k), widen(inputs.v), {}, {}, {}}, &draws.dropout);
  for (size_t i = 0; i < reference.out.size(); ++i) {
    ASSERT_NEAR(dropped.out()[i], reference.out[i], 1e-5) << i;
  }
}

TEST(AttentionBackward, EmptyBatchesAndNothingButMasks) {
  ThreadPool pool(2);
  AttentionPattern pattern;
  pattern.lengths = {0, 0};
  EXPECT_TRUE(BackwardCase<float>(pattern, {8, {}, {}, {}, {}, {}, {}}, nullptr)
                  .backward({}, pool)
                  .q.empty());
  pattern.lengths = {70};
  pattern.valid = {{}};
  for (const MaskedQuery masked : {MaskedQuery::kZero, MaskedQuery::kAttend}) {
    pattern.masked_query = masked;
    Random random(37);
    const ForwardInputs inputs = random_inputs(random, pattern, 8);
    const Derivatives got = BackwardCase<float>(pattern, inputs, nullptr).backward(inputs.v, pool);
    for (const std::vector<float>* values : {&got.q, &got.k, &got.v}) {
      EXPECT_EQ(*values, std::vector<float>(inputs.q.size(), 0.0f));
    }
  }
}

TEST(AttentionBackward, RefusesHeadSizesAndMissingKeys) {
  ThreadPool pool(1);
  AttentionPattern pattern;
  pattern.lengths = {4};
  const AttentionPlan plan = compile(pattern);
  const Draws draws(2, 0.5);
  for (const int64_t head_dim : {int64_t{0}, int64_t{257}}) {
    EXPECT_THROW(attention_backward(plan, head_dim, {}, nullptr, nullptr, {}, pool), Error);
  }
  EXPECT_THROW(attention_backward(plan, 8, {}, nullptr, &draws.dropout, {}, pool), Error);
}

}  // namespace
}  // namespace longformer
