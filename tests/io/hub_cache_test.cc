#include "io/hub/hub_cache.h"

#include "io/testing.h"

namespace longformer::io {
namespace {

namespace fs = std::filesystem;

const std::string kCommit(40, 'a');
const std::string kOther(40, 'b');

class HubCacheTest : public DirectoryTest {
 protected:
  // A snapshot as huggingface_hub leaves it: a link to a blob.
  void put_linked(const std::string& repository, const std::string& commit) {
    put("cache/" + repository + "/blobs/e1", "{}");
    fs::create_directories(cache() / repository / "snapshots" / commit);
    fs::create_symlink("../../blobs/e1",
                       cache() / repository / "snapshots" / commit / "config.json");
  }
  fs::path cache() const { return directory_ / "cache"; }
  fs::path find(const std::string& name, const std::string& revision = "main") const {
    return find_cached_model(cache(), name, revision);
  }
};

TEST_F(HubCacheTest, BranchTagAndCommitLeadToASnapshot) {
  const std::string repository = "models--org--some.model_1";
  put_linked(repository, kCommit);
  put("cache/" + repository + "/refs/main", kCommit);
  put("cache/" + repository + "/refs/refs/pr/1", kCommit + "\n");
  const fs::path snapshot = cache() / repository / "snapshots" / kCommit;
  EXPECT_EQ(find("org/some.model_1"), snapshot);
  EXPECT_EQ(find("org/some.model_1", "refs/pr/1"), snapshot);
  EXPECT_EQ(find("org/some.model_1", kCommit), snapshot);
}

TEST_F(HubCacheTest, NameWithoutOrganisationAndPlainCopies) {
  put("cache/models--bert/refs/main", kCommit);
  put("cache/models--bert/snapshots/" + kCommit + "/config.json", "{}");
  put("cache/models--bert/.no_exist/" + kOther + "/config.json", "");
  EXPECT_EQ(find("bert"), cache() / "models--bert" / "snapshots" / kCommit);
  // That a file does not exist in another commit is no snapshot of it.
  test::expect_error(ErrorCode::kNotFound, {"no files of commit " + kOther},
                     [&] { find("bert", kOther); });
}

TEST_F(HubCacheTest, WhatIsMissingIsSaidWithTheCommandThatGetsIt) {
  test::expect_error(ErrorCode::kNotFound,
                     {"org/name", cache().string(), "longformer pull org/name"},
                     [&] { find("org/name"); });
  put_linked("models--org--name", kCommit);
  test::expect_error(
      ErrorCode::kNotFound,
      {"no revision v2", "commit " + kCommit, "longformer pull org/name --revision v2"},
      [&] { find("org/name", "v2"); });
  put("cache/models--org--name/refs/main", kOther);
  test::expect_error(ErrorCode::kNotFound, {"no files of commit " + kOther, "longformer pull"},
                     [&] { find("org/name"); });
}

TEST_F(HubCacheTest, LinksWithoutABlobAndEmptySnapshots) {
  put_linked("models--m", kCommit);
  put("cache/models--m/refs/main", kCommit);
  fs::remove(cache() / "models--m" / "blobs" / "e1");
  test::expect_error(ErrorCode::kNotFound, {"config.json", "longformer pull m"},
                     [&] { find("m"); });
  fs::remove(cache() / "models--m" / "snapshots" / kCommit / "config.json");
  test::expect_error(ErrorCode::kNotFound, {"is empty", "longformer pull m"}, [&] { find("m"); });
}

TEST_F(HubCacheTest, RefsWithOddContentAreRefused) {
  put_linked("models--m", kCommit);
  put("outside/config.json", "{}");
  const std::vector<std::string> contents = {"",
                                             "main",
                                             "../../../outside",
                                             kCommit.substr(1),
                                             kCommit + "a",
                                             std::string(40, 'A'),
                                             kCommit + "\n" + kOther,
                                             std::string(20, 'a') + '\0' + std::string(19, 'a'),
                                             std::string(1 << 16, 'a')};
  for (const std::string& content : contents) {
    put("cache/models--m/refs/main", content);
    test::expect_error(ErrorCode::kInvalidFile, {"refs/main"}, [&] { find("m"); });
  }
}

TEST_F(HubCacheTest, HostileNamesAndRevisionsAreRefused) {
  put("outside/snapshots/" + kCommit + "/config.json", "{}");
  for (const std::string name :
       {"../x", "..", ".",    "",     "/etc", "a/b/c", "a/",   "/a",        "a--b",        "a..b",
        "-a",   "a-", ".a/b", "a/.b", "a b",  "a\nb",  "a\\b", "org/a.git", "caf\xC3\xA9", "~/x"}) {
    EXPECT_FALSE(is_hub_name(name)) << name;
    test::expect_error(ErrorCode::kInvalidArgument, {"no name of a model"}, [&] { find(name); });
  }
  EXPECT_FALSE(is_hub_name(std::string(97, 'a')));
  EXPECT_FALSE(is_hub_name(std::string_view("a\0b", 3)));
  put_linked("models--m", kCommit);
  for (const std::string revision :
       {"..", "../../x", "a/../b", "/etc/passwd", "a//b", "", ".", "a/", "a\nb"}) {
    test::expect_error(ErrorCode::kInvalidArgument, {"--revision"}, [&] { find("m", revision); });
  }
  EXPECT_THROW(find("m", std::string(300, 'r')), Error);
}

TEST(HubNames, AreWhatTheHubGivesOut) {
  for (const std::string name :
       {"bert-base-uncased", "allenai/longformer-base-4096", "a", "A_1/b.c-d"}) {
    EXPECT_TRUE(is_hub_name(name)) << name;
  }
  EXPECT_EQ(hub_repository("/c", "org/name"), "/c/models--org--name");
}

}  // namespace
}  // namespace longformer::io
