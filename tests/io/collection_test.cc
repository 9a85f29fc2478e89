#include "io/collection/collection.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <map>

#include "io/testing.h"

namespace longformer::io {
namespace {

const Settings kSettings = {{"model", "abc"}, {"dims", "4"}};

CollectionPassage passage(const std::string& text, int64_t line = 1) {
  CollectionPassage p;
  p.line_start = line;
  p.line_end = line + 1;
  p.byte_end = static_cast<int64_t>(text.size());
  p.text = text;
  return p;
}

class CollectionTest : public DirectoryTest {
 protected:
  // Adds a file with these passages, as one group.
  static CollectionFile add(Collection& collection, const std::string& path,
                            const std::vector<std::string>& texts) {
    collection.begin();
    CollectionState state = collection.state();
    CollectionFile file;
    file.path = path;
    file.size = 10;
    file.mtime = 1'000'000'007;
    file.sha256 = "hash of " + path;
    file.kind = "text";
    file.first_passage = state.next_passage;
    file.first_position = state.positions;
    file.passages = static_cast<int64_t>(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      collection.add_passage(file.first_passage + static_cast<int64_t>(i), passage(texts[i]));
    }
    file.id = collection.add_file(file);
    state.next_passage += file.passages;
    state.positions += file.passages;
    collection.set_state(state);
    collection.commit();
    return file;
  }
  static std::map<int64_t, double> match(const Collection& collection, const std::string& words) {
    std::map<int64_t, double> found;
    collection.match(words, [&](int64_t id, double bm25) { found[id] = bm25; });
    return found;
  }
  // What somebody else may do to the database.
  void tamper(const std::string& sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path("index.sqlite").c_str(), &handle), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK)
        << sql << ": " << (message == nullptr ? "" : message);
    sqlite3_free(message);
    sqlite3_close(handle);
  }
};

TEST_F(CollectionTest, KeepsWhatItIsGiven) {
  const std::string odd_name = "/a/\xFF\xFE name\n.txt";
  CollectionPassage rich = passage("The fox sleeps.", 7);
  rich.byte_start = 3;
  rich.page_start = 2;
  rich.page_end = 3;
  rich.headings = {"One", "Zwei \"quoted\" \xC3\xA9", ""};
  rich.anchor = "sec-2";
  {
    Collection collection = Collection::create(directory_, kSettings);
    add(collection, odd_name, {"one", "two"});
    collection.begin();
    collection.add_passage(3, rich);
    CollectionFile file;
    file.path = "/b";
    file.relative = true;
    file.first_passage = 3;
    file.first_position = 2;
    file.passages = 1;
    collection.add_file(file);
    collection.set_state({1, 3, 4});
    collection.commit();
  }
  const Collection collection = Collection::read(directory_);
  EXPECT_EQ(collection.settings(), kSettings);
  EXPECT_EQ(collection.state().positions, 3);
  EXPECT_EQ(collection.state().next_passage, 4);
  const std::vector<CollectionFile> files = collection.files();
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, odd_name);
  EXPECT_EQ(files[0].mtime, 1'000'000'007);
  EXPECT_EQ(files[0].sha256, "hash of " + odd_name);
  EXPECT_FALSE(files[0].relative);
  EXPECT_TRUE(files[1].relative);
  EXPECT_EQ(files[1].first_position, 2);
  const CollectionPassage read = collection.passage(3);
  EXPECT_EQ(read.text, rich.text);
  EXPECT_EQ(read.headings, rich.headings);
  EXPECT_EQ(read.anchor, "sec-2");
  EXPECT_EQ(read.page_start, 2);
  EXPECT_EQ(read.page_end, 3);
  EXPECT_EQ(read.line_start, 7);
  EXPECT_EQ(read.line_end, 8);
  EXPECT_EQ(read.byte_start, 3);
  EXPECT_EQ(collection.passage(1).page_start, std::nullopt);
  expect_error(ErrorCode::kInvalidFile, {"passage is missing"}, [&] { collection.passage(9); });
}

TEST_F(CollectionTest, WordsAreFoundAndForgotten) {
  Collection collection = Collection::create(directory_, kSettings);
  const CollectionFile first =
      add(collection, "/a", {"The fox runs.", "Foxes and \xC3\xA9t\xC3\xA9.", "Nothing here."});
  add(collection, "/b", {"A fox again, a fox."});
  std::map<int64_t, double> found = match(collection, "\"fox\"");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_GT(found.at(4), found.at(1));  // twice, in as many words
  EXPECT_EQ(match(collection, "\"ete\"").size(), 1u);
  EXPECT_EQ(match(collection, "\"nothing\" OR \"runs\"").size(), 2u);
  EXPECT_TRUE(match(collection, "\"\"").empty());
  collection.begin();
  collection.remove_file(first);
  collection.commit();
  EXPECT_EQ(match(collection, "\"fox\"").size(), 1u);
  EXPECT_TRUE(match(collection, "\"nothing\"").empty());
  EXPECT_EQ(collection.files().size(), 1u);
  std::vector<int64_t> left;
  collection.contain("fox", [&](int64_t id, const std::string&) { left.push_back(id); });
  EXPECT_EQ(left, std::vector<int64_t>{4});
}

TEST_F(CollectionTest, WhatIsNotCommittedNeverWas) {
  {
    Collection collection = Collection::create(directory_, kSettings);
    add(collection, "/a", {"one"});
    collection.begin();
    collection.add_passage(2, passage("two"));
    collection.set_state({1, 2, 3});
    collection.roll_back();
    EXPECT_EQ(collection.state().positions, 1);
    collection.begin();
    collection.add_passage(2, passage("three"));
    collection.set_state({1, 2, 3});
    // Ends without a commit.
  }
  const Collection collection = Collection::read(directory_);
  EXPECT_EQ(collection.state().positions, 1);
  EXPECT_TRUE(match(collection, "\"two\" OR \"three\"").empty());
  EXPECT_EQ(match(collection, "\"one\"").size(), 1u);
}

TEST_F(CollectionTest, AReaderSeesOneStateWhileSomebodyWrites) {
  Collection writer = Collection::create(directory_, kSettings);
  const CollectionFile first = add(writer, "/a", {"fox one"});
  const Collection early = Collection::read(directory_);
  writer.begin();
  writer.remove_file(first);
  writer.commit();
  add(writer, "/b", {"fox two", "fox three"});
  const Collection late = Collection::read(directory_);
  EXPECT_EQ(early.files().size(), 1u);
  EXPECT_EQ(early.files()[0].path, "/a");
  EXPECT_EQ(early.state().positions, 1);
  EXPECT_EQ(match(early, "\"fox\"").size(), 1u);
  EXPECT_EQ(early.passage(1).text, "fox one");
  EXPECT_EQ(late.files()[0].path, "/b");
  EXPECT_EQ(match(late, "\"fox\"").size(), 2u);
}

TEST_F(CollectionTest, OneWriter) {
  const std::filesystem::path place = directory_ / "index";
  {
    const WriterLock lock(place);
    expect_error(ErrorCode::kInvalidArgument, {"another process is writing", place.string()},
                 [&] { WriterLock second(place); });
  }
  WriterLock again(place);
  put("other/file.txt", "mine");
  expect_error(ErrorCode::kInvalidArgument, {"is not an index"},
               [&] { WriterLock lock(directory_ / "other"); });
  expect_error(ErrorCode::kInvalidArgument, {"not a directory"},
               [&] { WriterLock lock(directory_ / "other" / "file.txt"); });
  expect_error(ErrorCode::kNotFound, {"No such file"},
               [&] { WriterLock lock(directory_ / "absent" / "index"); });
}

TEST_F(CollectionTest, DirectoriesWithoutAnIndex) {
  EXPECT_FALSE(Collection::exists(directory_));
  expect_error(ErrorCode::kNotFound, {"holds no index"}, [&] { Collection::read(directory_); });
  expect_error(ErrorCode::kNotFound, {"no such index"},
               [&] { Collection::read(directory_ / "absent"); });
  put("index.sqlite", "");  // a killed writer's first trace
  EXPECT_FALSE(Collection::exists(directory_));
  Collection collection = Collection::create(directory_, kSettings);
  EXPECT_TRUE(Collection::exists(directory_));
}

TEST_F(CollectionTest, DatabasesThatAreNoIndexAreRefused) {
  put("index.sqlite", std::string(5000, 'x'));
  expect_error(ErrorCode::kInvalidFile, {"not a database", "index.sqlite"},
               [&] { Collection::read(directory_); });
  std::filesystem::remove(path("index.sqlite"));
  tamper("CREATE TABLE t (x)");
  expect_error(ErrorCode::kInvalidFile, {"another program"}, [&] { Collection::read(directory_); });
  std::filesystem::remove(path("index.sqlite"));
  ASSERT_EQ(mkfifo(path("index.sqlite").c_str(), 0600), 0);
  expect_error(ErrorCode::kInvalidFile, {"named pipe"}, [&] { Collection::read(directory_); });
  std::filesystem::remove(path("index.sqlite"));
  std::filesystem::create_directory(path("index.sqlite"));
  EXPECT_THROW(Collection::read(directory_), Error);
}

TEST_F(CollectionTest, TamperedDatabasesAreRefused) {
  const auto fresh = [&] {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
    Collection collection = Collection::create(directory_, kSettings);
    add(collection, "/a", {"one", "two"});
    add(collection, "/b", {"three"});
  };
  const auto read = [&] { Collection::read(directory_).files(); };
  const std::pair<const char*, const char*> cases[] = {
      {"PRAGMA user_version = 2", "format version 2"},
      {"PRAGMA application_id = 7", "another program"},
      {"CREATE TABLE more (x)", "no index has"},
      {"CREATE VIEW v AS SELECT 1", "no index has"},
      {"CREATE TRIGGER t AFTER INSERT ON files BEGIN DELETE FROM passages; END", "no index has"},
      {"DROP TABLE state", "lacks a table"},
      {"DELETE FROM state WHERE name = 'positions'", "lacks its positions"},
      {"UPDATE state SET value = -1", "impossible"},
      {"UPDATE state SET value = 1 << 60 WHERE name = 'positions'", "impossible"},
      {"UPDATE files SET passages = 5 WHERE id = 2", "outside"},
      {"UPDATE files SET passages = -1", "outside"},
      {"UPDATE files SET first_position = 9223372036854775807", "outside"},
      {"UPDATE files SET first_passage = -9223372036854775807", "outside"},
      {"UPDATE files SET first_position = 1 WHERE id = 2", "share"},
      {"UPDATE files SET first_passage = 2 WHERE id = 2", "share"},
  };
  for (const auto& [sql, says] : cases) {
    SCOPED_TRACE(sql);
    fresh();
    read();
    tamper(sql);
    expect_error(ErrorCode::kInvalidFile, {says, "index.sqlite"}, read);
  }
  fresh();
  tamper("UPDATE passages SET headings = '[1, 2'");
  expect_error(ErrorCode::kInvalidFile, {"--rebuild"},
               [&] { Collection::read(directory_).passage(1); });
  fresh();
  tamper("UPDATE passages SET headings = '{\"a\": 1}'");
  expect_error(ErrorCode::kInvalidFile, {"not a list"},
               [&] { Collection::read(directory_).passage(1); });
}

TEST_F(CollectionTest, DamagedPagesAreErrorsNotCrashes) {
  {
    Collection collection = Collection::create(directory_, kSettings);
    for (int i = 0; i < 30; ++i) {
      add(collection, "/" + std::to_string(i), {"fox " + std::string(300, 'a'), "hen", "barn"});
    }
  }
  const std::string whole = slurp(path("index.sqlite"));
  ASSERT_GT(whole.size(), 8192u);
  int refused = 0;
  for (size_t place = 100; place < whole.size(); place += 997) {
    std::string broken = whole;
    for (size_t i = place; i < std::min(place + 40, broken.size()); ++i) broken[i] ^= 0x5A;
    put("index.sqlite", broken);
    try {
      const Collection collection = Collection::read(directory_);
      for (const CollectionFile& file : collection.files()) {
        for (int64_t i = 0; i < file.passages; ++i) collection.passage(file.first_passage + i);
      }
      match(collection, "\"fox\"");
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      if (error.code() == ErrorCode::kInvalidFile &&
          std::string(error.what()).find("another program") == std::string::npos) {
        EXPECT_NE(std::string(error.what()).find("--rebuild"), std::string::npos) << error.what();
      }
      ++refused;
    }
  }
  EXPECT_GT(refused, 5);
}

TEST_F(CollectionTest, PassagesWithImpossiblePlacesAreRefused) {
  for (const char* column : {"line_start = -3", "line_end = -1", "byte_start = -1", "byte_end = -1",
                             "page_start = -7", "page_end = -2"}) {
    SCOPED_TRACE(column);
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
    {
      Collection collection = Collection::create(directory_, kSettings);
      add(collection, "/a", {"one"});
    }
    tamper(std::string("UPDATE passages SET ") + column);
    expect_error(ErrorCode::kInvalidFile, {"impossible place", "--rebuild"},
                 [&] { Collection::read(directory_).passage(1); });
  }
}

TEST_F(CollectionTest, OnlyAnIndexMayBeReplaced) {
  const std::filesystem::path place = directory_ / "x";
  const auto refused = [&](const std::string& name) {
    expect_error(ErrorCode::kInvalidArgument, {(place / name).string(), "remove the directory"},
                 [&] { check_replaceable(place); });
    expect_error(ErrorCode::kInvalidArgument, {name}, [&] { remove_leftover(place); });
    EXPECT_TRUE(std::filesystem::exists(place / name));
  };
  check_replaceable(place);  // nothing there
  {
    const WriterLock lock(place);
    Collection collection = Collection::create(place, kSettings);
    add(collection, "/a", {"one"});
    // As a killed writer leaves it: whose it is does not stand in the log only.
    check_replaceable(place);
  }
  put("x/vectors-1-0.bin", "");
  check_replaceable(place);
  for (const char* name : {"photo.jpg", "vectors-1-0.bin.txt", "vectors-a-0.bin", "vectors-1.bin",
                           "index.sqlite.old", ".hidden", "locks"}) {
    put(std::string("x/") + name, "mine");
    refused(name);
    std::filesystem::remove(place / name);
  }
  std::filesystem::create_directory(place / "vectors-2-0.bin");
  refused("vectors-2-0.bin");
  std::filesystem::remove(place / "vectors-2-0.bin");
  // Damaged behind its first page it is still ours; without one, or with another's, it is not.
  const std::string whole = slurp(path("x/index.sqlite"));
  put("x/index.sqlite", whole.substr(0, 100) + std::string(whole.size() - 100, 'x'));
  check_replaceable(place);
  put("x/index.sqlite", std::string(5000, 'x'));
  refused("index.sqlite");
  std::string other = whole;
  other[70] ^= 1;
  put("x/index.sqlite", other);
  refused("index.sqlite");
  put("x/index.sqlite", "");  // the first trace of a killed writer
  remove_leftover(place);
  EXPECT_FALSE(std::filesystem::exists(place));
  put("elsewhere/file", "mine");
  std::filesystem::create_directory_symlink(directory_ / "elsewhere", place);
  expect_error(ErrorCode::kInvalidArgument, {"not a directory"}, [&] { remove_leftover(place); });
  EXPECT_EQ(slurp(path("elsewhere/file")), "mine");
}

TEST_F(CollectionTest, ReplacingADirectory) {
  put("old/file", "old");
  put("fresh/file", "fresh");
  replace_directory(directory_ / "fresh", directory_ / "old");
  EXPECT_EQ(slurp(path("old/file")), "fresh");
  EXPECT_EQ(names(), (std::vector<std::string>{"old", "old/file"}));
  put("fresh/file", "newer");
  replace_directory(directory_ / "fresh", directory_ / "absent");
  EXPECT_EQ(slurp(path("absent/file")), "newer");
}

}  // namespace
}  // namespace longformer::io
