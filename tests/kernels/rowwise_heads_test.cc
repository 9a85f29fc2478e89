// Head splitting, with and without rotary angles, on every SIMD target.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/rotary.h"
#include "kernels/rowwise.h"
#include "kernels/rowwise_backward.h"
#include "rowwise_operands.h"
#include "targets.h"

namespace longformer::kernels {
namespace {

constexpr float kUntouched = 555.25f;
constexpr int64_t kRows = 5, kPlaneRows = 9, kHeads = 7;

TEST(RowwiseRotary, AnglesAreRightToTheLastBit) {
  const std::vector<int64_t> positions = {0, 1, 17, 8191, 1048575};
  const Values frequencies = {1.0f, 0.687656045f, 9.08884704e-06f};
  Values cosines(15), sines(15);
  rotary_angles(5, 3, positions.data(), frequencies.data(), cosines.data(), sines.data());
  for (int64_t r = 0; r < 5; ++r) {
    for (int64_t c = 0; c < 3; ++c) {
      const float angle = static_cast<float>(positions[r]) * frequencies[c];
      EXPECT_EQ(cosines[r * 3 + c], static_cast<float>(std::cos(static_cast<double>(angle))));
      EXPECT_EQ(sines[r * 3 + c], static_cast<float>(std::sin(static_cast<double>(angle))));
    }
  }
}

// Four heads of a product, of which two are written; some rows are dropped.
struct Case {
  Case(Sums kind, int64_t head_dim, bool turned, bool drops)
      : x(kind, kRows, 4 * head_dim, 3, 1),
        bias(random_values(4 * head_dim, 2)),
        cosines(random_values(kRows * (head_dim / 2), 3)),
        sines(random_values(kRows * (head_dim / 2), 4)) {
    split = {.head_dim = head_dim,
             .first_head = 2,
             .heads = heads,
             .bias = bias.data(),
             .scale = 0.125f,
             .keep = drops ? keep.data() : nullptr,
             .destination = destination.data(),
             .plane_rows = kPlaneRows,
             .cosines = turned ? cosines.data() : nullptr,
             .sines = turned ? sines.data() : nullptr};
  }
  Case(const Case&) = delete;

  // Channel c of head h in row r, bias and scale added.
  double plain(int64_t r, int32_t h, int64_t c) const {
    const int64_t column = (h - 2) * split.head_dim + c;
    return (x.value(r, column) + bias[column]) * 0.125;
  }
  double turned(int64_t r, int32_t h, int64_t c) const {
    if (split.cosines == nullptr) return plain(r, h, c);
    const int64_t half = split.head_dim / 2, pair = c % half;
    const double a = plain(r, h, pair), b = plain(r, h, pair + half);
    const double cosine = cosines[r * half + pair], sine = sines[r * half + pair];
    return c < half ? a * cosine - b * sine : b * cosine + a * sine;
  }

  const std::vector<int32_t> heads = {4, 2}, destination = {8, 0, 3, 2, 5};
  const std::vector<uint8_t> keep = {1, 0, 1, 1, 0};
  TestProduct x;
  Values bias, cosines, sines;
  HeadSplit split;
};

void expect_planes(const Case& of, const Values& out) {
  const int64_t head_dim = of.split.head_dim;
  std::vector<bool> written(out.size());
  for (int64_t r = 0; r < kRows; ++r) {
    for (const int32_t h : of.heads) {
      for (int64_t c = 0; c < head_dim; ++c) {
        const int64_t i = (h * kPlaneRows + of.destination[r]) * head_dim + c;
        written[i] = true;
        if (of.split.keep != nullptr && of.keep[r] == 0) {
          ASSERT_EQ(out[i], 0.0f);
          continue;
        }
        // The sums of s32 reach some hundreds.
        double magnitude = 1.0;
        for (const int64_t at : {c, (c + head_dim / 2) % head_dim}) {
          magnitude += std::abs(of.plain(r, h, at));
        }
        ASSERT_NEAR(out[i], of.turned(r, h, c), 1e-6 * magnitude) << head_dim << ", " << i;
      }
    }
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (written[i]) continue;
    ASSERT_EQ(out[i], kUntouched) << head_dim << ", " << i;
  }
}

void for_each_case(void (*check)(const Case&)) {
  for_each_target([&](const std::string&) {
    for (const Sums kind : kSums) {
      for (const bool turned : {false, true}) {
        for (const int64_t head_dim : {1, 2, 7, 6, 16, 30, 32, 33, 64, 66, 80}) {
          if (turned && head_dim % 2 != 0) continue;
          for (const bool drops : {false, true}) check(Case(kind, head_dim, turned, drops));
        }
      }
    }
  });
}

TEST(RowwiseHeads, OnlyTheListedHeadsAndRowsAreWritten) {
  for_each_case([](const Case& of) {
    Values out(kHeads * kPlaneRows * of.split.head_dim, kUntouched);
    split_heads(kRows, of.x.products(), of.split, out.data());
    expect_planes(of, out);
  });
}

TEST(RowwiseHeads, BFloat16IsTheRoundedFloat) {
  for_each_case([](const Case& of) {
    Values floats(kHeads * kPlaneRows * of.split.head_dim, kUntouched);
    std::vector<BFloat16> out(floats.size(), BFloat16{f32_to_bf16(kUntouched)});
    split_heads(kRows, of.x.products(), of.split, floats.data());
    split_heads(kRows, of.x.products(), of.split, out.data());
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i].bits, f32_to_bf16(floats[i])) << i;
  });
}

// Without angles f32 sums give the bits of the formula.
TEST(RowwiseHeads, FloatsHaveTheBitsOfTheFormula) {
  for_each_target([](const std::string&) {
    for (const int64_t head_dim : {1, 7, 16, 33, 64}) {
      const Case of(Sums::kF32, head_dim, false, false);
      Values out(kHeads * kPlaneRows * head_dim);
      split_heads(kRows, of.x.products(), of.split, out.data());
      for (int64_t r = 0; r < kRows; ++r) {
        for (int64_t c = 0; c < head_dim; ++c) {
          const float sum = static_cast<float>(of.x.value(r, 2 * head_dim + c));
          ASSERT_EQ(out[(4 * kPlaneRows + of.destination[r]) * head_dim + c],
                    (sum + of.bias[2 * head_dim + c]) * 0.125f);
        }
      }
    }
  });
}

// A range of columns and the first head in it, as a product in pieces gives them.
TEST(RowwiseHeads, PartsOfAProductGiveTheWhole) {
  for_each_target([](const std::string&) {
    for (const Sums kind : kSums) {
      const Case of(kind, 32, true, true);
      Values whole(kHeads * kPlaneRows * 32, kUntouched), parts = whole;
      split_heads(kRows, of.x.products(), of.split, whole.data());
      for (const int32_t h : of.heads) {
        HeadSplit part = of.split;
        part.first_head = h;
        part.heads = {&h, 1};
        part.bias += (h - 2) * 32;
        split_heads(kRows, of.x.products().columns((h - 2) * 32), part, parts.data());
      }
      ASSERT_TRUE(same_bits(parts.data(), whole.data(), whole.size()));
    }
  });
}

// Merging is the transpose of splitting: <split(x), p> = <x, merge(p)> for every x and p. Bias
// aside, as derivatives do not see it.
TEST(RowwiseHeads, MergeIsTheTransposeOfTheSplit) {
  for_each_case([](const Case& of) {
    const int64_t head_dim = of.split.head_dim, stride = 4 * head_dim + 3;
    const Values planes = random_values(kHeads * kPlaneRows * head_dim, 5);
    Values merged(kRows * stride + 20, kUntouched);
    merge_heads(kRows, planes.data(), of.split, merged.data(), stride);
    for (int64_t r = 0; r < kRows; ++r) {
      const bool kept = of.split.keep == nullptr || of.keep[r] != 0;
      for (const int32_t h : of.heads) {
        const float* from = &planes[(h * kPlaneRows + of.destination[r]) * head_dim];
        const int64_t half = head_dim / 2;
        for (int64_t c = 0; c < head_dim; ++c) {
          double want = from[c];
          if (of.split.cosines != nullptr) {
            const double cosine = of.cosines[r * half + c % half];
            const double sine = of.sines[r * half + c % half];
            want = c < half ? from[c] * cosine + from[c + half] * sine
                            : from[c] * cosine - from[c - half] * sine;
          }
          const float got = merged[r * stride + (h - 2) * head_dim + c];
          ASSERT_NEAR(got, kept ? 0.125 * want : 0.0, 1e-6) << head_dim << ", " << r << ", " << c;
        }
      }
    }
    for (int64_t i = 0; i < static_cast<int64_t>(merged.size()); ++i) {
      const int64_t head = 2 + i % stride / head_dim;
      if (i < kRows * stride && (head == 2 || head == 4)) continue;
      ASSERT_EQ(merged[i], kUntouched) << head_dim << ", " << i;
    }
  });
}

TEST(RowwiseHeads, RowsAreMergedAlike) {
  for_each_case([](const Case& of) {
    const int64_t head_dim = of.split.head_dim, stride = 4 * head_dim;
    const Values planes = random_values(kHeads * kPlaneRows * head_dim, 6);
    Values all(kRows * stride), alone(stride);
    merge_heads(kRows, planes.data(), of.split, all.data(), stride);
    for (int64_t r = 0; r < kRows; ++r) {
      HeadSplit one = of.split;
      one.destination += r;
      if (one.keep != nullptr) one.keep += r;
      if (one.cosines != nullptr) one.cosines += r * (head_dim / 2);
      if (one.sines != nullptr) one.sines += r * (head_dim / 2);
      merge_heads(1, planes.data(), one, alone.data(), stride);
      for (const int32_t h : of.heads) {
        const int64_t o = (h - 2) * head_dim;
        ASSERT_TRUE(same_bits(&alone[o], &all[r * stride + o], head_dim));
      }
    }
  });
}

}  // namespace
}  // namespace longformer::kernels
