#include "io/hub/http_client.h"

#include "io/testing.h"

namespace longformer::io {
namespace {

Url url(const std::string& text) { return Url::parse(text, "HF_ENDPOINT"); }

TEST(Url, OriginIsSchemeHostAndPort) {
  EXPECT_EQ(url("https://Huggingface.CO/a/b?c").origin(), "https://huggingface.co:443");
  EXPECT_EQ(url("http://h").origin(), "http://h:80");
  EXPECT_EQ(url("http://h:8080/x").origin(), "http://h:8080");
  EXPECT_EQ(url("https://[::1]:8/x").origin(), "https://[::1]:8");
  EXPECT_TRUE(url("https://h").is_https());
  EXPECT_FALSE(url("http://h").is_https());
}

TEST(Url, RefusesEverythingElse) {
  for (const std::string text :
       {"", "huggingface.co", "ftp://h/", "file:///etc/passwd", "https://", "https://user@h/",
        "https://user:password@h/", "https://h:99999/", "https://h h/"}) {
    test::expect_error(ErrorCode::kInvalidArgument, {"HF_ENDPOINT", "https://"},
                       [&] { url(text); });
  }
  EXPECT_THROW(url(std::string("https://h/\0x", 12)), Error);
}

TEST(Url, JoinsLocationsAsBrowsersDo) {
  const Url base = url("https://hub:444/org/name/resolve/main/file?x=1");
  EXPECT_EQ(base.join("/other/file").text(), "https://hub:444/other/file");
  EXPECT_EQ(base.join("sister").text(), "https://hub:444/org/name/resolve/main/sister");
  EXPECT_EQ(base.join("https://cdn/f?s=1").text(), "https://cdn/f?s=1");
  // Another host in disguise.
  EXPECT_EQ(base.join("//cdn/f").origin(), "https://cdn:443");
  EXPECT_EQ(base.join("https://hub.evil.example:444/").origin(), "https://hub.evil.example:444");
  EXPECT_THROW(base.join("https://hub:444.evil.example/"), Error);
  for (const std::string location :
       {"", "file:///etc/passwd", "ftp://hub/x", "gopher://x", "https://u:p@hub:444/",
        "https://hub:444@evil/", "javascript:1"}) {
    try {
      const Url next = base.join(location);
      EXPECT_EQ(next.origin(), base.origin()) << location;  // a path on the same host at most
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidFile) << location;
    }
  }
  EXPECT_THROW(base.join("file:///etc/passwd"), Error);
  EXPECT_THROW(base.join("https://hub:444@evil/"), Error);
}

TEST(Url, EncodesPathParts) {
  EXPECT_EQ(url_encoded("a/b c%?#\xC3\xA9-._~", Slashes::kKept), "a/b%20c%25%3F%23%C3%A9-._~");
  EXPECT_EQ(url_encoded("refs/pr/1", Slashes::kEncoded), "refs%2Fpr%2F1");
}

TEST(HttpClient, AClosedPortIsUnreachable) {
  HttpClient client({.connect_seconds = 5});
  const HttpResult result = client.send({.url = url("http://127.0.0.1:1/x")},
                                        [](const HttpResponse&, std::string_view) { return true; });
  EXPECT_EQ(result.failure, HttpFailure::kUnreachable);
  EXPECT_EQ(result.response.status, 0);
  EXPECT_NE(result.reason, "");
}

}  // namespace
}  // namespace longformer::io
