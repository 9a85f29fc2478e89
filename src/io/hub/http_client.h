// Single HTTP requests over libcurl. Follows nothing, retries nothing, decides nothing: hub_client
// does. The only file of the tree that opens connections.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace longformer::io {

// An absolute http or https address without user or password.
class Url {
 public:
  // Throws kInvalidArgument naming `place`.
  static Url parse(const std::string& text, const std::string& place);
  // What a Location header of this address means. Throws kInvalidFile.
  Url join(const std::string& location) const;

  const std::string& text() const { return text_; }
  // Scheme, host and port: a token given to one origin must not reach another.
  const std::string& origin() const { return origin_; }
  bool is_https() const { return https_; }

 private:
  std::string text_;
  std::string origin_;
  bool https_ = true;
};

// Percent-encodes everything but letters, digits and "-._~", and where asked "/".
enum class Slashes { kKept, kEncoded };
std::string url_encoded(std::string_view text, Slashes slashes);

struct HttpOptions {
  std::string certificates;  // file of trusted certificates; empty: the system's
  int connect_seconds = 20;
  int stall_seconds = 30;  // with less than 1 KB/s
};

struct HttpResponse {
  int status = 0;  // 0: none came
  // Names in lower case; of several with one name the last.
  std::map<std::string, std::string> headers;
  // Seconds that Retry-After asks for; -1: it is absent.
  int64_t retry_after = -1;

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

enum class HttpFailure {
  kNone,
  kStopped,      // the receiver wanted no more
  kCancelled,    // on request
  kUnreachable,  // no such host, no connection
  kInterrupted,  // cut, stalled, or not understood
  kUntrusted,    // certificate or TLS
};

struct HttpResult {
  HttpResponse response;
  HttpFailure failure = HttpFailure::kNone;
  std::string reason;  // of libcurl, for messages
};

enum class HttpMethod { kGet, kHead };

struct HttpRequest {
  Url url;
  HttpMethod method = HttpMethod::kGet;
  std::string bearer;       // token, or empty
  uint64_t first_byte = 0;  // more than 0: ask for the bytes from here on
  int max_seconds = 0;      // for everything; 0: as long as data comes
};

class HttpClient {
 public:
  explicit HttpClient(HttpOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // `receive` gets the body in parts and returns false to stop; what it throws, send() throws.
  // `cancelled` is asked about once a second at least.
  HttpResult send(const HttpRequest& request,
                  const std::function<bool(const HttpResponse&, std::string_view)>& receive,
                  const std::function<bool()>& cancelled = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longformer::io
