// The table of what runs, and that weights are rounded as it says.
#include "models/precision.h"

#include <gtest/gtest.h>

namespace longformer {
namespace {

TEST(Precision, TheFallbackTable) {
  struct Case {
    Compute asked;
    bool bf16, int8;
    const char* computed;
    DType rounded, multiplied, outer;
  };
  constexpr DType kF32 = DType::kF32, kBF16 = DType::kBF16, kI8 = DType::kI8;
  for (const Case& c :
       {Case{Compute::kF32, true, true, "f32", kF32, kF32, kF32},
        Case{Compute::kBf16, true, true, "bf16", kBF16, kBF16, kBF16},
        Case{Compute::kBf16, false, true, "f32, weights rounded to bf16", kBF16, kF32, kF32},
        Case{Compute::kInt8, true, true, "int8 products, bf16 attention", kI8, kI8, kBF16},
        Case{Compute::kInt8, false, true, "int8 products, f32 attention", kI8, kI8, kF32},
        Case{Compute::kInt8, false, false, "f32, weights rounded to int8", kI8, kF32, kF32}}) {
    const Precision p = choose_precision(c.asked, false, {c.bf16, c.int8});
    EXPECT_EQ(p.compute, c.asked);
    EXPECT_EQ(p.computed, c.computed);
    EXPECT_EQ(p.linear, (WeightTypes{c.rounded, c.multiplied})) << c.computed;
    // The second matrix of the feed-forward half is never rounded further than to bf16.
    EXPECT_EQ(p.outer, (WeightTypes{c.rounded == kF32 ? kF32 : kBF16, c.outer})) << c.computed;
  }
}

TEST(Precision, WhatIsStoredDecidesWhereNothingIsAsked) {
  EXPECT_EQ(choose_precision(Compute::kStored, false, {true, true}).compute, Compute::kF32);
  EXPECT_EQ(choose_precision(Compute::kStored, true, {true, true}).compute, Compute::kInt8);
  EXPECT_EQ(choose_precision(Compute::kF32, true, {true, true}).linear.rounded, DType::kF32);
}

TEST(Precision, NamesGoBothWays) {
  for (const Compute compute : {Compute::kF32, Compute::kBf16, Compute::kInt8}) {
    EXPECT_EQ(compute_from_name(compute_name(compute)), compute);
  }
  EXPECT_FALSE(compute_from_name(""));
  EXPECT_FALSE(compute_from_name("f16"));
}

}  // namespace
}  // namespace longformer
