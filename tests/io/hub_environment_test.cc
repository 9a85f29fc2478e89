#include "io/hub/hub_environment.h"

#include <cstdlib>
#include <map>

#include "io/testing.h"

namespace longformer::io {
namespace {

constexpr const char* kVariables[] = {"HF_HUB_CACHE",
                                      "HUGGINGFACE_HUB_CACHE",
                                      "HF_HOME",
                                      "XDG_CACHE_HOME",
                                      "HOME",
                                      "HF_ENDPOINT",
                                      "HF_TOKEN",
                                      "HUGGING_FACE_HUB_TOKEN",
                                      "HF_TOKEN_PATH",
                                      "HF_HUB_DISABLE_IMPLICIT_TOKEN",
                                      "HF_HUB_OFFLINE",
                                      "TRANSFORMERS_OFFLINE",
                                      "REQUESTS_CA_BUNDLE",
                                      "CURL_CA_BUNDLE",
                                      "SSL_CERT_FILE",
                                      "HF_HUB_DOWNLOAD_TIMEOUT"};

// Each test begins without any of the variables; afterwards they are what they were.
class HubEnvironmentTest : public DirectoryTest {
 protected:
  void SetUp() override {
    DirectoryTest::SetUp();
    for (const char* name : kVariables) {
      if (const char* value = std::getenv(name)) before_[name] = value;
      unsetenv(name);
    }
    setenv("HOME", "/h", 1);
  }
  void TearDown() override {
    for (const char* name : kVariables) {
      unsetenv(name);
      if (before_.contains(name)) setenv(name, before_[name].c_str(), 1);
    }
    DirectoryTest::TearDown();
  }
  std::map<std::string, std::string> before_;
};

TEST_F(HubEnvironmentTest, TheCacheIsWhereHuggingfaceHubHasIt) {
  EXPECT_EQ(hub_cache_directory(), "/h/.cache/huggingface/hub");
  setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(hub_cache_directory(), "/x/huggingface/hub");
  setenv("HF_HOME", "~/hf", 1);
  EXPECT_EQ(hub_cache_directory(), "/h/hf/hub");
  setenv("HUGGINGFACE_HUB_CACHE", "$HOME/a/${HF_ENDPOINT}/$HF_ENDPOINT$", 1);
  EXPECT_EQ(hub_cache_directory(), "/h/a/${HF_ENDPOINT}/$HF_ENDPOINT$");
  setenv("HF_HUB_CACHE", "${HOME}2/c", 1);
  EXPECT_EQ(hub_cache_directory(), "/h2/c");
  setenv("HF_HUB_CACHE", "", 1);
  EXPECT_EQ(hub_cache_directory(), "/h/a/${HF_ENDPOINT}/$HF_ENDPOINT$");
}

TEST_F(HubEnvironmentTest, WithoutAHomeItSaysWhatToSet) {
  unsetenv("HOME");
  test::expect_error(ErrorCode::kNotFound, {"HF_HUB_CACHE"}, [] { hub_cache_directory(); });
}

TEST_F(HubEnvironmentTest, TokensComeFromVariablesThenFiles) {
  setenv("HF_HOME", directory_.c_str(), 1);
  EXPECT_EQ(hub_token(), "");
  put("token", "hf_file\n");
  EXPECT_EQ(hub_token(), "hf_file");
  put("other", "  hf_other\r\n");
  setenv("HF_TOKEN_PATH", path("other").c_str(), 1);
  EXPECT_EQ(hub_token(), "hf_other");
  setenv("HUGGING_FACE_HUB_TOKEN", "hf_old", 1);
  EXPECT_EQ(hub_token(), "hf_old");
  setenv("HF_TOKEN", "hf_new\n", 1);
  EXPECT_EQ(hub_token(), "hf_new");
  setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1", 1);
  EXPECT_EQ(hub_token(), "");
}

TEST_F(HubEnvironmentTest, TokensThatCannotStandInARequestAreNotRepeated) {
  for (const std::string token :
       {"secret\nX-Evil: 1", "secret\r\nHost: x", "sec ret", "secret\xC3\xA9"}) {
    setenv("HF_TOKEN", token.c_str(), 1);
    try {
      hub_token();
      ADD_FAILURE() << token;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find("HF_TOKEN"), std::string::npos);
      EXPECT_EQ(std::string(error.what()).find("sec"), std::string::npos) << error.what();
    }
  }
}

TEST_F(HubEnvironmentTest, OfflineEndpointCertificatesTimeout) {
  EXPECT_FALSE(hub_is_offline());
  for (const char* value : {"1", "ON", "yes", "True"}) {
    setenv("HF_HUB_OFFLINE", value, 1);
    EXPECT_TRUE(hub_is_offline()) << value;
  }
  setenv("HF_HUB_OFFLINE", "0", 1);
  EXPECT_FALSE(hub_is_offline());
  setenv("TRANSFORMERS_OFFLINE", "1", 1);
  EXPECT_TRUE(hub_is_offline());

  EXPECT_EQ(hub_endpoint(), "https://huggingface.co");
  setenv("HF_ENDPOINT", "http://mirror//", 1);
  EXPECT_EQ(hub_endpoint(), "http://mirror");

  EXPECT_EQ(hub_certificates(), "");
  setenv("SSL_CERT_FILE", "/c", 1);
  EXPECT_EQ(hub_certificates(), "/c");

  EXPECT_EQ(hub_stall_seconds(), 30);
  setenv("HF_HUB_DOWNLOAD_TIMEOUT", "7", 1);
  EXPECT_EQ(hub_stall_seconds(), 7);
  for (const char* value : {"0", "-1", "x", "7s", "99999999999"}) {
    setenv("HF_HUB_DOWNLOAD_TIMEOUT", value, 1);
    test::expect_error(ErrorCode::kInvalidArgument, {"HF_HUB_DOWNLOAD_TIMEOUT"},
                       [] { hub_stall_seconds(); });
  }
}

}  // namespace
}  // namespace longformer::io
