#include "base/checked.h"

#include <gtest/gtest.h>

#include <limits>

namespace longformer {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(Checked, GivesTheResultUpToTheLastNumberThatFits) {
  EXPECT_EQ(checked_add(kMax - 1, 1, "sum"), kMax);
  EXPECT_EQ(checked_mul(uint64_t{1} << 32, (uint64_t{1} << 32) - 1, "product"), kMax - 0xFFFFFFFF);
  EXPECT_EQ(checked_mul(kMax, 0, "product"), 0u);
}

TEST(Checked, ThrowsAndNamesWhatOverflowed) {
  for (const bool add : {true, false}) {
    try {
      add ? checked_add(kMax, 1, "the shape") : checked_mul(kMax, 2, "the shape");
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidFile);
      EXPECT_STREQ(error.what(), "the shape does not fit into 64 bits");
    }
  }
}

}  // namespace
}  // namespace longformer
