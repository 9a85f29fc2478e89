#include "io/hub/hub_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "io/files.h"
#include "io/hash.h"
#include "io/testing.h"

namespace longformer::io {
namespace {

namespace fs = std::filesystem;

const std::string kCommit(40, 'c');

class HubStoreTest : public DirectoryTest {
 protected:
  fs::path repository() const { return directory_ / "cache" / "models--o--m"; }
  fs::path blob(const std::string& name) const { return repository() / "blobs" / name; }
  std::string hash_of(const std::string& bytes) const { return git_hash(put("scratch", bytes)); }
};

// The numbers that `git hash-object` prints.
TEST_F(HubStoreTest, GitHash) {
  EXPECT_EQ(git_hash(put("empty", "")), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(git_hash(put("hello", "hello world\n")), "3b18e512dba79e4c8300dd08aeb37f8e728b8dad");
  EXPECT_EQ(git_hash(put("zeros", std::string((1 << 20) + 1, '\0'))),
            "4d435148d93240e4d05d1e03e5fe5b84fe9a7a47");
}

TEST_F(HubStoreTest, BlobGetsItsNameWhenItIsRight) {
  const std::string hash = hash_of("hello");
  PartialBlob partial(repository(), hash, 5);
  partial.write("hel");
  EXPECT_FALSE(partial.is_right());
  partial.write("lo");
  EXPECT_FALSE(fs::exists(blob(hash)));
  ASSERT_TRUE(partial.is_right());
  partial.publish();
  EXPECT_EQ(slurp(blob(hash)), "hello");
  EXPECT_FALSE(fs::exists(blob(hash + ".incomplete")));
}

TEST_F(HubStoreTest, PartialFileStaysAndGoesOn) {
  const std::string hash = sha256_file(put("scratch", "hello"));
  { PartialBlob(repository(), hash, 5).write("hel"); }
  EXPECT_EQ(slurp(blob(hash + ".incomplete")), "hel");
  PartialBlob partial(repository(), hash, 5);
  EXPECT_EQ(partial.size(), 3u);
  partial.write("lo");
  EXPECT_TRUE(partial.is_right());
  partial.cut(1);
  partial.write("ELLO");
  EXPECT_FALSE(partial.is_right());
  EXPECT_EQ(slurp(blob(hash + ".incomplete")), "hELLO");
}

TEST_F(HubStoreTest, LongerThanTheFileIsDropped) {
  const std::string hash = hash_of("hello");
  put("cache/models--o--m/blobs/" + hash + ".incomplete", "something longer");
  PartialBlob partial(repository(), hash, 5);
  EXPECT_EQ(partial.size(), 0u);
  test::expect_error(ErrorCode::kInvalidFile, {"more than the 5 bytes"},
                     [&] { partial.write("hello!"); });
  EXPECT_FALSE(fs::exists(blob(hash + ".incomplete")));
}

TEST_F(HubStoreTest, WritesThroughNoLinkAndNoPipe) {
  const std::string hash = hash_of("hello");
  put("precious", "keep");
  fs::create_directories(repository() / "blobs");
  fs::create_symlink(path("precious"), blob(hash + ".incomplete"));
  EXPECT_THROW(PartialBlob(repository(), hash, 5), Error);
  EXPECT_EQ(slurp(path("precious")), "keep");
  fs::remove(blob(hash + ".incomplete"));
  ASSERT_EQ(mkfifo(blob(hash + ".incomplete").c_str(), 0600), 0);
  test::expect_error(ErrorCode::kIo, {"not a regular file"},
                     [&] { PartialBlob(repository(), hash, 5); });
}

TEST_F(HubStoreTest, AFullDiskIsSaidBeforeAnythingIsWritten) {
  const std::string hash = hash_of("x");
  test::expect_error(ErrorCode::kIo, {"too full", "1125899906842624", "HF_HUB_CACHE"},
                     [&] { PartialBlob(repository(), hash, uint64_t{1} << 50); });
  EXPECT_FALSE(fs::exists(blob(hash + ".incomplete")));
}

// A limit on the size of files stands in for a disk that fills up meanwhile. In a child: the limit
// holds for the whole process.
TEST_F(HubStoreTest, ADiskThatFillsUpLeavesNothing) {
  const std::string hash = hash_of("x");
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {100'000, 100'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    int code = 1;
    try {
      PartialBlob partial(repository(), hash, 1'000'000);
      for (int i = 0; i < 100; ++i) partial.write(std::string(10'000, 'x'));
    } catch (const Error& error) {
      const std::string message = error.what();
      code = error.code() == ErrorCode::kIo && message.find("1000000 bytes") != std::string::npos
                 ? 0
                 : 2;
    }
    _exit(code);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::exists(repository() / "blobs"));
  EXPECT_FALSE(fs::exists(blob(hash + ".incomplete")));
}

TEST_F(HubStoreTest, SnapshotEntriesAreRelativeLinksOrCopies) {
  const std::string hash = hash_of("hello");
  put("cache/models--o--m/blobs/" + hash, "hello");
  const fs::path snapshot = repository() / "snapshots" / kCommit;
  add_to_snapshot(repository(), kCommit, "config.json", hash, SnapshotEntry::kLink);
  add_to_snapshot(repository(), kCommit, "1_Pooling/config.json", hash, SnapshotEntry::kLink);
  EXPECT_EQ(fs::read_symlink(snapshot / "config.json"), "../../blobs/" + hash);
  EXPECT_EQ(fs::read_symlink(snapshot / "1_Pooling" / "config.json"), "../../../blobs/" + hash);
  EXPECT_EQ(slurp(snapshot / "1_Pooling" / "config.json"), "hello");
  EXPECT_TRUE(is_in_snapshot(snapshot / "config.json", 5));
  EXPECT_FALSE(is_in_snapshot(snapshot / "config.json", 6));
  EXPECT_FALSE(is_in_snapshot(snapshot / "other.json", 0));

  // A copy in the place of a link leaves the blob alone; a link in the place of a broken one.
  add_to_snapshot(repository(), kCommit, "config.json", hash, SnapshotEntry::kCopy);
  EXPECT_FALSE(fs::is_symlink(snapshot / "config.json"));
  EXPECT_EQ(slurp(snapshot / "config.json"), "hello");
  EXPECT_EQ(slurp(blob(hash)), "hello");
  fs::remove(snapshot / "config.json");
  fs::create_symlink("../../blobs/gone", snapshot / "config.json");
  add_to_snapshot(repository(), kCommit, "config.json", hash, SnapshotEntry::kLink);
  EXPECT_EQ(slurp(snapshot / "config.json"), "hello");
}

TEST_F(HubStoreTest, RefsHoldTheCommitAndNothingElse) {
  write_ref(repository(), "main", kCommit);
  write_ref(repository(), "refs/pr/1", kCommit);
  EXPECT_EQ(slurp(repository() / "refs" / "main"), kCommit);
  EXPECT_EQ(slurp(repository() / "refs" / "refs" / "pr" / "1"), kCommit);
}

TEST_F(HubStoreTest, LocksKeepOthersOutUntilTheyGo) {
  std::optional<BlobLock> first;
  first.emplace(repository(), "e1", nullptr, nullptr);
  EXPECT_TRUE(fs::exists(directory_ / "cache" / ".locks" / "models--o--m" / "e1.lock"));
  int told = 0;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    first.reset();
  });
  const BlobLock second(
      repository(), "e1", [&] { ++told; }, nullptr);
  other.join();
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(first.has_value());
  test::expect_error(ErrorCode::kCancelled, {"stopped"},
                     [&] { BlobLock(repository(), "e1", nullptr, [] { return true; }); });
}

// Some programs remove a lock file when they are done: a lock on the removed file keeps nobody out.
TEST_F(HubStoreTest, ARemovedLockFileIsNoLock) {
  const std::string name = put("cache/.locks/models--o--m/e1.lock", "");
  const FileDescriptor holder(open(name.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(holder.get(), LOCK_EX), 0);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    fs::remove(name);
    flock(holder.get(), LOCK_UN);
  });
  const BlobLock lock(repository(), "e1", nullptr, nullptr);
  other.join();
  const FileDescriptor again(open(name.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_GE(again.get(), 0) << "the lock that was taken has a name";
  EXPECT_NE(flock(again.get(), LOCK_EX | LOCK_NB), 0);
}

}  // namespace
}  // namespace longformer::io
