// Known facts about the generated tables and the small pieces under the tokenizer.
#include <gtest/gtest.h>

#include <string>

#include "text/models/trie.h"
#include "text/normalizer.h"
#include "text/unicode/unicode_tables.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

bool has(char32_t c, uint8_t flag) { return (unicode::flags(c) & flag) != 0; }

TEST(UnicodeTables, KnownMembers) {
  for (const char32_t c :
       {U'\0', U'\x01', U'\x7F', U'\u0085', U'\u00AD', U'\u200D', U'\uE000', U'\uFFFD'}) {
    EXPECT_TRUE(has(c, unicode::kDrop)) << uint32_t{c};
  }
  for (const char32_t c :
       {U'\t', U'\n', U'\r', U' ', U'a', U'\u0378', U'\u2065'}) {  // the last two are unassigned
    EXPECT_FALSE(has(c, unicode::kDrop)) << uint32_t{c};
  }
  for (const char32_t c : {U'\t', U' ', U'\u00A0', U'\u3000', U'\u2028'}) {
    EXPECT_TRUE(has(c, unicode::kCleanSpace)) << uint32_t{c};
    EXPECT_TRUE(has(c, unicode::kSpace)) << uint32_t{c};
  }
  for (const char32_t c :
       {U'$', U'+', U'<', U'^', U'`', U'|', U'~', U'!', U'\u00BF', U'\u2014', U'\u3002'}) {
    EXPECT_TRUE(has(c, unicode::kPunctuation)) << uint32_t{c};
  }
  for (const char32_t c : {U'a', U'1', U'\u00A9', U'\u2122', U'\u20AC'}) {
    EXPECT_FALSE(has(c, unicode::kPunctuation)) << uint32_t{c};
  }
  for (const char32_t c : {U'_', U'a', U'\u0301', U'\u0660', U'\u4E2D', U'\u200D'}) {
    EXPECT_TRUE(has(c, unicode::kWord)) << uint32_t{c};
  }
  EXPECT_FALSE(has(U'-', unicode::kWord));
  EXPECT_TRUE(has(U'\u0301', unicode::kNonspacing));
  EXPECT_FALSE(has(U'\u0903', unicode::kNonspacing));  // Mc
  EXPECT_TRUE(has(U'\u0903', unicode::kMark));
}

TEST(UnicodeTables, CjkRangesWithTheGapOfTheReference) {
  for (const char32_t c :
       {U'\u4E00', U'\u9FFF', U'\u3400', U'\uF900', U'\U00020000', U'\U0002B81F', U'\U0002B920'}) {
    EXPECT_TRUE(has(c, unicode::kCjk)) << uint32_t{c};
  }
  for (const char32_t c : {U'\U0002B820', U'\U0002B91F', U'\u3042', U'\uAC00', U'\u3007'}) {
    EXPECT_FALSE(has(c, unicode::kCjk)) << uint32_t{c};
  }
}

TEST(UnicodeTables, Mappings) {
  EXPECT_EQ(unicode::lowercase(U'A'), U"a");
  EXPECT_EQ(unicode::lowercase(U'\u0130'), U"i\u0307");
  EXPECT_EQ(unicode::lowercase(U'\u03A3'), U"\u03C3");  // no final form: context plays no part
  EXPECT_TRUE(unicode::lowercase(U'a').empty());
  EXPECT_EQ(unicode::decomposition(U'\u1E69'), U"s\u0323\u0307");
  EXPECT_TRUE(unicode::decomposition(U'\uFB01').empty());  // only a compatibility form
  EXPECT_EQ(unicode::combining_rank(U'a'), 0);
  EXPECT_LT(unicode::combining_rank(U'\u0323'), unicode::combining_rank(U'\u0301'));
  EXPECT_EQ(unicode::combining_rank(U'\u0300'), unicode::combining_rank(U'\u0301'));
}

TEST(NormalizerTest, DecompositionIsCanonical) {
  const Normalizer nfd({NormalizerStep::kDecompose});
  EXPECT_EQ(nfd.apply_to("한가"), "\u1112\u1161\u11AB\u1100\u1161");
  EXPECT_EQ(nfd.apply_to("e\u0301\u0323"), "e\u0323\u0301");
  EXPECT_EQ(nfd.apply_to("\u1E9B\u0323"), "\u017F\u0323\u0307");
  EXPECT_EQ(nfd.apply_to("a\u0301\u0300"), "a\u0301\u0300");
}

TEST(NormalizerTest, InsertedCharactersShareThePlaceBefore) {
  Characters characters;
  append_characters("xé\u0323", 0, characters);
  RegexBudget budget(characters.size());
  Normalizer({NormalizerStep::kDecompose}).apply(characters, budget);
  ASSERT_EQ(characters.size(), 4u);  // x e dot-below acute
  EXPECT_EQ(characters[1].begin, 1u);
  EXPECT_EQ(characters[1].end, 3u);
  EXPECT_EQ(characters[2].code, U'\u0323');
  EXPECT_EQ(characters[2].begin, 3u);
  EXPECT_EQ(characters[3].code, U'\u0301');
  EXPECT_EQ(characters[3].begin, 3u);
}

TEST(TrieTest, LongestAndExact) {
  const Trie trie({{"a", 1}, {"abc", 2}, {"b", 3}, {"a", 9}, {"\xC3\xA9", 4}});
  EXPECT_EQ(trie.find("a"), 1);  // of equal keys the first
  EXPECT_EQ(trie.find("ab"), Trie::kNoValue);
  EXPECT_EQ(trie.find("\xC3\xA9"), 4);
  EXPECT_EQ(trie.longest(Trie::kRoot, "abcd").value, 2);
  EXPECT_EQ(trie.longest(Trie::kRoot, "abx").length, 1u);
  EXPECT_EQ(trie.longest(Trie::kRoot, "x").value, Trie::kNoValue);
  EXPECT_TRUE(Trie().empty());
}

TEST(TrieTest, NodesWithManyChildren) {
  std::vector<std::string> keys;
  for (int a = 0; a < 256; ++a) keys.push_back({'k', static_cast<char>(a)});
  std::vector<std::pair<std::string_view, int32_t>> entries;
  for (size_t i = 0; i < keys.size(); ++i) entries.emplace_back(keys[i], static_cast<int32_t>(i));
  const Trie trie(entries);
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(trie.find(keys[i]), static_cast<int32_t>(i));
}

TEST(Utf8, MaximalBadSubsequences) {
  // Table 3-8 of the Unicode Standard.
  const std::string text = "\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64";
  const utf8::Repaired repaired(text);
  EXPECT_EQ(repaired.text(),
            "a\uFFFD\uFFFD\uFFFD"
            "b\uFFFD"
            "c\uFFFD\uFFFD"
            "d");
  EXPECT_EQ(repaired.original(0), 0);
  EXPECT_EQ(repaired.original(1), 1);   // F1 80 80
  EXPECT_EQ(repaired.original(4), 4);   // E1 80
  EXPECT_EQ(repaired.original(7), 6);   // C2
  EXPECT_EQ(repaired.original(10), 7);  // b
  EXPECT_EQ(repaired.original(static_cast<int64_t>(repaired.text().size())), 13);
}

TEST(Utf8, ValidPrefix) {
  EXPECT_EQ(utf8::valid_prefix("abcdefghij\u00e9\u4e2d\U0001F600"), 19u);
  EXPECT_EQ(utf8::valid_prefix("abcdefgh\xED\xA0\x80"), 8u);  // surrogate
  EXPECT_EQ(utf8::valid_prefix("\xF4\x90\x80\x80"), 0u);      // beyond U+10FFFF
  EXPECT_EQ(utf8::valid_prefix("\xC1\xBF"), 0u);              // overlong
}

}  // namespace
}  // namespace longformer::text
