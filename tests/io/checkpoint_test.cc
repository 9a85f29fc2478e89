#include "io/checkpoint/checkpoint.h"

#include <sys/stat.h>
#include <unistd.h>

#include "io/testing.h"
#include "io/torch_files.h"

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
  expect_refused({"model.safetensors", "index.json", "pytorch_model.bin"}, ErrorCode::kNotFound);
  expect_error(ErrorCode::kNotFound, {"absent", "no such model directory"},
               [&] { Checkpoint::open(directory_ / "absent"); });
  const std::string file = put("model.safetensors", zeros_file({}));
  expect_error(ErrorCode::kNotFound, {"not a directory"}, [&] { Checkpoint::open(file); });
}

// A .bin with tensors of one float each.
std::string bin_file(const std::vector<std::pair<std::string, float>>& tensors) {
  std::vector<std::pair<std::string, std::string>> items;
  Storages storages;
  for (const auto& [name, value] : tensors) {
    const std::string key = std::to_string(storages.size());
    items.emplace_back(name, tensor(storage("FloatStorage", key, 1), 0, tuple({1}), tuple({1})));
    storages.emplace_back(key, floats({value}));
  }
  return torch_zip(finish(dictionary(items)), storages);
}

TEST_F(CheckpointTest, OpensAPyTorchFile) {
  put("pytorch_model.bin", bin_file({{"b", 2}, {"a", 1}}));
  const Checkpoint checkpoint = open();
  EXPECT_EQ(checkpoint.names(), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(to_f32(checkpoint.tensor("a")), std::vector<float>{1});
  EXPECT_EQ(checkpoint.shape("b"), Shape{1});
  put("pytorch_model.bin", torch_legacy(one_tensor(), {{"0", floats({0, 1, 2, 3, 4, 5})}}));
  EXPECT_EQ(open().tensor("w").shape, (Shape{2, 3}));
}

TEST_F(CheckpointTest, TakesTheFilesInTheirOrder) {
  put("pytorch_model.bin.index.json", R"({"weight_map": {"d": "s-1.bin"}})");
  put("s-1.bin", bin_file({{"d", 4}}));
  EXPECT_EQ(open().names(), std::vector<std::string>{"d"});
  put("pytorch_model.bin", bin_file({{"c", 3}}));
  EXPECT_EQ(open().names(), std::vector<std::string>{"c"});
  put("s.safetensors", zeros_file({{"b", {1}}}));
  put_index(R"({"b": "s.safetensors"})");
  EXPECT_EQ(open().names(), std::vector<std::string>{"b"});
  put("model.safetensors", zeros_file({{"a", {1}}}));
  EXPECT_EQ(open().names(), std::vector<std::string>{"a"});
}

TEST_F(CheckpointTest, OpensPyTorchShardsThatRepeatATiedTensor) {
  put("s-1.bin", bin_file({{"embedding", 5}, {"decoder", 5}}));
  put("s-2.bin", bin_file({{"decoder", 6}, {"bias", 7}}));
  put("pytorch_model.bin.index.json",
      R"({"weight_map": {"embedding": "s-1.bin", "decoder": "s-2.bin", "bias": "s-2.bin"}})");
  const Checkpoint checkpoint = open();
  EXPECT_EQ(checkpoint.names(), (std::vector<std::string>{"embedding", "decoder", "bias"}));
  EXPECT_EQ(to_f32(checkpoint.tensor("decoder")), std::vector<float>{6});
}

TEST_F(CheckpointTest, ShardsAreOfOneKind) {
  put("s.safetensors", zeros_file({{"a", {1}}}));
  put("s.bin", bin_file({{"a", 1}}));
  put("pytorch_model.bin.index.json", R"({"weight_map": {"a": "s.safetensors"}})");
  expect_refused({"pytorch_model.bin.index.json", "plain name of a .bin file"});
  put("pytorch_model.bin.index.json", R"({"weight_map": {"a": "../s.bin"}})");
  expect_refused({"pytorch_model.bin.index.json", "plain name"});
  put("pytorch_model.bin.index.json", R"({"weight_map": {"a": "absent.bin"}})");
  expect_refused({"absent.bin", "does not exist"});
  // An index that names itself as a shard is no checkpoint.
  put("pytorch_model.bin.index.json", R"({"weight_map": {"a": "pytorch_model.bin.index.json"}})");
  expect_refused({"plain name of a .bin file"});
  put_index(R"({"a": "s.bin"})");
  expect_refused({"model.safetensors.index.json", "plain name of a .safetensors file"});
}

TEST_F(CheckpointTest, ReadsSafetensorsUnderTheOtherName) {
  put("pytorch_model.bin", zeros_file({{"a", {2}}}));
  EXPECT_EQ(open().names(), std::vector<std::string>{"a"});
}

TEST_F(CheckpointTest, ObjectsOfTrainersMatterOnlyWhereTheyAreWanted) {
  const std::string weight = tensor(storage("FloatStorage", "0", 1), 0, tuple({1}), tuple({1}));
  const std::string made = global("torch._utils", "_rebuild_other") + ")R";
  put("pytorch_model.bin",
      torch_zip(finish(dictionary({{"w", weight}, {"x", made}})), {{"0", floats({4})}}));
  const Checkpoint checkpoint = open();
  EXPECT_EQ(to_f32(checkpoint.tensor("w")), std::vector<float>{4});
  EXPECT_EQ(checkpoint.refused(), std::vector<std::string>{"torch._utils _rebuild_other"});
  const std::vector<std::string> parts = {"\"x\"", "torch._utils _rebuild_other"};
  expect_error(ErrorCode::kInvalidFile, parts, [&] { checkpoint.tensor("x"); });
  expect_error(ErrorCode::kInvalidFile, parts, [&] { checkpoint.shape("x"); });
}

TEST_F(CheckpointTest, BrokenPyTorchFilesAreNamed) {
  put("pytorch_model.bin", "PK");
  expect_refused({"pytorch_model.bin", "byte 0"});
  put("pytorch_model.bin", bin_file({{"a", 1}}).substr(0, 300));
  expect_refused({"pytorch_model.bin", "truncated"});
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
