// Downloads from tests/hub/server.py, which plays the hub well and badly.
#include "io/hub/hub_pull.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdlib>
#include <memory>

#include "hub/hub_server.h"
#include "io/hub/hub_cache.h"
#include "io/testing.h"

namespace longformer::io {
namespace {

namespace fs = std::filesystem;
using Faults = nlohmann::json;

const std::string kName = "org/tiny";
const std::string kWeights(300'000, 'w');

class HubPullTest : public DirectoryTest {
 protected:
  void SetUp() override {
    DirectoryTest::SetUp();
    setenv("no_proxy", "127.0.0.1,localhost", 1);
    server_ = std::make_unique<test::HubServer>(directory_);
    server_->put(kName + "/config.json", R"({"model_type":"bert"})");
    server_->put(kName + "/vocab.txt", "a\nb\n");
    server_->put(kName + "/empty.txt", "");
    server_->put(kName + "/added_tokens.json", "");
    server_->put(kName + "/model.safetensors", kWeights);
    server_->put(kName + "/tf_model.h5", "not wanted");
    server_->start();
    options_.name = kName;
    options_.cache = directory_ / "cache";
    options_.server.endpoint = server_->hub();
    options_.server.first_wait_ms = 1;
    options_.notice = [this](const std::string& message) { notices_.push_back(message); };
  }
  void TearDown() override {
    server_.reset();
    DirectoryTest::TearDown();
  }

  PullReport pull() { return pull_model(options_); }
  fs::path repository() const { return hub_repository(options_.cache, kName); }
  std::vector<std::string> requests_for(const std::string& part) const {
    std::vector<std::string> found;
    for (const std::string& line : server_->request_lines()) {
      if (line.find(part) != std::string::npos) found.push_back(line);
    }
    return found;
  }
  // A model that is not whole has no revision, no blob that is wrong, and, unless bytes are kept to
  // go on from, no partial file.
  void expect_no_half_model() const {
    EXPECT_THROW(find_cached_model(options_.cache, kName, "main"), Error);
    for (const std::string& name : names()) {
      EXPECT_FALSE(name.starts_with("cache/") && name.ends_with(".incomplete")) << name;
      if (name.find("snapshots/") == std::string::npos || !fs::is_regular_file(path(name)))
        continue;
      EXPECT_NE(fs::path(name).filename(), "model.safetensors") << name;
    }
  }
  void expect_pull_fails(ErrorCode code, const std::vector<std::string>& parts) {
    test::expect_error(code, parts, [&] { pull(); });
  }

  std::unique_ptr<test::HubServer> server_;
  PullOptions options_;
  std::vector<std::string> notices_;
};

TEST_F(HubPullTest, AModelLiesInTheCacheAsHuggingfaceHubHasIt) {
  const PullReport report = pull();
  EXPECT_EQ(report.files, 4);
  EXPECT_EQ(report.downloaded_files, 4);
  EXPECT_EQ(report.bytes, 300'025u);
  EXPECT_EQ(report.downloaded_bytes, report.bytes);
  EXPECT_EQ(report.directory, find_cached_model(options_.cache, kName, "main"));
  EXPECT_EQ(slurp(report.directory / "config.json"), R"({"model_type":"bert"})");
  EXPECT_EQ(slurp(report.directory / "model.safetensors"), kWeights);
  EXPECT_EQ(slurp(report.directory / "added_tokens.json"), "");
  EXPECT_FALSE(fs::exists(report.directory / "tf_model.h5"));
  EXPECT_TRUE(fs::is_symlink(report.directory / "config.json"));
  EXPECT_EQ(slurp(repository() / "refs" / "main"), report.commit);
  EXPECT_EQ(fs::read_symlink(report.directory / "model.safetensors").filename().string().size(),
            64u);
  EXPECT_EQ(fs::read_symlink(report.directory / "config.json").filename().string().size(), 40u);
  for (const std::string& name : names()) {
    EXPECT_EQ(name.find("incomplete"), std::string::npos) << name;
    EXPECT_EQ(name.find("tmp-"), std::string::npos) << name;
  }
}

TEST_F(HubPullTest, ASecondTimeDownloadsNothing) {
  const PullReport first = pull();
  server_->forget_requests();
  const PullReport second = pull();
  EXPECT_EQ(second.downloaded_files, 0);
  EXPECT_EQ(second.downloaded_bytes, 0u);
  EXPECT_EQ(second.bytes, first.bytes);
  EXPECT_EQ(second.directory, first.directory);
  EXPECT_EQ(server_->request_lines().size(), 1u) << "only the list of files";

  // Another commit that shares the weights takes them from the blobs.
  server_->put(kName + "/config.json", R"({"model_type":"longformer"})");
  const PullReport third = pull();
  EXPECT_NE(third.commit, first.commit);
  EXPECT_EQ(third.downloaded_files, 1);
  EXPECT_EQ(slurp(repository() / "refs" / "main"), third.commit);
  EXPECT_TRUE(fs::exists(first.directory / "config.json"));
}

TEST_F(HubPullTest, RevisionsTagsAndCommits) {
  options_.revision = "refs/pr/1";
  const PullReport report = pull();
  EXPECT_EQ(slurp(repository() / "refs" / "refs" / "pr" / "1"), report.commit);
  EXPECT_FALSE(fs::exists(repository() / "refs" / "main"));
  options_.revision = report.commit;
  EXPECT_EQ(pull().downloaded_files, 0);
  EXPECT_FALSE(fs::exists(repository() / "refs" / report.commit));
  options_.revision = "v9";
  expect_pull_fails(ErrorCode::kNotFound, {kName, "no revision v9", "404"});
}

// What was damaged in the cache is made whole.
TEST_F(HubPullTest, RepairsTheCache) {
  const PullReport first = pull();
  const fs::path weights = fs::canonical(first.directory / "model.safetensors");
  fs::resize_file(weights, 1000);
  fs::remove(fs::canonical(first.directory / "config.json"));
  fs::remove(first.directory / "vocab.txt");
  const PullReport again = pull();
  EXPECT_EQ(again.downloaded_files, 2);
  EXPECT_EQ(slurp(first.directory / "model.safetensors"), kWeights);
  EXPECT_EQ(slurp(first.directory / "config.json"), R"({"model_type":"bert"})");
  EXPECT_EQ(slurp(first.directory / "vocab.txt"), "a\nb\n");
}

TEST_F(HubPullTest, CopiesWhereThereAreNoLinks) {
  options_.snapshot_entry = SnapshotEntry::kCopy;
  const PullReport report = pull();
  EXPECT_FALSE(fs::is_symlink(report.directory / "model.safetensors"));
  EXPECT_EQ(slurp(report.directory / "model.safetensors"), kWeights);
  EXPECT_EQ(pull().downloaded_files, 0);
}

TEST_F(HubPullTest, ShardsAndModules) {
  const std::string name = "sentence";
  server_->put(name + "/modules.json",
               R"([{"path":""},{"path":"1_Pooling"},{"path":"2_Dense"},{"path":"3_Normalize"}])");
  server_->put(name + "/config.json", "{}");
  server_->put(name + "/1_Pooling/config.json", "{\"a\":1}");
  server_->put(name + "/2_Dense/config.json", "{\"b\":1}");
  server_->put(name + "/2_Dense/model.safetensors", "dense");
  server_->put(
      name + "/pytorch_model.bin.index.json",
      R"({"weight_map":{"x":"pytorch_model-00001-of-00002.bin","y":"pytorch_model-00002-of-00002.bin"}})");
  server_->put(name + "/pytorch_model-00001-of-00002.bin", "one");
  server_->put(name + "/pytorch_model-00002-of-00002.bin", "two");
  server_->put(name + "/pytorch_model-00001-of-00003.bin", "not of this index");
  options_.name = name;
  const PullReport report = pull();
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(report.directory)) {
    if (!entry.is_directory()) {
      found.push_back(fs::relative(entry.path().parent_path(), report.directory) /
                      entry.path().filename());
    }
  }
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found,
            (std::vector<std::string>{
                "./config.json", "./modules.json", "./pytorch_model-00001-of-00002.bin",
                "./pytorch_model-00002-of-00002.bin", "./pytorch_model.bin.index.json",
                "1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors"}));
  EXPECT_EQ(slurp(report.directory / "2_Dense" / "model.safetensors"), "dense");
}

TEST_F(HubPullTest, ServersThatListNoHashesAreAskedFileByFile) {
  server_->set_faults({{{"match", "/api/"}, {"drop", {"size", "blobId", "lfs"}}}});
  const PullReport report = pull();
  EXPECT_EQ(slurp(report.directory / "model.safetensors"), kWeights);
  EXPECT_EQ(requests_for("HEAD").size(), 4u);
  EXPECT_EQ(fs::read_symlink(report.directory / "model.safetensors").filename().string().size(),
            64u);
}

TEST_F(HubPullTest, ProgressEndsAtTheWhole) {
  uint64_t last = 0;
  uint64_t total = 0;
  options_.progress = [&](uint64_t done, uint64_t all) {
    EXPECT_GE(done, last);
    EXPECT_LE(done, all);
    last = done;
    total = all;
  };
  EXPECT_EQ(pull().bytes, last);
  EXPECT_EQ(last, total);
}

TEST_F(HubPullTest, TheTokenGoesToTheHubOnly) {
  options_.server.token = "hf_secret";
  pull();
  int hub = 0;
  int cdn = 0;
  for (const nlohmann::json& request : server_->requests()) {
    const bool own = request["origin"] == "hub";
    ++(own ? hub : cdn);
    if (own) {
      EXPECT_EQ(request["authorization"], "Bearer hf_secret");
    } else {
      EXPECT_TRUE(request["authorization"].is_null()) << request;
    }
  }
  EXPECT_EQ(hub, 5);
  EXPECT_EQ(cdn, 1);
}

// A detour over another host and back: the token is decided anew at each step. The same address
// under another name is another host.
TEST_F(HubPullTest, TheTokenAlongADetour) {
  options_.server.token = "hf_secret";
  const std::string port = server_->hub().substr(server_->hub().rfind(':'));
  const std::string there = "http://localhost" + port;
  server_->set_faults(
      {{{"match", "hub GET /org/tiny/resolve/.*/config.json$"},
        {"status", 302},
        {"times", 1},
        {"headers", {{"Location", there + "/org/tiny/resolve/main/config.json?second"}}}}});
  pull();
  int other = 0;
  for (const nlohmann::json& request : server_->requests()) {
    if (request["path"].get<std::string>().find("?second") == std::string::npos) continue;
    ++other;
    EXPECT_TRUE(request["authorization"].is_null()) << request;
  }
  EXPECT_EQ(other, 1);
}

TEST_F(HubPullTest, ACutConnectionGoesOnWhereItEnded) {
  server_->set_faults({{{"match", "cdn GET"}, {"times", 2}, {"cut", 100'000}}});
  const PullReport report = pull();
  EXPECT_EQ(slurp(report.directory / "model.safetensors"), kWeights);
  EXPECT_EQ(report.downloaded_bytes, report.bytes) << "nothing came twice";
  EXPECT_EQ(notices_.size(), 2u);
  std::vector<std::string> ranges;
  for (const nlohmann::json& request : server_->requests()) {
    if (request["origin"] == "cdn") ranges.push_back(request["range"].dump());
  }
  EXPECT_EQ(ranges, (std::vector<std::string>{"null", "\"bytes=100000-\"", "\"bytes=200000-\""}));
}

TEST_F(HubPullTest, WhatArrivedIsKeptForTheNextPull) {
  server_->set_faults({{{"match", "cdn GET"}, {"times", 4}, {"cut", 10'000}}});
  expect_pull_fails(ErrorCode::kIo, {kName, "model.safetensors", "kept", "pull again"});
  EXPECT_THROW(find_cached_model(options_.cache, kName, "main"), Error);
  const PullReport report = pull();
  EXPECT_EQ(report.downloaded_files, 1);
  EXPECT_EQ(report.downloaded_bytes, 260'000u);
  EXPECT_EQ(slurp(report.directory / "model.safetensors"), kWeights);
}

TEST_F(HubPullTest, AServerWithoutRangesStartsAgain) {
  server_->set_faults({{{"match", "cdn GET"}, {"times", 1}, {"cut", 100'000}},
                       {{"match", "cdn GET"}, {"no_range", true}}});
  const PullReport report = pull();
  EXPECT_EQ(slurp(report.directory / "model.safetensors"), kWeights);
  EXPECT_EQ(report.downloaded_bytes, report.bytes + 100'000);
}

TEST_F(HubPullTest, AWrongBeginningIsNotKept) {
  const PullReport report = pull();
  const std::string hash = fs::read_symlink(report.directory / "model.safetensors").filename();
  fs::remove_all(repository());
  for (const std::string& begin :
       {std::string(1000, 'X'), std::string(300'000, 'X'), std::string(400'000, 'X')}) {
    put("cache/models--org--tiny/blobs/" + hash + ".incomplete", begin);
    EXPECT_EQ(slurp(pull().directory / "model.safetensors"), kWeights);
    fs::remove_all(repository());
  }
}

TEST_F(HubPullTest, WrongRangeIsRefused) {
  server_->set_faults({{{"match", "cdn GET"}, {"times", 1}, {"cut", 100'000}},
                       {{"match", "cdn GET"}, {"wrong_range", true}}});
  expect_pull_fails(ErrorCode::kInvalidFile, {"model.safetensors", "another part"});
}

TEST_F(HubPullTest, WrongHashAndWrongSizeLeaveNothing) {
  const struct {
    Faults fault;
    ErrorCode code;
    std::string says;
  } cases[] = {
      {{{"match", "cdn GET"}, {"flip", 150'000}}, ErrorCode::kIo, "another hash"},
      {{{"match", "cdn GET"}, {"short", 1}}, ErrorCode::kIo, "299999 bytes arrived"},
      {{{"match", "cdn GET"}, {"extra", 1}}, ErrorCode::kInvalidFile, "more than the 300000"},
      {{{"match", "cdn GET"}, {"endless", true}}, ErrorCode::kInvalidFile, "more than the 300000"},
      {{{"match", "resolve/.*/config.json"}, {"flip", 3}}, ErrorCode::kIo, "config.json"},
  };
  for (const auto& [fault, code, says] : cases) {
    fs::remove_all(options_.cache);
    server_->set_faults(fault);
    expect_pull_fails(code, {says});
    expect_no_half_model();
  }
}

TEST_F(HubPullTest, AnswersOfTheHubSayWhatToDo) {
  const struct {
    std::string match;
    int status;
    std::string error;
    bool token;
    ErrorCode code;
    std::vector<std::string> says;
  } cases[] = {
      {"/api/", 401, "RepoNotFound", false, ErrorCode::kNotFound, {"no such model", "HF_TOKEN"}},
      {"/api/", 401, "", true, ErrorCode::kIo, {"token is not accepted", "HF_TOKEN"}},
      {"/api/", 404, "RepoNotFound", true, ErrorCode::kNotFound, {"no such model", "spelling"}},
      {"resolve", 403, "GatedRepo", false, ErrorCode::kIo, {"ask on", "/org/tiny", "HF_TOKEN"}},
      {"resolve", 403, "GatedRepo", true, ErrorCode::kIo, {"ask on", "account of the token"}},
      {"resolve", 401, "GatedRepo", false, ErrorCode::kIo, {"ask on", "HF_TOKEN"}},
      {"resolve", 403, "", true, ErrorCode::kIo, {"access is denied"}},
      {"resolve", 404, "EntryNotFound", false, ErrorCode::kNotFound, {"listed but not there"}},
      {"cdn GET", 404, "", false, ErrorCode::kNotFound, {"model.safetensors", "not there"}},
      {"/api/", 418, "", false, ErrorCode::kIo, {"418", "HF_ENDPOINT"}},
      {"/api/", 204, "", false, ErrorCode::kIo, {"204", "HF_ENDPOINT"}},
      {"/api/", 503, "", false, ErrorCode::kIo, {"503", "later"}},
      {"resolve", 500, "", false, ErrorCode::kIo, {"500", "kept", "later"}},
  };
  for (const auto& item : cases) {
    Faults fault = {
        {"match", item.match}, {"status", item.status}, {"body", "secret of the server"}};
    if (!item.error.empty()) fault["headers"] = {{"X-Error-Code", item.error}};
    server_->set_faults(fault);
    options_.server.token = item.token ? "hf_secret" : "";
    try {
      pull();
      ADD_FAILURE() << item.status << item.error;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), item.code) << error.what();
      for (const std::string& part : item.says) {
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      }
      EXPECT_NE(std::string(error.what()).find(kName), std::string::npos) << error.what();
      EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
    }
    fs::remove_all(options_.cache);
  }
}

TEST_F(HubPullTest, PassingFaultsAreTriedAgain) {
  server_->set_faults(
      {{{"match", "/api/"}, {"times", 2}, {"status", 502}},
       {{"match", "config.json"}, {"times", 1}, {"status", 500}},
       {{"match", "cdn GET"}, {"times", 1}, {"status", 429}, {"headers", {{"Retry-After", "1"}}}}});
  EXPECT_EQ(pull().files, 4);
  EXPECT_EQ(notices_.size(), 4u);
  // Not for ever, and not for things that last.
  server_->set_faults({{{"match", "/api/"}, {"status", 503}}});
  server_->forget_requests();
  EXPECT_THROW(pull(), Error);
  EXPECT_EQ(server_->request_lines().size(), 4u);
}

TEST_F(HubPullTest, ALongRetryAfterIsSaidNotObeyed) {
  server_->set_faults(
      {{{"match", "/api/"}, {"status", 429}, {"headers", {{"Retry-After", "3600"}}}}});
  expect_pull_fails(ErrorCode::kIo, {kName, "too many requests", "in 3600 seconds"});
  EXPECT_EQ(server_->request_lines().size(), 1u);
}

TEST_F(HubPullTest, AStalledConnectionIsBroken) {
  server_->set_faults({{{"match", "cdn GET"}, {"times", 1}, {"stall", 900}}});
  options_.server.http.stall_seconds = 1;
  EXPECT_EQ(slurp(pull().directory / "model.safetensors"), kWeights);
  EXPECT_EQ(notices_.size(), 1u);
}

TEST_F(HubPullTest, HostileDescriptionsAreRefused) {
  const std::string long_answer = "{\"sha\":\"" + std::string(1 << 20, 'a') + "\"}";
  const std::vector<std::pair<Faults, std::string>> cases = {
      {{{"match", "/api/"}, {"text", "<html>"}}, "JSON"},
      {{{"match", "/api/"}, {"text", std::string(100'000, '[')}}, "nested"},
      {{{"match", "/api/"}, {"text", long_answer}}, "HF_ENDPOINT"},
      {{{"match", "/api/"}, {"set", {{"sha", "../../../../x"}}}}, "HF_ENDPOINT"},
      {{{"match", "/api/"}, {"endless", true}}, "larger than 67108864 bytes"},
      {{{"match", "/api/"},
        {"set",
         {{"siblings", {{{"rfilename", "../../../evil"}}, {{"rfilename", "config.json"}}}}}}},
       "outside"},
  };
  for (const auto& [fault, says] : cases) {
    server_->set_faults(fault);
    expect_pull_fails(ErrorCode::kInvalidFile, {kName, says});
    EXPECT_FALSE(fs::exists(options_.cache)) << says;
  }
}

TEST_F(HubPullTest, HostileHeadersAreRefused) {
  const std::vector<std::string> etags = {"../../../evil", "a/b", "", std::string(64, 'g'),
                                          "\"..\""};
  for (const std::string& etag : etags) {
    server_->set_faults({{{"match", "/api/"}, {"drop", {"size", "blobId", "lfs"}}},
                         {{"match", "HEAD"}, {"etag", etag}}});
    expect_pull_fails(ErrorCode::kInvalidFile, {kName, "verified"});
    EXPECT_FALSE(fs::exists(options_.cache)) << etag;
  }
  server_->set_faults({{{"match", "/api/"}, {"drop", {"size", "blobId", "lfs"}}},
                       {{"match", "HEAD"}, {"commit", std::string(40, '0')}}});
  expect_pull_fails(ErrorCode::kInvalidFile, {"another commit"});
  std::map<std::string, std::string> many;
  for (int i = 0; i < 90; ++i) many["X-" + std::to_string(i)] = std::string(8000, 'x');
  server_->set_faults({{{"match", "/api/"}, {"status", 200}, {"headers", many}}});
  options_.server.tries = 1;
  expect_pull_fails(ErrorCode::kIo, {"headers"});
}

TEST_F(HubPullTest, RedirectsThatGoNowhere) {
  const std::string path = "/api/models/org/tiny/revision/main";
  const std::vector<std::tuple<std::string, ErrorCode, std::string>> cases = {
      {path, ErrorCode::kIo, "more than 10 times"},
      {"{cdn}" + path, ErrorCode::kIo, "set HF_ENDPOINT"},
      {"file:///etc/passwd", ErrorCode::kInvalidFile, "sends on"},
      {"https://user:password@hub/", ErrorCode::kInvalidFile, "sends on"},
  };
  for (const auto& [location, code, says] : cases) {
    server_->set_faults(
        {{{"match", "/api/"}, {"status", 302}, {"headers", {{"Location", location}}}}});
    expect_pull_fails(code, {says});
  }
  // A model that was renamed: relative, on the same host.
  server_->set_faults(
      {{{"match", "/api/models/org/old"}, {"status", 307}, {"headers", {{"Location", path}}}},
       {{"match", "/org/old/resolve/main/"}, {"status", 404}}});
  server_->put("org/old/config.json", R"({"model_type":"bert"})");
  server_->put("org/old/vocab.txt", "a\nb\n");
  server_->put("org/old/empty.txt", "");
  server_->put("org/old/added_tokens.json", "");
  server_->put("org/old/model.safetensors", kWeights);
  server_->put("org/old/tf_model.h5", "not wanted");
  options_.name = "org/old";
  EXPECT_EQ(pull().files, 4);
}

TEST_F(HubPullTest, ModelsThatTheProgramCannotRead) {
  server_->put("tf/config.json", "{}");
  server_->put("tf/tf_model.h5", "x");
  server_->put("data/train.parquet", "x");
  options_.name = "tf";
  expect_pull_fails(ErrorCode::kUnsupported, {"tf", "no model.safetensors"});
  options_.name = "data";
  expect_pull_fails(ErrorCode::kUnsupported, {"data", "no config.json"});
  EXPECT_TRUE(requests_for("resolve").empty());
}

TEST_F(HubPullTest, HostileNamesAskNobody) {
  for (const std::string name : {"../x", "a/b/c", "/etc", "a b", ""}) {
    options_.name = name;
    expect_pull_fails(ErrorCode::kInvalidArgument, {"no name of a model"});
  }
  options_.name = kName;
  options_.revision = "../../x";
  expect_pull_fails(ErrorCode::kInvalidArgument, {"--revision"});
  EXPECT_TRUE(server_->request_lines().empty());
}

TEST_F(HubPullTest, NobodyAtTheEndpoint) {
  server_->stop();
  expect_pull_fails(ErrorCode::kIo, {kName, "cannot be reached", "HF_ENDPOINT"});
  EXPECT_EQ(notices_.size(), 3u);
  options_.server.endpoint = "hub.example";
  expect_pull_fails(ErrorCode::kInvalidArgument, {"HF_ENDPOINT"});
}

TEST_F(HubPullTest, CancelledInTheMiddle) {
  uint64_t seen = 0;
  options_.progress = [&](uint64_t done, uint64_t) { seen = done; };
  options_.cancelled = [&] { return seen > 10'000; };
  server_->set_faults({{{"match", "cdn GET"}, {"stall", 100'000}}});
  expect_pull_fails(ErrorCode::kCancelled, {"stopped"});
  EXPECT_THROW(find_cached_model(options_.cache, kName, "main"), Error);
}

TEST_F(HubPullTest, ACacheThatCannotBeWritten) {
  put("file", "");
  options_.cache = directory_ / "file" / "cache";
  expect_pull_fails(ErrorCode::kIo, {"HF_HUB_CACHE"});
}

// A key and a certificate of its own for 127.0.0.1.
void write_certificate(const fs::path& folder) {
  EVP_PKEY* key = EVP_RSA_gen(2048);
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("127.0.0.1"), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_EXTENSION* host =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
  X509_add_ext(certificate, host, -1);
  X509_sign(certificate, key, EVP_sha256());
  FILE* file = fopen((folder / "cert.pem").c_str(), "w");
  PEM_write_X509(file, certificate);
  fclose(file);
  file = fopen((folder / "key.pem").c_str(), "w");
  PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
  fclose(file);
  X509_EXTENSION_free(host);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

TEST_F(HubPullTest, CertificatesMustBeTrusted) {
  server_->stop();
  fs::remove(server_->state() / "ports");
  write_certificate(server_->state());
  server_->start("https");
  options_.server.endpoint = server_->hub();
  expect_pull_fails(ErrorCode::kIo, {kName, "not secure", "SSL_CERT_FILE"});
  EXPECT_TRUE(server_->request_lines().empty());
  options_.server.http.certificates = server_->state() / "cert.pem";
  EXPECT_EQ(slurp(pull().directory / "model.safetensors"), kWeights);

  // From an encrypted hub to a host that is not.
  fs::remove_all(options_.cache);
  server_->set_faults({{{"match", "hub GET /org/tiny/resolve"},
                        {"status", 302},
                        {"headers", {{"Location", "http://127.0.0.1:1/x"}}}}});
  expect_pull_fails(ErrorCode::kIo, {"not encrypted"});
}

}  // namespace
}  // namespace longformer::io
