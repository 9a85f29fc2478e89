#include "io/files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "io/testing.h"

namespace longformer::io {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class Files : public DirectoryTest {};

TEST_F(Files, ReadsUpToTheLimit) {
  std::string bytes(10'000, 'x');
  bytes[5] = '\0';
  const std::string file = put("f", bytes);
  EXPECT_EQ(read_file(file, 10'000), bytes);
  expect_error(ErrorCode::kInvalidFile, {"f", "9999 bytes"}, [&] { read_file(file, 9'999); });
  EXPECT_EQ(read_file(put("empty", ""), 0), "");
}

TEST_F(Files, ReadsFilesThatSayTheyAreEmpty) {
  EXPECT_NE(read_file("/proc/self/status", 1 << 20).find("Name:"), std::string::npos);
}

TEST_F(Files, SaysWhyItCannotRead) {
  expect_error(ErrorCode::kNotFound, {"absent"}, [&] { read_file(path("absent"), 10); });
  expect_error(ErrorCode::kInvalidFile, {"Is a directory"}, [&] { read_file(directory_, 10); });
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  expect_error(ErrorCode::kInvalidFile, {"named pipe"}, [&] { read_file(path("pipe"), 10); });
}

TEST_F(Files, AtomicFileAppearsOnCommitOnly) {
  const std::string file = put("out", "old");
  {
    AtomicFile out(file);
    out.write("new ");
    out.write("text");
    EXPECT_EQ(slurp(file), "old");
    EXPECT_EQ(names().size(), 2u);
    out.commit();
    EXPECT_EQ(slurp(file), "new text");
  }
  EXPECT_EQ(names(), Names{"out"});
}

TEST_F(Files, AtomicFileLeavesNothingWithoutCommit) {
  { AtomicFile(path("out")).write("x"); }
  EXPECT_TRUE(names().empty());
}

TEST_F(Files, AtomicFileUsesItsOwnTemporaryName) {
  AtomicFile a(path("out")), b(path("out"));
  a.write("a");
  b.write("b");
  a.commit();
  b.commit();
  EXPECT_EQ(slurp(path("out")), "b");
  EXPECT_EQ(names(), Names{"out"});
  expect_error(ErrorCode::kInternal, {"out"}, [&] { a.write("more"); });
  expect_error(ErrorCode::kInternal, {"out"}, [&] { a.commit(); });
}

TEST_F(Files, AtomicFileKeepsPermissionsAndLinks) {
  const std::string file = put("real", "old");
  ASSERT_EQ(chmod(file.c_str(), 0640), 0);
  fs::create_symlink("real", directory_ / "link");
  write_file_atomic(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(directory_ / "link"));
  EXPECT_EQ(slurp(file), "new");
  struct stat status;
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(Files, AtomicFileRefusesWhatItCannotReplace) {
  expect_error(ErrorCode::kIo, {"is a directory"}, [&] { AtomicFile{directory_}; });
  expect_error(ErrorCode::kIo, {"/dev/null", "regular file"}, [] { AtomicFile("/dev/null"); });
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  expect_error(ErrorCode::kIo, {"pipe"}, [&] { AtomicFile(path("pipe")); });
  expect_error(ErrorCode::kNotFound, {"absent/out"}, [&] { AtomicFile(path("absent/out")); });
  EXPECT_EQ(names(), Names{"pipe"});
}

// A full disk, played by a limit on the size of files in a child process.
TEST_F(Files, AtomicFileRemovesTheRestWhenTheSystemRefusesToWrite) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    int result = 1;
    try {
      write_file_atomic(path("out"), std::string(5000, 'x'));
    } catch (const Error& error) {
      const bool good = error.code() == ErrorCode::kIo &&
                        std::string(error.what()).find("File too large") != std::string::npos;
      result = good ? 0 : 2;
    }
    _exit(result);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(names().empty());
}

TEST_F(Files, DirectoryAppearsWhole) {
  write_directory_atomic(directory_ / "model/", [&](const fs::path& temporary) {
    EXPECT_FALSE(fs::exists(directory_ / "model"));
    EXPECT_EQ(temporary.parent_path(), directory_);
    fs::create_directory(temporary / "sub");
    write_file_atomic(temporary / "sub" / "a", "1");
    write_file_atomic(temporary / "b", "2");
  });
  EXPECT_EQ(names(), (Names{"model", "model/b", "model/sub", "model/sub/a"}));
  EXPECT_EQ(slurp(directory_ / "model/sub/a"), "1");
}

TEST_F(Files, DirectoryLeavesNothingWhenFillThrows) {
  EXPECT_THROW(write_directory_atomic(directory_ / "model",
                                      [](const fs::path& temporary) {
                                        write_file_atomic(temporary / "a", "1");
                                        throw std::runtime_error("stop");
                                      }),
               std::runtime_error);
  expect_error(ErrorCode::kIo, {"model"}, [&] {
    write_directory_atomic(directory_ / "model", [](const fs::path& temporary) {
      fs::copy_file(temporary / "absent", temporary / "b");
    });
  });
  EXPECT_TRUE(names().empty());
}

TEST_F(Files, DirectoryMayBeEmptyButNotUsed) {
  const auto fill = [](const fs::path& temporary) { write_file_atomic(temporary / "new", ""); };
  fs::create_directory(directory_ / "empty");
  write_directory_atomic(directory_ / "empty", fill);
  EXPECT_EQ(names(), (Names{"empty", "empty/new"}));
  expect_error(ErrorCode::kInvalidArgument, {"empty", "not empty"},
               [&] { write_directory_atomic(directory_ / "empty", fill); });
  expect_error(ErrorCode::kInvalidArgument, {"not a directory"},
               [&] { write_directory_atomic(put("file", ""), fill); });
  // Someone fills the place while we work: their files stay.
  expect_error(ErrorCode::kInvalidArgument, {"meanwhile"}, [&] {
    write_directory_atomic(directory_ / "raced",
                           [&](const fs::path&) { put("raced/theirs", "keep"); });
  });
  EXPECT_EQ(names(), (Names{"empty", "empty/new", "file", "raced", "raced/theirs"}));
}

}  // namespace
}  // namespace longformer::io
