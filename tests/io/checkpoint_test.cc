#include "io/checkpoint.h"

#include <sys/stat.h>
#include <unistd.h>

#include "io/testing.h"

namespace longformer::io {
namespace {

namespace fs = std::filesystem;

class CheckpointTest : public DirectoryTest {
 protected:
  Checkpoint open() const { return Checkpoint::open(directory_); }

  void put_index(const std::string& weight_map) const {
    put("model.safetensors.index.json",
        "{\"metadata\": {\"total_size\": 1}, \"weight_map\": " + weight_map + "}");
  }

  void expect_refused(const std::vector<std::string>& parts,
                      ErrorCode code = ErrorCode::kInvalidFile) const {
    expect_error(code, parts, [&] { open(); });
  }
};

TEST_F(CheckpointTest, OpensASingleFile) {
  put("model.safetensors", zeros_file({{"b", {2}}, {"a", {1, 3}}}));
  const Checkpoint checkpoint = open();
  EXPECT_EQ(checkpoint.names(), (std::vector<std::string>{"b", "a"}));
  EXPECT_TRUE(checkpoint.contains("a"));
  EXPECT_FALSE(checkpoint.contains("c"));
  EXPECT_EQ(checkpoint.tensor("a").shape, (Shape{1, 3}));
  EXPECT_EQ(checkpoint.directory(), directory_);
  expect_error(ErrorCode::kNotFound, {"\"c\""}, [&] { checkpoint.tensor("c"); });
}

TEST_F(CheckpointTest, TensorsOutliveTheCheckpoint) {
  put("model.safetensors", zeros_file({{"a", {3}}}));
  const Tensor tensor = open().tensor("a");
  EXPECT_EQ(to_f32(tensor), (std::vector<float>{0, 0, 0}));
}

TEST_F(CheckpointTest, PrefersTheSingleFile) {
  put("model.safetensors", zeros_file({{"a", {1}}}));
  put("model.safetensors.index.json", "broken");
  put("pytorch_model.bin", "");
  EXPECT_EQ(open().names(), std::vector<std::string>{"a"});
}

TEST_F(CheckpointTest, OpensShardsAndIgnoresWhatTheIndexDoesNotName) {
  put("model-1.safetensors", zeros_file({{"a", {1}}, {"extra", {1}}, {"c", {5}}}));
  put("model-2.safetensors", zeros_file({{"b", {2}}, {"a", {9}}}));
  put_index(
      R"({"b": "model-2.safetensors", "a": "model-1.safetensors", "c": "model-1.safetensors"})");
  const Checkpoint checkpoint = open();
  EXPECT_EQ(checkpoint.names(), (std::vector<std::string>{"b", "a", "c"}));
  EXPECT_EQ(checkpoint.tensor("a").shape, Shape{1});
  EXPECT_FALSE(checkpoint.contains("extra"));
}

TEST_F(CheckpointTest, RefusesShardsOutsideTheDirectory) {
  put("inside/model.safetensors", zeros_file({{"a", {1}}}));
  for (const char* const name :
       {"../model.safetensors", "/etc/model.safetensors", "inside/model.safetensors", "..", ".", "",
        "a\\\\b.safetensors", ".hidden.safetensors", "model.safetensors.index.json", "model.bin",
        "m\\u0000.safetensors"}) {
    put_index(std::string("{\"a\": \"") + name + "\"}");
    expect_refused({"index.json", "plain name"});
  }
}

TEST_F(CheckpointTest, RefusesABrokenIndex) {
  put("s.safetensors", zeros_file({{"a", {1}}}));
  put_index(R"({"a": "s.safetensors", "a": "s.safetensors"})");
  expect_refused({"\"a\"", "twice"});
  put_index(R"({"a": "absent.safetensors"})");
  expect_refused({"absent.safetensors", "does not exist"});
  put_index(R"({"a": "s.safetensors", "b": "s.safetensors"})");
  expect_refused({"s.safetensors", "\"b\"", "does not"});
  put_index(R"({"a": 3})");
  expect_refused({"\"a\"", "must be a file name"});
  put_index("[]");
  expect_refused({"weight_map"});
  put("model.safetensors.index.json", "{}");
  expect_refused({"weight_map"});
  put("model.safetensors.index.json", "[1]");
  expect_refused({"object"});
  put("model.safetensors.index.json", std::string(100'000, '['));
  expect_refused({"deeper than 64"});
  put_index(R"({"a": "s.safetensors"})");
  put("s.safetensors", "short");
  expect_refused({"s.safetensors", "5 bytes"});
}

TEST_F(CheckpointTest, SaysWhatIsMissing) {
  expect_refused({"model.safetensors", "index.json"}, ErrorCode::kNotFound);
  expect_error(ErrorCode::kNotFound, {"absent", "no such model directory"},
               [&] { Checkpoint::open(directory_ / "absent"); });
  const std::string file = put("model.safetensors", zeros_file({}));
  expect_error(ErrorCode::kNotFound, {"not a directory"}, [&] { Checkpoint::open(file); });
}

TEST_F(CheckpointTest, NamesPickleFilesAndTheWayOut) {
  put("pytorch_model.bin", "PK");
  expect_refused({"pytorch_model.bin", "convert", "save_pretrained"}, ErrorCode::kUnsupported);
}

TEST_F(CheckpointTest, RefusesWhatIsNotAReadableFile) {
  fs::create_directory(directory_ / "model.safetensors");
  expect_refused({"model.safetensors", "Is a directory"}, ErrorCode::kInvalidFile);
  fs::remove(directory_ / "model.safetensors");
  fs::create_symlink("nowhere", directory_ / "model.safetensors");
  expect_refused({"model.safetensors", "No such file"}, ErrorCode::kNotFound);
  fs::remove(directory_ / "model.safetensors");
  put("model.safetensors", zeros_file({{"a", {100}}}).substr(0, 200));
  expect_refused({"model.safetensors", "truncated"});
}

TEST_F(CheckpointTest, FollowsLinksToTheWeights) {  // the layout of a hub cache
  put("blobs/1234", zeros_file({{"a", {1}}}));
  fs::create_symlink("blobs/1234", directory_ / "model.safetensors");
  EXPECT_TRUE(open().contains("a"));
}

}  // namespace
}  // namespace longformer::io
