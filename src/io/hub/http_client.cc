#include "io/hub/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <utility>

#include "longformer/error.h"

namespace longformer::io {
namespace {

constexpr size_t kMaxHeaderBytes = 256 * 1024;  // of all headers of one response
constexpr long kSlowBytesPerSecond = 1024;

struct UrlHandle {
  CURLU* value = curl_url();
  UrlHandle() {
    if (value == nullptr) throw std::bad_alloc();
  }
  ~UrlHandle() { curl_url_cleanup(value); }
  UrlHandle(const UrlHandle&) = delete;
  UrlHandle& operator=(const UrlHandle&) = delete;

  bool set(const std::string& text) {
    // A NUL would end the text early for the library.
    return text.find('\0') == std::string::npos &&
           curl_url_set(value, CURLUPART_URL, text.c_str(), CURLU_DISALLOW_USER) == CURLUE_OK;
  }
  std::string part(CURLUPart which, unsigned flags = 0) {
    char* text = nullptr;
    if (curl_url_get(value, which, &text, flags) != CURLUE_OK || text == nullptr) return "";
    std::string result = text;
    curl_free(text);
    return result;
  }
};

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.remove_suffix(1);
  }
  return text;
}

// What the callbacks of one request share. They are called from C: nothing may be thrown through.
struct Transfer {
  CURL* handle;
  const std::function<bool(const HttpResponse&, std::string_view)>& receive;
  const std::function<bool()>& cancelled;
  HttpResponse response;
  size_t header_bytes = 0;
  bool stopped = false;
  bool was_cancelled = false;
  bool too_many_headers = false;
  std::exception_ptr error;
};

size_t on_header(char* bytes, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(bytes, size * count);
  transfer.header_bytes += line.size();
  if (transfer.header_bytes > kMaxHeaderBytes) {
    transfer.too_many_headers = true;
    return 0;
  }
  try {
    if (line.starts_with("HTTP/")) {
      transfer.response.headers.clear();  // of an interim response, or of a proxy
    } else if (const size_t colon = line.find(':'); colon != std::string_view::npos) {
      transfer.response.headers[lower_case(trimmed(line.substr(0, colon)))] =
          std::string(trimmed(line.substr(colon + 1)));
    }
  } catch (...) {
    transfer.error = std::current_exception();
    return 0;
  }
  return line.size();
}

size_t on_body(char* bytes, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view part(bytes, size * count);
  try {
    long status = 0;
    curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
    transfer.response.status = static_cast<int>(status);
    if (transfer.receive(transfer.response, part)) return part.size();
    transfer.stopped = true;
  } catch (...) {
    transfer.error = std::current_exception();
  }
  return part.size() == 0 ? 1 : 0;  // anything but the size ends the transfer
}

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  try {
    transfer.was_cancelled = transfer.cancelled && transfer.cancelled();
  } catch (...) {
    transfer.error = std::current_exception();
  }
  return transfer.was_cancelled || transfer.error ? 1 : 0;
}

HttpFailure failure_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return HttpFailure::kNone;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
      return HttpFailure::kUnreachable;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_PEER_FAILED_VERIFICATION:
      return HttpFailure::kUntrusted;
    default:
      return HttpFailure::kInterrupted;
  }
}

// Once in a process; safe from several threads.
void initialize_library() {
  static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (result != CURLE_OK) {
    throw Error(ErrorCode::kInternal, std::string("libcurl: ") + curl_easy_strerror(result));
  }
}

}  // namespace

Url Url::parse(const std::string& text, const std::string& place) {
  UrlHandle handle;
  const bool valid = handle.set(text);
  const std::string scheme = valid ? handle.part(CURLUPART_SCHEME) : "";
  if ((scheme != "https" && scheme != "http") || handle.part(CURLUPART_HOST).empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "is no address of the form https://HOST/PATH without user and password", place);
  }
  Url url;
  url.text_ = handle.part(CURLUPART_URL);
  url.https_ = scheme == "https";
  url.origin_ = scheme + "://" + lower_case(handle.part(CURLUPART_HOST)) + ":" +
                handle.part(CURLUPART_PORT, CURLU_DEFAULT_PORT);
  return url;
}

Url Url::join(const std::string& location) const {
  UrlHandle handle;
  if (!handle.set(text_) || !handle.set(location)) {
    throw Error(ErrorCode::kInvalidFile, "sends on to something that is no address", origin_);
  }
  try {
    return parse(handle.part(CURLUPART_URL), origin_);
  } catch (const Error&) {
    throw Error(ErrorCode::kInvalidFile, "sends on to an address that is not http or https",
                origin_);
  }
}

std::string url_encoded(std::string_view text, Slashes slashes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-._~";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 128 && std::isalnum(byte) != 0) || kPlain.find(c) != std::string_view::npos ||
        (c == '/' && slashes == Slashes::kKept)) {
      result += c;
    } else {
      result += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return result;
}

struct HttpClient::Impl {
  HttpOptions options;
  CURL* handle = nullptr;

  void set_connection(const HttpRequest& request);
  void set_callbacks(Transfer& transfer);
};

void HttpClient::Impl::set_connection(const HttpRequest& request) {
  curl_easy_reset(handle);  // keeps connections open for the next request
  curl_easy_setopt(handle, CURLOPT_URL, request.url.text().c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "longformer");
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, static_cast<long>(options.connect_seconds));
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, kSlowBytesPerSecond);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall_seconds));
  curl_easy_setopt(handle, CURLOPT_TIMEOUT, static_cast<long>(request.max_seconds));
  curl_easy_setopt(handle, CURLOPT_NOBODY, request.method == HttpMethod::kHead ? 1L : 0L);
  // A proxy gets none of our headers but those of its own.
  curl_easy_setopt(handle, CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));
  if (!options.certificates.empty()) {
    curl_easy_setopt(handle, CURLOPT_CAINFO, options.certificates.c_str());
  }
}

void HttpClient::Impl::set_callbacks(Transfer& transfer) {
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
}

HttpClient::HttpClient(HttpOptions options) : impl_(std::make_unique<Impl>()) {
  initialize_library();
  impl_->options = std::move(options);
  impl_->handle = curl_easy_init();
  if (impl_->handle == nullptr) throw std::bad_alloc();
}

HttpClient::~HttpClient() { curl_easy_cleanup(impl_->handle); }

HttpResult HttpClient::send(
    const HttpRequest& request,
    const std::function<bool(const HttpResponse&, std::string_view)>& receive,
    const std::function<bool()>& cancelled) {
  CURL* handle = impl_->handle;
  impl_->set_connection(request);
  Transfer transfer{.handle = handle, .receive = receive, .cancelled = cancelled};
  impl_->set_callbacks(transfer);
  // Files must come as they are: a compressed body has another size and another hash.
  curl_slist* list = curl_slist_append(nullptr, "Accept-Encoding: identity");
  if (!request.bearer.empty()) {
    list = curl_slist_append(list, ("Authorization: Bearer " + request.bearer).c_str());
  }
  if (request.first_byte > 0) {
    list = curl_slist_append(list,
                             ("Range: bytes=" + std::to_string(request.first_byte) + "-").c_str());
  }
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, list);
  char detail[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, detail);

  const CURLcode code = curl_easy_perform(handle);
  long status = 0;
  curl_off_t retry_after = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &retry_after);
  curl_easy_reset(handle);  // the list and the buffer end with this function
  curl_slist_free_all(list);
  if (transfer.error) std::rethrow_exception(transfer.error);

  HttpResult result{.response = std::move(transfer.response), .failure = failure_of(code)};
  result.response.status = static_cast<int>(status);
  if (result.response.headers.contains("retry-after")) result.response.retry_after = retry_after;
  if (code != CURLE_OK) result.reason = detail[0] != '\0' ? detail : curl_easy_strerror(code);
  if (transfer.too_many_headers) result.reason = "the headers of the answer do not end";
  if (transfer.stopped) result.failure = HttpFailure::kStopped;
  if (transfer.was_cancelled) result.failure = HttpFailure::kCancelled;
  return result;
}

}  // namespace longformer::io
