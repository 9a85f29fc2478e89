// The compared implementations against the dense reference in double precision.
#include "attention/compared/compared.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "forward_case.h"
#include "support/expect_error.h"

namespace longformer {
namespace {

using compared::Shape;
using testing::ForwardInputs;
using testing::Random;
using testing::random_inputs;
using testing::test_cases;

constexpr double kTolerance = 2e-5;  // of the largest element

using Attention = std::function<void(const Shape&, const float*, const float*, const float*, float*,
                                     ThreadPool&)>;

AttentionPattern windowed(const Shape& shape) {
  AttentionPattern pattern;
  pattern.heads = shape.heads;
  pattern.lengths = {shape.tokens};
  pattern.window = Window{shape.reach, shape.reach};
  pattern.dilation.assign(static_cast<size_t>(shape.heads), shape.dilation);
  return pattern;
}

AttentionPattern everything(const Shape& shape) {
  AttentionPattern pattern;
  pattern.heads = shape.heads;
  pattern.lengths = {shape.tokens};
  return pattern;
}

void expect_reference(const Attention& attention, const Shape& shape,
                      const AttentionPattern& pattern, Random& random, ThreadPool& pool) {
  SCOPED_TRACE(to_string(pattern) + ", head_dim " + std::to_string(shape.head_dim));
  const ForwardInputs inputs =
      random_inputs(random, pattern, shape.head_dim, random.chance(30) ? 6.0f : 1.0f);
  std::vector<float> out(inputs.q.size(), 12345.0f);
  attention(shape, inputs.q.data(), inputs.k.data(), inputs.v.data(), out.data(), pool);
  const std::vector<double> expected = run_reference(pattern, inputs).out;
  double largest = 1e-30, error = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(static_cast<double>(out[i]) - expected[i]);
    if (!(difference <= error)) error = difference;  // a NaN sticks
  }
  EXPECT_LE(error / largest, kTolerance);
}

Shape random_shape(Random& random) {
  const int64_t head_dims[] = {32, 33, 64, 80, 96, 128, 1};
  Shape shape;
  shape.heads = random.between(1, 3);
  shape.head_dim = head_dims[random.between(0, 6)];
  shape.reach = random.between(1, random.chance(60) ? 12 : 100);
  shape.tokens = random.chance(10) ? 1 : random.between(1, random.chance(60) ? 60 : 250);
  return shape;
}

// Windows shorter and longer than the text, one token, lengths that fill no chunk.
TEST(Compared, RandomShapesEqualTheReference) {
  ThreadPool pool(2);
  for (int64_t seed = 0; seed < test_cases(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(static_cast<uint64_t>(seed) + 7'000'000);
    Shape shape = random_shape(random);
    expect_reference(compared::chunks_attention, shape, windowed(shape), random, pool);
    expect_reference(compared::full_attention, shape, everything(shape), random, pool);
    shape.dilation = random.chance(40) ? 1 : random.between(2, 7);
    if (random.chance(10)) shape.reach = 0;
    expect_reference(compared::loop_attention, shape, windowed(shape), random, pool);
    if (HasFailure()) return;
  }
}

TEST(Compared, LengthsAroundBlockAndChunk) {
  ThreadPool pool(1);
  const int64_t w = 16;
  for (const int64_t tokens :
       {int64_t{1}, w - 1, w, w + 1, 2 * w - 1, 2 * w, 2 * w + 1, 3 * w, 4 * w, 5 * w + 3}) {
    Random random(static_cast<uint64_t>(tokens));
    const Shape shape{.tokens = tokens, .heads = 2, .head_dim = 32, .reach = w};
    expect_reference(compared::chunks_attention, shape, windowed(shape), random, pool);
    expect_reference(compared::loop_attention, shape, windowed(shape), random, pool);
  }
}

TEST(Compared, NoTokensAreNoWork) {
  ThreadPool pool(1);
  const Shape shape{.tokens = 0, .heads = 2, .head_dim = 32, .reach = 4};
  for (const Attention& attention :
       {Attention(compared::loop_attention), Attention(compared::chunks_attention),
        Attention(compared::full_attention)}) {
    float out = 12345.0f;
    attention(shape, nullptr, nullptr, nullptr, &out, pool);
    EXPECT_EQ(out, 12345.0f);
  }
}

TEST(Compared, RefusesWhatItCannotCompute) {
  ThreadPool pool(1);
  const auto refused = [&](const Attention& attention, Shape shape, const std::string& says) {
    float none = 0;
    test::expect_error(ErrorCode::kInvalidArgument, {says},
                       [&] { attention(shape, &none, &none, &none, &none, pool); });
  };
  const Shape good{.tokens = 1, .heads = 1, .head_dim = 1, .reach = 1};
  Shape bad = good;
  bad.dilation = 2;
  refused(compared::chunks_attention, bad, "no dilation");
  bad = good;
  bad.reach = 0;
  refused(compared::chunks_attention, bad, "reach of at least 1");
  for (const Attention& attention :
       {Attention(compared::loop_attention), Attention(compared::chunks_attention),
        Attention(compared::full_attention)}) {
    bad = good;
    bad.head_dim = 257;
    refused(attention, bad, "1 heads of 257");
    bad = good;
    bad.tokens = -1;
    refused(attention, bad, "-1 tokens");
    bad = good;
    bad.dilation = 0;
    refused(attention, bad, "dilation 0");
  }
}

// What is predicted is what is taken; the predictions decide whether a point of `bench` is run.
TEST(Compared, BytesAreThoseOfTheDefinition) {
  const Shape shape{.tokens = 4096, .heads = 12, .head_dim = 64, .reach = 256};
  const uint64_t plane = 4096u * 12 * 64 * 4;
  const auto near = [](uint64_t actual, uint64_t expected) {
    EXPECT_GE(actual, expected);
    EXPECT_LE(actual, expected + 4096);
  };
  near(compared::full_bytes(shape), 12u * 4096 * 4096 * 4 + 3 * plane);
  // 15 chunks of 512 x 512 scores, 513 scores a query
  near(compared::chunks_bytes(shape), 12u * 15 * 512 * 512 * 4 + 12u * 4096 * 513 * 4 + 2 * plane);
  near(compared::loop_bytes(shape, 3), 3u * 513 * 4);
  const Shape huge{.tokens = 1 << 20, .heads = int64_t{1} << 40, .head_dim = 64, .reach = 256};
  EXPECT_EQ(compared::full_bytes(huge), std::numeric_limits<uint64_t>::max());
}

}  // namespace
}  // namespace longformer
