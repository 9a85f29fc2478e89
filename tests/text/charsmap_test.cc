// Character maps: a small one made by hand, and broken ones.
#include "text/charsmap.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/expect_error.h"

namespace longformer::text {
namespace {

std::string u32(uint32_t value) {
  std::string out;
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
  return out;
}

std::string pack(const std::vector<uint32_t>& units, const std::string& replacements) {
  std::string out = u32(static_cast<uint32_t>(4 * units.size()));
  for (const uint32_t unit : units) out += u32(unit);
  return out + replacements;
}

constexpr uint32_t kLeaf = 0x100;
uint32_t unit(uint32_t label, uint32_t offset, bool leaf) {
  return label | offset << 10 | (leaf ? kLeaf : 0);
}

// Entries "a" -> "xy" and "ab" -> "z": the root leads byte b to unit 256 ^ b.
std::vector<uint32_t> small_trie() {
  std::vector<uint32_t> units(1024, 0);
  units[0] = unit(0, 256, false);
  units[256 ^ 'a'] = unit('a', 512 ^ 256 ^ 'a', true);  // its children begin at 512
  units[512] = 0x80000000;                              // value 0: "xy"
  units[512 ^ 'b'] = unit('b', 768 ^ 512 ^ 'b', true);
  units[768] = 0x80000003;  // value 3: "z"
  return units;
}

TEST(CharsmapTest, TheShortestEntryCounts) {
  const Charsmap map(pack(small_trie(), std::string("xy\0z\0", 5)), "model");
  EXPECT_EQ(map.find("a"), "xy");
  EXPECT_EQ(map.find("abc"), "xy");
  EXPECT_EQ(map.find("b"), std::nullopt);
  EXPECT_EQ(map.find(""), std::nullopt);
  EXPECT_EQ(map.find(std::string_view("\0a", 2)), std::nullopt);
}

TEST(CharsmapTest, RefusesBrokenBytes) {
  const auto refuse = [](const std::string& bytes, const std::string& part) {
    test::expect_error(ErrorCode::kInvalidFile, {"model", "character map", part},
                       [&] { Charsmap(bytes, "model"); });
  };
  refuse("", "cut off");
  refuse("abc", "cut off");
  refuse(u32(0), "empty trie");
  refuse(u32(3), "empty trie");
  refuse(u32(8) + u32(1), "cut off");
  refuse(u32(0xFFFFFFFF) + u32(1), "cut off");
  refuse(pack({0}, "\xFF"), "not UTF-8");
  refuse(pack({0}, std::string(2000, 'x')), "more than 1024 bytes");
}

TEST(CharsmapTest, UnitsThatLeadNowhereMatchNothing) {
  std::vector<uint32_t> units = small_trie();
  units[256 ^ 'a'] = unit('a', 0x1FFFFF, true);  // outside the trie
  EXPECT_EQ(Charsmap(pack(units, "xy"), "model").find("a"), std::nullopt);
  units = small_trie();
  units[512] = 0x80000000 | 77;  // outside the replacements
  EXPECT_EQ(Charsmap(pack(units, "xy"), "model").find("a"), std::nullopt);
  units[512] = 0x80000001;  // within a character
  EXPECT_EQ(Charsmap(pack(units, "é"), "model").find("a"), std::nullopt);
  units[0] = unit(0, 0x1FFFFF, false) | 0x200;  // the largest offset there is
  EXPECT_EQ(Charsmap(pack(units, "xy"), "model").find("a"), std::nullopt);
  units.assign(512, 0);  // every node leads to itself: as long as the text, not longer
  units[0] = unit(0, 256, false);
  units[256 ^ 'a'] = unit('a', 'a', false);
  EXPECT_EQ(Charsmap(pack(units, "xy"), "model").find(std::string(100'000, 'a')), std::nullopt);
}

}  // namespace
}  // namespace longformer::text
