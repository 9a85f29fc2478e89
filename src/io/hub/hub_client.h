// Talks to a hub: where a request may be sent on to, who gets the token, what is tried again, and
// what an answer that is no file means to the person who asked.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "io/hub/http_client.h"

namespace longformer::io {

struct HubServer {
  std::string endpoint = "https://huggingface.co";
  std::string token;  // goes to the endpoint's origin and nowhere else
  HttpOptions http;
  int tries = 4;            // of a request that fails for no lasting reason
  int first_wait_ms = 500;  // before the second try; doubled for each further one
  int longest_wait_s = 30;  // that a Retry-After is obeyed for
};

struct HubCalls {
  std::function<void(const std::string& message)> notice;  // "… answers 503; trying again"
  std::function<bool()> cancelled;
};

// Receives a file. `size()` bytes of it are already there.
struct HubSink {
  std::function<uint64_t()> size;
  // The body that follows begins at this byte: 0 or size().
  std::function<void(uint64_t first_byte)> start;
  std::function<void(std::string_view bytes)> write;
};

// What the headers of a file say.
struct HubFileHeaders {
  std::string etag;  // without W/ and quotation marks
  std::string size;
  std::string commit;
};

class HubClient {
 public:
  // Throws kInvalidArgument when the endpoint is no address.
  HubClient(HubServer server, HubCalls calls);

  // All calls throw kNotFound, kIo, kInvalidFile (an answer that no hub gives) or kCancelled; the
  // message names the model or file and says what to do.

  // api/models/NAME/revision/REVISION with sizes and hashes of the files.
  std::string model_info(const std::string& name, const std::string& revision);
  HubFileHeaders file_headers(const std::string& name, const std::string& commit,
                              const std::string& file);
  // Returns when a whole body has arrived, whatever its size; after a cut it goes on from
  // sink.size().
  void download(const std::string& name, const std::string& commit, const std::string& file,
                const HubSink& sink);

 private:
  struct Subject {  // what messages are about
    std::string model;
    std::string revision;
    std::string file;  // empty: the model itself
  };
  enum class Redirects { kSameOrigin, kStopAtOthers, kAnywhere };
  using Receive = std::function<bool(const HttpResponse&, std::string_view)>;

  Url file_url(const Subject& subject) const;
  HttpResult follow(HttpRequest request, Redirects redirects, const Receive& receive);
  // Throws when `result` ends the matter; otherwise waits until the next try is due.
  void wait_or_throw(const HttpResult& result, const Subject& subject, int tried);
  [[noreturn]] void throw_failure(const HttpResult& result, const Subject& subject) const;
  [[noreturn]] void throw_status(const HttpResponse& response, const Subject& subject) const;
  void wait(int64_t milliseconds) const;

  HubServer server_;
  HubCalls calls_;
  Url endpoint_;
  HttpClient http_;
};

}  // namespace longformer::io
