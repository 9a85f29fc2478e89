#include <chrono>

#include "io/documents/documents.h"
#include "io/testing.h"

namespace longformer::io {
namespace {

void expect_matches(const std::string& glob, const std::vector<std::string>& matching,
                    const std::vector<std::string>& others) {
  for (const std::string& path : matching) EXPECT_TRUE(matches_glob(path, glob)) << glob << path;
  for (const std::string& path : others) EXPECT_FALSE(matches_glob(path, glob)) << glob << path;
}

TEST(Glob, WithoutASlashLooksAtTheLastName) {
  expect_matches("*.md", {"a.md", "x/y/a.md", ".md"}, {"a.mdx", "a.md/b", "md"});
  expect_matches("a?c",
                 {"abc", "x/a\u00E9c",
                  "a\xFF"
                  "c"},
                 {"ac", "abbc", "a/c"});
  expect_matches("build", {"build", "x/build"}, {"build/x", "rebuild"});
  expect_matches("*", {"a", "x/y", ""}, {});
}

TEST(Glob, WithASlashLooksAtTheWholePath) {
  expect_matches("docs/*.md", {"docs/a.md"}, {"docs/x/a.md", "a.md", "x/docs/a.md"});
  expect_matches("docs/**", {"docs/a", "docs/x/y"}, {"docs", "x/docs/a"});
  expect_matches("**/a.md", {"a.md", "x/a.md", "x/y/a.md"}, {"xa.md", "x/ya.md"});
  expect_matches("a/**/b", {"a/b", "a/x/b", "a/x/y/b"}, {"ab", "a/xb", "a/x/yb", "a/b/c"});
  expect_matches("a/**/b/**/c", {"a/b/c", "a/x/b/y/c", "a/b/b/c"}, {"a/c", "a/b/xc"});
  expect_matches("x**y/z", {"xy/z", "xa/by/z"}, {"x/z"});
}

TEST(Glob, KnowsClasses) {
  expect_matches("[abc].txt", {"a.txt", "c.txt"}, {"d.txt", ".txt", "ab.txt"});
  expect_matches("[!a-c]x", {"dx", "\u00E9x"}, {"ax", "bx", "x"});
  expect_matches("x/[!a]b", {"x/cb"}, {"x//b"});  // never a slash
  expect_matches("[\u00E0-\u00EF]", {"\u00E9"}, {"e", "\u00F0"});
  expect_matches("[]a]", {"]", "a"}, {"b"});
  expect_matches("[a-]", {"a", "-"}, {"b"});
  expect_matches("[a", {"[a"}, {"a"});  // no class
}

TEST(Glob, TakesNoLongTimeForManyStars) {
  std::string glob, path(4000, 'a');
  for (int i = 0; i < 500; ++i) glob += "*a**";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(matches_glob(path, glob + "b"));
  EXPECT_TRUE(matches_glob(path, glob));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace longformer::io
