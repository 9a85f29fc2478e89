#include "io/hub/hub_listing.h"

#include <algorithm>

#include "base/limits.h"
#include "io/testing.h"

namespace longformer::io {
namespace {

const std::string kCommit(40, 'c');

// The API's answer for these names.
std::string answer(const std::vector<std::string>& names) {
  std::string siblings;
  for (const std::string& name : names) {
    siblings += (siblings.empty() ? "" : ",") + ("{\"rfilename\":\"" + name + "\"}");
  }
  return "{\"sha\":\"" + kCommit + "\",\"siblings\":[" + siblings + "]}";
}

HubListing listing(const std::vector<std::string>& names) {
  return parse_hub_listing(answer(names), "answer");
}

std::vector<std::string> names_of(const std::vector<HubFile>& files) {
  std::vector<std::string> names;
  for (const HubFile& file : files) names.push_back(file.name);
  std::sort(names.begin(), names.end());
  return names;
}

void expect_refused(const std::string& text, const std::string& says) {
  test::expect_error(ErrorCode::kInvalidFile, {"answer", says},
                     [&] { parse_hub_listing(text, "answer"); });
}

TEST(HubListing, ReadsSizesAndHashesOfBothKinds) {
  const std::string git(40, '1');
  const std::string sha(64, '2');
  const HubListing list = parse_hub_listing(
      "{\"id\":\"m\",\"sha\":\"" + kCommit +
          "\",\"siblings\":[{\"rfilename\":\"config.json\",\"size\":7,\"blobId\":\"" + git +
          "\"},{\"rfilename\":\"model.safetensors\",\"size\":134,\"blobId\":\"" + git +
          "\",\"lfs\":{\"sha256\":\"" + sha +
          "\",\"size\":1000,\"pointerSize\":134}},{\"rfilename\":\"README.md\",\"lfs\":null}]}",
      "answer");
  EXPECT_EQ(list.commit, kCommit);
  EXPECT_EQ(list.find("config.json")->size, 7u);
  EXPECT_EQ(list.find("config.json")->hash, git);
  EXPECT_EQ(list.find("model.safetensors")->size, 1000u);
  EXPECT_EQ(list.find("model.safetensors")->hash, sha);
  EXPECT_EQ(list.find("README.md")->size, std::nullopt);
  EXPECT_EQ(list.find("README.md")->hash, "");
  EXPECT_EQ(list.find("nothing"), nullptr);
}

TEST(HubListing, RefusesWhatNoHubAnswers) {
  for (const std::string text :
       {"", "[]", "<html>sign in</html>", "{}", "{\"sha\":\"main\",\"siblings\":[]}",
        "{\"sha\":5,\"siblings\":[]}"}) {
    expect_refused(text, "");
  }
  expect_refused("{\"sha\":\"" + kCommit + "\",\"siblings\":{}}", "siblings");
  expect_refused("{\"sha\":\"" + kCommit + "\",\"siblings\":[7]}", "without a name");
  expect_refused("{\"sha\":\"" + kCommit + "\",\"siblings\":[{\"rfilename\":null}]}",
                 "without a name");
  for (const std::string name : {"../config.json", "a/../../b", "/etc/passwd", "", "a/.."}) {
    expect_refused(answer({"config.json", name}), "outside");
  }
  for (const std::string more :
       {"\"size\":-1", "\"size\":1e300", "\"size\":\"5\"", "\"size\":9223372036854775807"}) {
    expect_refused(
        "{\"sha\":\"" + kCommit + "\",\"siblings\":[{\"rfilename\":\"f\"," + more + "}]}", "size");
  }
  for (const std::string more : {"\"blobId\":\"../../x\"", "\"blobId\":\"ABC\"", "\"blobId\":[]",
                                 "\"lfs\":{\"sha256\":\"a/b\"}"}) {
    expect_refused(
        "{\"sha\":\"" + kCommit + "\",\"siblings\":[{\"rfilename\":\"f\"," + more + "}]}", "hash");
  }
  expect_refused(std::string(1000, '['), "");
}

TEST(HubListing, TakesWhatTheProgramReadsAndNothingElse) {
  const HubListing list = listing(
      {"config.json", "model.safetensors", "pytorch_model.bin", "tf_model.h5", "onnx/model.onnx",
       "tokenizer.json", "sentence_bert_config.json", "sentence_x/y_config.json", "vocab.txt",
       "README.md", "LICENSE", ".gitattributes", "runs/config.json", "config.json\\n",
       "1_Pooling/config.json", "1_Pooling/README.md", "training_args.bin", "spiece.model"});
  EXPECT_EQ(
      names_of(settings_files(list, "")),
      (std::vector<std::string>{"LICENSE", "README.md", "config.json", "sentence_bert_config.json",
                                "spiece.model", "tokenizer.json", "vocab.txt"}));
  EXPECT_EQ(names_of(settings_files(list, "1_Pooling")),
            std::vector<std::string>{"1_Pooling/config.json"});
}

TEST(HubListing, PrefersSafetensorsThenItsIndexThenPickles) {
  std::vector<std::string> names = {"pytorch_model.bin.index.json", "pytorch_model.bin",
                                    "model.safetensors.index.json", "model.safetensors"};
  for (; !names.empty(); names.pop_back()) {
    EXPECT_EQ(weights_file(listing(names), "")->name, names.back());
  }
  EXPECT_EQ(weights_file(listing({"tf_model.h5", "2_Dense/model.safetensors"}), ""), nullptr);
  EXPECT_EQ(weights_file(listing({"2_Dense/model.safetensors"}), "2_Dense")->name,
            "2_Dense/model.safetensors");
}

TEST(HubListing, ModuleDirectories) {
  EXPECT_EQ(
      module_directories(
          R"([{"path":"","type":"T"},{"path":"1_Pooling"},{"path":"2_Dense/"},{"path":"1_Pooling"}])",
          "m"),
      (std::vector<std::string>{"", "1_Pooling", "2_Dense"}));
  for (const std::string path : {"..", "../x", "/etc", "a/../..", "a//b"}) {
    test::expect_error(ErrorCode::kInvalidFile, {"modules.json", "leads out"}, [&] {
      module_directories("[{\"path\":\"" + path + "\"}]", "modules.json");
    });
  }
  std::string many = "[{\"path\":\"\"}";
  for (int i = 0; i < 40; ++i) many += ",{\"path\":\"" + std::to_string(i) + "\"}";
  test::expect_error(ErrorCode::kInvalidFile, {"more than 32"},
                     [&] { module_directories(many + "]", "modules.json"); });
  for (const std::string text : {"{}", "[1]", "[{}]", "[{\"path\":7}]", "nothing"}) {
    EXPECT_THROW(module_directories(text, "modules.json"), Error) << text;
  }
}

TEST(HubListing, ShardsOfAnIndex) {
  const HubListing list = listing({"model-00001-of-00002.safetensors",
                                   "model-00002-of-00002.safetensors", "sub/model-1.safetensors"});
  const std::string index =
      R"({"metadata":{},"weight_map":{"a":"model-00002-of-00002.safetensors",
          "b":"model-00001-of-00002.safetensors","c":"model-00002-of-00002.safetensors"}})";
  EXPECT_EQ(names_of(shard_files(list, "", index, "index")),
            (std::vector<std::string>{"model-00001-of-00002.safetensors",
                                      "model-00002-of-00002.safetensors"}));
  EXPECT_EQ(
      names_of(shard_files(list, "sub", R"({"weight_map":{"a":"model-1.safetensors"}})", "i")),
      std::vector<std::string>{"sub/model-1.safetensors"});
  for (const std::string shard :
       {"../model.safetensors", "/etc/passwd", "sub/model-1.safetensors", ""}) {
    test::expect_error(ErrorCode::kInvalidFile, {"index", "no plain file name"}, [&] {
      shard_files(list, "", "{\"weight_map\":{\"a\":\"" + shard + "\"}}", "index");
    });
  }
  test::expect_error(ErrorCode::kInvalidFile, {"does not list"}, [&] {
    shard_files(list, "", R"({"weight_map":{"a":"other.safetensors"}})", "index");
  });
  std::string many = "{\"weight_map\":{\"t\":\"s\"";
  for (size_t i = 0; i <= kMaxHubFiles; ++i) {
    many += ",\"t" + std::to_string(i) + "\":\"s" + std::to_string(i) + "\"";
  }
  test::expect_error(ErrorCode::kInvalidFile, {"more than 4000"},
                     [&] { shard_files(list, "", many + "}}", "index"); });
}

// 100,000 files: quick, and only the wanted ones are taken.
TEST(HubListing, ManyFiles) {
  std::vector<std::string> names = {"config.json"};
  for (int i = 0; i < 100'000; ++i) names.push_back("data/" + std::to_string(i));
  const HubListing list = listing(names);
  EXPECT_EQ(list.files.size(), names.size());
  EXPECT_EQ(settings_files(list, "").size(), 1u);
}

}  // namespace
}  // namespace longformer::io
