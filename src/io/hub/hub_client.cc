#include "io/hub/hub_client.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/limits.h"
#include "io/hub/hub_cache.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

constexpr int kMaxRedirects = 10;
constexpr uint64_t kMaxErrorBody = 1 << 20;   // of an answer that is no file
constexpr uint64_t kProgressBytes = 1 << 20;  // that make a broken transfer count as a first try
constexpr int kMaxTransfers = 200;            // of one file, whatever progress each makes
constexpr int kQuestionSeconds = 300;         // for an answer that is no file

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool may_pass(int status) { return status == 408 || status == 429 || status >= 500; }

// "bytes 100-199/200" -> 100
std::optional<uint64_t> range_begin(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  uint64_t begin = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), begin);
  if (error != std::errc() || stop == text.data() + text.size() || *stop != '-') {
    return std::nullopt;
  }
  return begin;
}

std::string plain_etag(std::string etag) {
  if (etag.starts_with("W/")) etag.erase(0, 2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag = etag.substr(1, etag.size() - 2);
  }
  return etag;
}

// A command line with what to do about a token.
std::string token_advice(const std::string& endpoint) {
  return "set HF_TOKEN to a token of " + endpoint + "/settings/tokens that may read it";
}

}  // namespace

HubClient::HubClient(HubServer server, HubCalls calls)
    : server_(std::move(server)),
      calls_(std::move(calls)),
      endpoint_(Url::parse(server_.endpoint, "HF_ENDPOINT")),
      http_(server_.http) {}

Url HubClient::file_url(const Subject& subject) const {
  return Url::parse(server_.endpoint + "/" + url_encoded(subject.model, Slashes::kKept) +
                        "/resolve/" + url_encoded(subject.revision, Slashes::kEncoded) + "/" +
                        url_encoded(subject.file, Slashes::kKept),
                    "HF_ENDPOINT");
}

// Redirects by hand, because each hop decides anew whether the token goes along.
HttpResult HubClient::follow(HttpRequest request, Redirects redirects, const Receive& receive) {
  for (int hop = 0; hop <= kMaxRedirects; ++hop) {
    const bool own = request.url.origin() == endpoint_.origin();
    request.bearer = own ? server_.token : "";
    uint64_t ignored = 0;
    HttpResult result = http_.send(
        request,
        [&](const HttpResponse& response, std::string_view bytes) {
          if (response.status == 200 || response.status == 206) return receive(response, bytes);
          ignored += bytes.size();  // the text of an error page or of a redirect
          return ignored <= kMaxErrorBody;
        },
        calls_.cancelled);
    if (!is_redirect(result.response.status) || result.failure != HttpFailure::kNone) return result;
    const Url next = request.url.join(result.response.header("location"));
    if (redirects == Redirects::kStopAtOthers &&
        (next.origin() != endpoint_.origin() || !result.response.header("x-linked-etag").empty())) {
      return result;
    }
    if (redirects == Redirects::kSameOrigin && next.origin() != endpoint_.origin()) {
      throw Error(ErrorCode::kIo,
                  "sends this question on to " + next.origin() +
                      "; if that is the hub you mean, set HF_ENDPOINT to it",
                  endpoint_.origin());
    }
    if (endpoint_.is_https() && !next.is_https()) {
      throw Error(ErrorCode::kIo,
                  "sends on to " + next.origin() + ", which is not encrypted; refused",
                  request.url.origin());
    }
    request.url = next;
  }
  throw Error(ErrorCode::kIo,
              "sends on more than " + std::to_string(kMaxRedirects) +
                  " times; the hub or a proxy before it is set up wrongly",
              endpoint_.origin());
}

void HubClient::wait(int64_t milliseconds) const {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  do {
    if (calls_.cancelled && calls_.cancelled()) throw Error(ErrorCode::kCancelled, "stopped");
    std::this_thread::sleep_for(
        std::min<Clock::duration>(std::chrono::milliseconds(50), end - Clock::now()));
  } while (Clock::now() < end);
}

void HubClient::wait_or_throw(const HttpResult& result, const Subject& subject, int tried) {
  if (result.failure == HttpFailure::kCancelled) throw Error(ErrorCode::kCancelled, "stopped");
  const bool broken =
      result.failure != HttpFailure::kNone && result.failure != HttpFailure::kStopped;
  const int64_t asked = result.response.retry_after;
  const bool again = broken ? result.failure != HttpFailure::kUntrusted
                            : may_pass(result.response.status) && asked <= server_.longest_wait_s;
  if (!again || tried >= server_.tries) {
    if (broken) throw_failure(result, subject);
    throw_status(result.response, subject);
  }
  const int64_t doubled = int64_t{server_.first_wait_ms} << std::min(tried - 1, 10);
  const int64_t pause = std::max(doubled, !broken && asked > 0 ? asked * 1000 : 0);
  if (calls_.notice) {
    const std::string what =
        broken ? result.reason : "the hub answers " + std::to_string(result.response.status);
    calls_.notice((subject.file.empty() ? subject.model : subject.file) + ": " + what +
                  "; trying again");
  }
  wait(pause);
}

void HubClient::throw_failure(const HttpResult& result, const Subject& subject) const {
  const std::string place =
      subject.file.empty() ? subject.model : subject.model + ": " + subject.file;
  const std::string kept = subject.file.empty() ? "" : "; what has arrived is kept, pull again";
  switch (result.failure) {
    case HttpFailure::kUnreachable:
      throw Error(ErrorCode::kIo,
                  "the hub cannot be reached at " + endpoint_.origin() + " (" + result.reason +
                      "); check the network, HF_ENDPOINT and https_proxy" + kept,
                  place);
    case HttpFailure::kUntrusted:
      throw Error(ErrorCode::kIo,
                  "the connection is not secure (" + result.reason +
                      "); check the clock, or name the certificates of your network in "
                      "SSL_CERT_FILE",
                  place);
    default:
      throw Error(
          ErrorCode::kIo,
          "the connection broke (" + result.reason + ")" + (kept.empty() ? "; try again" : kept),
          place);
  }
}

void HubClient::throw_status(const HttpResponse& response, const Subject& subject) const {
  const int status = response.status;
  const std::string code = response.header("x-error-code");
  const std::string place =
      subject.file.empty() ? subject.model : subject.model + ": " + subject.file;
  const std::string page = server_.endpoint + "/" + subject.model;
  const std::string answer = " (the hub answers " + std::to_string(status) + ")";
  if (code == "GatedRepo") {
    throw Error(ErrorCode::kIo,
                "its owner lets only those in who ask" + answer + ": ask on " + page +
                    (server_.token.empty() ? ", then " + token_advice(server_.endpoint)
                                           : " with the account of the token in use"),
                place);
  }
  if (code == "RevisionNotFound") {
    throw Error(
        ErrorCode::kNotFound,
        "has no revision " + subject.revision + answer + "; " + page + " lists branches and tags",
        place);
  }
  if (code == "EntryNotFound" || (status == 404 && code.empty() && !subject.file.empty())) {
    throw Error(ErrorCode::kNotFound,
                "the file is listed but not there" + answer + "; pull again, or another --revision",
                place);
  }
  if (status == 404 || code == "RepoNotFound" || (status == 401 && server_.token.empty())) {
    throw Error(ErrorCode::kNotFound,
                "no such model at " + server_.endpoint + answer +
                    ": check the spelling (ORG/NAME); if it is private, " +
                    (server_.token.empty() ? token_advice(server_.endpoint)
                                           : "use a token of an account that may read it"),
                place);
  }
  if (status == 401) {
    throw Error(ErrorCode::kIo,
                "the token is not accepted" + answer + "; it may have ended: " +
                    token_advice(server_.endpoint) + ", or unset it for public models",
                place);
  }
  if (status == 403) {
    throw Error(ErrorCode::kIo, "access is denied" + answer + "; " + token_advice(server_.endpoint),
                place);
  }
  if (status == 429) {
    throw Error(
        ErrorCode::kIo,
        "too many requests" + answer + "; what has arrived is kept, pull again " +
            (response.retry_after > 0 ? "in " + std::to_string(response.retry_after) + " seconds"
                                      : "later"),
        place);
  }
  if (status >= 500) {
    throw Error(ErrorCode::kIo,
                "the hub has a fault" + answer + "; what has arrived is kept, pull again later",
                place);
  }
  throw Error(ErrorCode::kIo,
              "the hub gives an answer that is not expected (" + std::to_string(status) +
                  "); check HF_ENDPOINT",
              place);
}

std::string HubClient::model_info(const std::string& name, const std::string& revision) {
  const Subject subject{name, revision, ""};
  const HttpRequest request{
      .url = Url::parse(server_.endpoint + "/api/models/" + url_encoded(name, Slashes::kKept) +
                            "/revision/" + url_encoded(revision, Slashes::kEncoded) + "?blobs=true",
                        "HF_ENDPOINT"),
      .max_seconds = kQuestionSeconds};
  for (int tried = 1;; ++tried) {
    std::string text;
    const HttpResult result =
        follow(request, Redirects::kSameOrigin, [&](const HttpResponse&, std::string_view bytes) {
          text += bytes;
          return text.size() <= kMaxJsonBytes;
        });
    if (result.failure == HttpFailure::kStopped && result.response.status == 200) {
      throw Error(ErrorCode::kInvalidFile,
                  "the hub's description of the model is larger than " +
                      std::to_string(kMaxJsonBytes) + " bytes; check HF_ENDPOINT",
                  name);
    }
    if (result.failure == HttpFailure::kNone && result.response.status == 200) return text;
    wait_or_throw(result, subject, tried);
  }
}

HubFileHeaders HubClient::file_headers(const std::string& name, const std::string& commit,
                                       const std::string& file) {
  const Subject subject{name, commit, file};
  const HttpRequest request{
      .url = file_url(subject), .method = HttpMethod::kHead, .max_seconds = kQuestionSeconds};
  for (int tried = 1;; ++tried) {
    const HttpResult result = follow(request, Redirects::kStopAtOthers,
                                     [](const HttpResponse&, std::string_view) { return true; });
    const HttpResponse& response = result.response;
    if (result.failure == HttpFailure::kNone &&
        (response.status == 200 || is_redirect(response.status))) {
      const std::string linked = response.header("x-linked-etag");
      const std::string size = response.header("x-linked-size");
      return {.etag = plain_etag(linked.empty() ? response.header("etag") : linked),
              .size = size.empty() ? response.header("content-length") : size,
              .commit = response.header("x-repo-commit")};
    }
    wait_or_throw(result, subject, tried);
  }
}

void HubClient::download(const std::string& name, const std::string& commit,
                         const std::string& file, const HubSink& sink) {
  const Subject subject{name, commit, file};
  int tried = 0;
  for (int transfers = 1;; ++transfers) {
    const uint64_t before = sink.size();
    bool started = false;
    const auto start = [&](const HttpResponse& response) {
      const uint64_t first = response.status == 206
                                 ? range_begin(response.header("content-range")).value_or(~0ull)
                                 : 0;
      if (first != 0 && first != before) {
        throw Error(ErrorCode::kInvalidFile,
                    "the hub sends another part of the file than asked for", name + ": " + file);
      }
      sink.start(first);
      started = true;
    };
    const HttpResult result =
        follow({.url = file_url(subject), .first_byte = before}, Redirects::kAnywhere,
               [&](const HttpResponse& response, std::string_view bytes) {
                 if (!started) start(response);
                 sink.write(bytes);
                 return true;
               });
    const int status = result.response.status;
    if (result.failure == HttpFailure::kNone && (status == 200 || status == 206)) {
      if (!started) start(result.response);  // an empty file has no body
      return;
    }
    if (status == 416) sink.start(0);  // what is there is longer than the file: once more from 0
    const bool moved = sink.size() > before + kProgressBytes && transfers < kMaxTransfers;
    tried = moved ? 1 : tried + 1;
    if (status == 416 && tried < server_.tries) continue;
    wait_or_throw(result, subject, tried);
  }
}

}  // namespace longformer::io
