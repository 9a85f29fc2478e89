#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>

#include "io/document_testing.h"
#include "io/documents/documents.h"

namespace longformer::io {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class ListDocuments : public DirectoryTest {
 protected:
  // Paths of a result below the test's directory, without it.
  Names relative(const Names& paths) const {
    Names result;
    for (const std::string& name : paths) result.push_back(shorten(name));
    return result;
  }
  Names reasons(const std::vector<SkippedFile>& files) const {
    Names result;
    for (const SkippedFile& file : files) {
      result.push_back(shorten(file.name) + ": " + shorten(file.reason));
    }
    return result;
  }
  std::string shorten(const std::string& name) const {
    const std::string prefix = directory_.string() + "/";
    return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  }
};

TEST_F(ListDocuments, ListsArgumentsInOrderAndDirectoriesSorted) {
  put("z.txt", "zz");
  put("d/b.txt", "b");
  put("d/a/2.txt", "22 ");
  put("d/a/10.txt", "10  ");
  put("d/a-b.txt", "a-b  ");
  put("d/.git/config", "hidden directory");
  put("d/.hidden", "hidden file");
  const DocumentList list = list_documents({path("z.txt"), path("d"), "-", "-"});
  EXPECT_EQ(relative(list.names),
            (Names{"z.txt", "d/a/10.txt", "d/a/2.txt", "d/a-b.txt", "d/b.txt", "-"}));
  EXPECT_TRUE(list.skipped.empty());
  EXPECT_EQ(reasons(list.duplicates), Names{"-: -"});
}

TEST_F(ListDocuments, HiddenFilesAreReadWhenNamed) {
  put(".notes/.todo", "text");
  EXPECT_EQ(list_documents({path(".notes/.todo")}).names.size(), 1u);
  EXPECT_TRUE(list_documents({path(".notes")}).names.empty());
}

TEST_F(ListDocuments, SkipsWithTheSystemsReason) {
  put("d/empty", "");
  ASSERT_EQ(mkfifo(path("d/pipe").c_str(), 0600), 0);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = path("d/s");
  ASSERT_LT(name.size(), sizeof(address.sun_path));
  std::copy(name.begin(), name.end(), address.sun_path);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  fs::create_symlink("nowhere", directory_ / "d/dangling");
  const DocumentList list = list_documents({path("absent"), "", path("d"), "/dev/null"});
  close(listener);
  EXPECT_TRUE(list.names.empty());
  EXPECT_EQ(
      reasons(list.skipped),
      (Names{"absent: No such file or directory", ": No such file or directory",
             "d/dangling: No such file or directory", "d/empty: empty",
             "d/pipe: not a regular file (a named pipe)", "d/s: not a regular file (a socket)",
             "/dev/null: not a regular file (a device)"}));
}

TEST_F(ListDocuments, LinkLoopsEndAndEachDirectoryIsEnteredOnce) {
  put("d/sub/a.txt", "a");
  put("outside/b.txt", "bb");
  fs::create_directory_symlink("..", directory_ / "d/sub/up");
  fs::create_directory_symlink("../outside", directory_ / "d/link");
  fs::create_symlink("self", directory_ / "d/self");
  const DocumentList list = list_documents({path("d"), path("d/sub"), path("d")});
  EXPECT_EQ(relative(list.names), (Names{"d/link/b.txt", "d/sub/a.txt"}));
  ASSERT_EQ(list.skipped.size(), 1u);
  EXPECT_EQ(shorten(list.skipped[0].name), "d/self");
}

TEST_F(ListDocuments, SameFilesCountOnceUnderTheFirstName) {
  const std::string text(100'000, 't');
  put("a.txt", text);
  put("b-copy.txt", text);
  put("c-other.txt", std::string(99'999, 't') + "x");  // same size, other content
  put("d-copy.txt", text);
  fs::create_hard_link(directory_ / "a.txt", directory_ / "e-hard.txt");
  fs::create_symlink("a.txt", directory_ / "f-link.txt");
  put("g-copy.txt", std::string(99'999, 't') + "x");
  const DocumentList list = list_documents({directory_.string(), path("a.txt")});
  EXPECT_EQ(relative(list.names), (Names{"a.txt", "c-other.txt"}));
  EXPECT_EQ(reasons(list.duplicates),
            (Names{"b-copy.txt: a.txt", "d-copy.txt: a.txt", "e-hard.txt: a.txt",
                   "f-link.txt: a.txt", "g-copy.txt: c-other.txt", "a.txt: a.txt"}));
  EXPECT_TRUE(list.skipped.empty());
}

TEST_F(ListDocuments, LinkToACopyNamesTheListedFile) {
  put("a.txt", "same");
  put("b.txt", "same");
  fs::create_hard_link(directory_ / "b.txt", directory_ / "c.txt");
  EXPECT_EQ(reasons(list_documents({directory_.string()}).duplicates),
            (Names{"b.txt: a.txt", "c.txt: a.txt"}));
}

TEST_F(ListDocuments, IncludeAndExcludeChooseBelowDirectories) {
  for (const char* const name : {"d/a.md", "d/b.txt", "d/sub/c.md", "d/sub/deep/d.md",
                                 "d/build/e.md", "d/build/x/f.md", "named.txt"}) {
    put(name, name);
  }
  const auto list = [&](const Names& include, const Names& exclude) {
    ListOptions options;
    options.include = include;
    options.exclude = exclude;
    const DocumentList found = list_documents({path("d"), path("named.txt")}, options);
    EXPECT_TRUE(found.skipped.empty());
    return relative(found.names);
  };
  EXPECT_EQ(list({"*.txt"}, {}), (Names{"d/b.txt", "named.txt"}));
  EXPECT_EQ(list({"sub/*.md"}, {}), (Names{"d/sub/c.md", "named.txt"}));
  EXPECT_EQ(list({"sub/**", "*.txt"}, {"d.md"}), (Names{"d/b.txt", "d/sub/c.md", "named.txt"}));
  // exclude wins, and a directory that it matches is not entered.
  EXPECT_EQ(list({"*.md"}, {"build"}),
            (Names{"d/a.md", "d/sub/c.md", "d/sub/deep/d.md", "named.txt"}));
  EXPECT_EQ(list({}, {"*.md", "*.txt"}), Names{"named.txt"});  // what the user names is taken
  EXPECT_EQ(list({}, {"d/*", "sub/*"}),
            (Names{"d/a.md", "d/b.txt", "d/build/e.md", "d/build/x/f.md", "named.txt"}));
}

TEST_F(ListDocuments, WhatIsNotChosenIsNotMissed) {
  put("d/empty.txt", "");
  ASSERT_EQ(mkfifo(path("d/pipe").c_str(), 0600), 0);
  fs::create_symlink("nowhere", directory_ / "d/dangling");
  put("d/a.md", "a");
  ListOptions options;
  options.include = {"*.md"};
  EXPECT_TRUE(list_documents({path("d")}, options).skipped.empty());
  options.include = {};
  options.exclude = {"pipe", "dang*"};
  EXPECT_EQ(reasons(list_documents({path("d")}, options).skipped), Names{"d/empty.txt: empty"});
}

TEST_F(ListDocuments, CopiesAreListedWhereEachCounts) {
  put("a", "same");
  put("b", "same");
  ListOptions options;
  options.copies = Copies::kEach;
  const DocumentList list = list_documents({directory_.string(), path("a")}, options);
  EXPECT_EQ(relative(list.names), (Names{"a", "b", "a"}));
  EXPECT_TRUE(list.duplicates.empty());
}

TEST_F(ListDocuments, KeepsNamesThatAreNotUtf8) {
  put("d/caf\xE9.txt", "latin");
  put("d/\xFF\xFE\n.md", "strange");
  const DocumentList list = list_documents({path("d")});
  EXPECT_EQ(relative(list.names), (Names{"d/caf\xE9.txt", "d/\xFF\xFE\n.md"}));
  for (const std::string& name : list.names) EXPECT_FALSE(read_one(name).text.empty());
  ListOptions options;
  options.include = {"caf?.txt"};
  EXPECT_EQ(list_documents({path("d")}, options).names.size(), 1u);
}

TEST_F(ListDocuments, SkipsDirectoriesThatCannotBeRead) {
  put("d/closed/a.txt", "a");
  put("d/open.txt", "b");
  fs::permissions(directory_ / "d/closed", fs::perms::none);
  const DocumentList list = list_documents({path("d")});
  fs::permissions(directory_ / "d/closed", fs::perms::owner_all);
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  EXPECT_EQ(relative(list.names), Names{"d/open.txt"});
  EXPECT_EQ(reasons(list.skipped), Names{"d/closed: Permission denied"});
}

TEST_F(ListDocuments, GoesDownDeepTrees) {
  std::string name = "d";
  for (int i = 0; i < 200; ++i) name += "/sub";
  put(name + "/a.txt", "a");
  EXPECT_EQ(list_documents({path("d")}).names.size(), 1u);
}

}  // namespace
}  // namespace longformer::io
