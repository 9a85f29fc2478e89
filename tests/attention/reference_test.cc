// The oracle against cases computed by hand.
#include "attention/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backward_case.h"
#include "longformer/error.h"
#include "patterns.h"

namespace longformer {
namespace {

using testing::Draws;

const double kNothing = -std::numeric_limits<double>::infinity();

// Four tokens, one head, one dimension. q = 1 everywhere and k = log of a weight, so that exp(q·k)
// is that weight.
ReferenceInputs four_tokens() {
  ReferenceInputs inputs;
  inputs.head_dim = 1;
  inputs.q = {1, 1, 1, 1};
  inputs.k = {std::log(1.0), std::log(2.0), std::log(3.0), std::log(4.0)};
  inputs.v = {10, 20, 30, 40};
  return inputs;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isinf(expected[i])) {
      EXPECT_EQ(actual[i], expected[i]) << i;
    } else {
      EXPECT_NEAR(actual[i], expected[i], 1e-12) << i;
    }
  }
}

TEST(AttentionReference, FullAttentionIsTheWeightedMean) {
  AttentionPattern pattern;
  pattern.lengths = {4};
  const ReferenceOutputs outputs = attention_reference(pattern, four_tokens());
  // (1·10 + 2·20 + 3·30 + 4·40) / 10 = 30 for every query
  expect_near(outputs.out, {30, 30, 30, 30});
  expect_near(outputs.lse, std::vector<double>(4, std::log(10.0)));
}

TEST(AttentionReference, WindowOfOneToTheLeft) {
  AttentionPattern pattern;
  pattern.lengths = {4};
  pattern.window = Window{1, 0};
  const ReferenceOutputs outputs = attention_reference(pattern, four_tokens());
  // 10; (10 + 40)/3; (40 + 90)/5; (90 + 160)/7
  expect_near(outputs.out, {10, 50.0 / 3, 26, 250.0 / 7});
  expect_near(outputs.lse, {0, std::log(3.0), std::log(5.0), std::log(7.0)});
}

TEST(AttentionReference, DilationOfTwoPairsEveryOtherToken) {
  AttentionPattern pattern;
  pattern.lengths = {4};
  pattern.window = Window{1, 1};
  pattern.dilation = {2};
  const ReferenceOutputs outputs = attention_reference(pattern, four_tokens());
  // tokens 0 and 2: (10 + 90)/4; tokens 1 and 3: (40 + 160)/6
  expect_near(outputs.out, {25, 200.0 / 6, 25, 200.0 / 6});
}

TEST(AttentionReference, GlobalRowUsesItsOwnProjectionsAndLocalRowsNeverDo) {
  AttentionPattern pattern;
  pattern.lengths = {4};
  pattern.window = Window{0, 0};
  pattern.global = {{1}};
  ReferenceInputs inputs = four_tokens();
  inputs.global_q = {0, 2, 0, 0};
  inputs.global_k = {std::log(2.0), 0, 0, std::log(3.0)};
  inputs.global_v = {1, 2, 3, 4};
  ReferenceOutputs outputs = attention_reference(pattern, inputs);
  // row 0: keys 0, 1 with weights 1, 2: 50/3. Row 1, global, weights 4, 1, 1, 9: (4 + 2 + 3 +
  // 36)/15 = 3. row 2: keys 1, 2: (40 + 90)/5. Row 3: keys 1, 3: (40 + 160)/6.
  expect_near(outputs.out, {50.0 / 3, 3, 26, 200.0 / 6});
  EXPECT_NEAR(outputs.lse[1], std::log(15.0), 1e-12);

  pattern.global_projections = false;
  outputs = attention_reference(pattern, inputs);
  expect_near(outputs.out, {50.0 / 3, 30, 26, 200.0 / 6});
}

TEST(AttentionReference, MaskedQueriesAndKeys) {
  AttentionPattern pattern;
  pattern.lengths = {4};
  pattern.valid = {{{0, 2}}};
  ReferenceOutputs outputs = attention_reference(pattern, four_tokens());
  expect_near(outputs.out, {50.0 / 3, 50.0 / 3, 0, 0});
  expect_near(outputs.lse, {std::log(3.0), std::log(3.0), kNothing, kNothing});

  pattern.masked_query = MaskedQuery::kAttend;
  outputs = attention_reference(pattern, four_tokens());
  expect_near(outputs.out, std::vector<double>(4, 50.0 / 3));

  pattern.valid = {{}};
  outputs = attention_reference(pattern, four_tokens());
  expect_near(outputs.out, std::vector<double>(4, 0));
  expect_near(outputs.lse, std::vector<double>(4, kNothing));
}

TEST(AttentionReference, SequencesHeadsAndDimensionsLieWhereTheHeaderSays) {
  AttentionPattern pattern;
  pattern.heads = 2;
  pattern.lengths = {1, 2};
  ReferenceInputs inputs;  // [3 tokens][2 heads][2 dimensions]
  inputs.head_dim = 2;
  inputs.q = {0, 0, 0, 0, /**/ 1, 1, 1, -1, /**/ 0, 0, 0, 0};
  const double log3 = std::log(3.0);
  inputs.k = {0, 0, 0, 0, /**/ 0, 0, 0, log3, /**/ log3, 0, 0, 0};
  inputs.v = {1, 2, 3, 4, /**/ 5, 6, 7, 8, /**/ 9, 10, 11, 12};
  const ReferenceOutputs outputs = attention_reference(pattern, inputs);
  // Token 1, head 0: weights 1 and 3: (5 + 27)/4, (6 + 30)/4. Head 1: weights 1/3 and 1: (7/3 +
  // 11)/(4/3) = 10.
  expect_near(outputs.out, {1, 2, 3, 4, /**/ 8, 9, 10, 11, /**/ 7, 8, 9, 10});
}

TEST(AttentionReference, RefusesInputsOfAnotherSize) {
  AttentionPattern pattern;
  pattern.lengths = {4};
  ReferenceInputs inputs = four_tokens();
  inputs.k.pop_back();
  EXPECT_THROW(attention_reference(pattern, inputs), Error);
  inputs = four_tokens();
  inputs.global_q = {1};
  EXPECT_THROW(attention_reference(pattern, inputs), Error);
  inputs = four_tokens();
  inputs.head_dim = 0;
  EXPECT_THROW(attention_reference(pattern, inputs), Error);
}

TEST(AttentionReference, DropoutComesBehindTheSoftmax) {
  AttentionPattern pattern;
  pattern.lengths = {4};
  const Draws draws(1, 0.5);
  const ReferenceOutputs outputs = attention_reference(pattern, four_tokens(), &draws.dropout);
  std::vector<double> expected;
  for (int64_t i = 0; i < 4; ++i) {
    const uint64_t key = draws.dropout.row_key(0, 0, i);
    double sum = 0;
    for (uint32_t j = 0; j < 4; ++j) {
      if (kernels::dropout_bits(key, j) >= 0x80000000u) sum += 2 * 0.1 * (j + 1) * 10 * (j + 1);
    }
    expected.push_back(sum);
  }
  expect_near(outputs.out, expected);
  expect_near(outputs.lse, std::vector<double>(4, std::log(10.0)));
}

TEST(AttentionReference, KeysOfDropoutDiffer) {
  const Draws draws(2, 0.5);
  const uint64_t key = draws.dropout.row_key(0, 0, 0);
  EXPECT_NE(key, draws.dropout.row_key(1, 0, 0));
  EXPECT_NE(key, draws.dropout.row_key(0, 1, 0));
  EXPECT_NE(key, draws.dropout.row_key(0, 0, 1));
}

// A loss that is linear in what comes out: its derivatives by every input, by central differences.
void expect_differences(const AttentionPattern& pattern, testing::Random& random,
                        const AttentionDropout* dropout) {
  ReferenceInputs inputs;
  inputs.head_dim = 3;
  int64_t tokens = 0;
  for (const int64_t length : pattern.lengths) tokens += length;
  const int64_t size = tokens * pattern.heads * inputs.head_dim;
  const auto draw = [&] {
    const std::vector<float> values = random.values(size);
    return std::vector<double>(values.begin(), values.end());
  };
  std::vector<double>* const tensors[] = {&inputs.q,        &inputs.k,        &inputs.v,
                                          &inputs.global_q, &inputs.global_k, &inputs.global_v};
  for (std::vector<double>* tensor : tensors) *tensor = draw();
  const std::vector<double> d_out = draw();
  const auto loss = [&] {
    const ReferenceOutputs outputs = attention_reference(pattern, inputs, dropout);
    double sum = 0;
    for (size_t i = 0; i < d_out.size(); ++i) sum += d_out[i] * outputs.out[i];
    return sum;
  };
  const ReferenceDerivatives got = attention_reference_backward(pattern, inputs, d_out, dropout);
  const std::vector<double>* const derivatives[] = {&got.q,        &got.k,        &got.v,
                                                    &got.global_q, &got.global_k, &got.global_v};
  for (size_t t = 0; t < 6; ++t) {
    if (derivatives[t]->empty()) {
      ASSERT_FALSE(pattern.global_projections);
      continue;
    }
    for (int64_t probe = 0; probe < std::min<int64_t>(size, 12); ++probe) {
      const auto i = static_cast<size_t>(random.between(0, size - 1));
      const double before = (*tensors[t])[i], step = 1e-4;
      (*tensors[t])[i] = before + step;
      const double above = loss();
      (*tensors[t])[i] = before - step;
      const double below = loss();
      (*tensors[t])[i] = before;
      const double difference = (above - below) / (2 * step);
      ASSERT_NEAR((*derivatives[t])[i], difference, 1e-6 * std::max(1.0, std::abs(difference)))
          << "input " << t << ", element " << i;
    }
  }
}

TEST(AttentionReference, DerivativesAreDifferences) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    testing::Random random(seed + 7'000'000);
    AttentionPattern pattern = testing::random_pattern(random);
    // Short ones: each derivative costs two passes.
    for (size_t s = 0; s < pattern.lengths.size(); ++s) {
      const int64_t length = std::min<int64_t>(pattern.lengths[s], 20);
      pattern.lengths[s] = length;
      if (!pattern.global.empty()) pattern.global[s] = testing::random_globals(random, length);
      if (!pattern.valid.empty()) pattern.valid[s] = testing::random_valid(random, length);
    }
    SCOPED_TRACE(testing::repro(seed + 7'000'000, pattern));
    const Draws draws(pattern.lengths.size(), 0.3);
    expect_differences(pattern, random, nullptr);
    expect_differences(pattern, random, &draws.dropout);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace longformer
