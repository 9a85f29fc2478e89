#include "tensor/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "longformer/error.h"

namespace longformer {
namespace {

bool is_aligned(const float* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % Arena::kAlignment == 0;
}

TEST(Arena, PlansWhatItHandsOut) {
  Arena arena;
  EXPECT_EQ(arena.capacity(), 0u);
  arena.reset(Arena::bytes_for(1) + Arena::bytes_for(16) + Arena::bytes_for(17));
  float* const a = arena.floats(1);
  float* const b = arena.floats(16);
  float* const c = arena.floats(17);
  EXPECT_TRUE(is_aligned(a) && is_aligned(b) && is_aligned(c));
  EXPECT_EQ(b - a, 16);
  EXPECT_EQ(c - b, 16);
  std::memset(c, 0xFF, 17 * sizeof(float));  // the last float is inside (checked by the sanitizer)
  EXPECT_EQ(arena.capacity(), 64u + 64u + 128u);
}

TEST(Arena, ThrowsWhenThePlanWasTooSmall) {
  Arena arena;
  arena.reset(Arena::bytes_for(16));
  arena.floats(16);
  EXPECT_NO_THROW(arena.floats(0));
  for (const int64_t count : {int64_t{1}, int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    try {
      arena.floats(count);
      ADD_FAILURE() << count;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInternal);
    }
  }
}

TEST(Arena, ResetStartsAgainAndOnlyGrows) {
  Arena arena;
  arena.reset(1024);
  float* const first = arena.floats(8);
  arena.reset(512);
  EXPECT_EQ(arena.capacity(), 1024u);
  EXPECT_EQ(arena.floats(8), first);
  arena.reset(4096);
  EXPECT_EQ(arena.capacity(), 4096u);
  EXPECT_NO_THROW(arena.floats(1024));
}

}  // namespace
}  // namespace longformer
