#include "io/hub/hub_environment.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "io/files.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxTokenBytes = 4096;
constexpr int kDefaultStallSeconds = 30;

// An empty variable counts as absent.
std::optional<std::string> text(const char* value) {
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

bool is_true(const std::optional<std::string>& value) {
  if (!value) return false;
  std::string lower = *value;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower == "1" || lower == "on" || lower == "yes" || lower == "true";
}

bool is_name_byte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// "~" or "~/…", $NAME and ${NAME}; what is not set stays as it is written.
fs::path expand(const std::string& written) {
  std::string result;
  size_t i = 0;
  if (written == "~" || written.starts_with("~/")) {
    if (const auto home = text(std::getenv("HOME"))) {
      result = *home;
      i = 1;
    }
  }
  while (i < written.size()) {
    if (written[i] != '$') {
      result += written[i++];
      continue;
    }
    const bool braces = i + 1 < written.size() && written[i + 1] == '{';
    const size_t begin = i + (braces ? 2 : 1);
    size_t end = begin;
    while (end < written.size() && is_name_byte(written[end])) ++end;
    const size_t after = braces ? end + 1 : end;
    const bool closed = !braces || (end < written.size() && written[end] == '}');
    const std::string name = written.substr(begin, end - begin);
    const char* value = closed && !name.empty() ? std::getenv(name.c_str()) : nullptr;
    if (value != nullptr) {
      result += value;
      i = after;
    } else {
      result += written[i++];
    }
  }
  return result;
}

fs::path hub_home() {
  if (const auto home = text(std::getenv("HF_HOME"))) return expand(*home);
  if (const auto cache = text(std::getenv("XDG_CACHE_HOME"))) return expand(*cache) / "huggingface";
  if (const auto home = text(std::getenv("HOME"))) {
    return fs::path(*home) / ".cache" / "huggingface";
  }
  throw Error(ErrorCode::kNotFound,
              "the cache of hub models has no place: set HF_HUB_CACHE or HF_HOME to a directory");
}

std::string trimmed(const std::string& bytes) {
  const char* const kSpace = " \t\r\n";
  const size_t begin = bytes.find_first_not_of(kSpace);
  if (begin == std::string::npos) return "";
  return bytes.substr(begin, bytes.find_last_not_of(kSpace) - begin + 1);
}

// A line feed inside would add a header of its own to a request.
std::string checked_token(const std::string& bytes, const std::string& place) {
  std::string token = trimmed(bytes);
  const bool plain =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 127; });
  if (!plain || token.size() > kMaxTokenBytes) {
    throw Error(ErrorCode::kInvalidArgument,
                "does not hold one token of printable ASCII characters; copy it again from the "
                "settings page of the hub",
                place);
  }
  return token;
}

}  // namespace

fs::path hub_cache_directory() {
  if (const auto cache = text(std::getenv("HF_HUB_CACHE"))) return expand(*cache);
  if (const auto cache = text(std::getenv("HUGGINGFACE_HUB_CACHE"))) return expand(*cache);
  return hub_home() / "hub";
}

std::string hub_endpoint() {
  std::string endpoint = text(std::getenv("HF_ENDPOINT")).value_or("https://huggingface.co");
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return endpoint;
}

std::string hub_token() {
  if (is_true(text(std::getenv("HF_HUB_DISABLE_IMPLICIT_TOKEN")))) return "";
  if (const auto token = text(std::getenv("HF_TOKEN"))) return checked_token(*token, "HF_TOKEN");
  if (const auto token = text(std::getenv("HUGGING_FACE_HUB_TOKEN"))) {
    return checked_token(*token, "HUGGING_FACE_HUB_TOKEN");
  }
  const auto path = text(std::getenv("HF_TOKEN_PATH"));
  const fs::path file = path ? expand(*path) : hub_home() / "token";
  if (!entry_exists(file)) return "";
  return checked_token(read_file(file, kMaxTokenBytes), file.string());
}

bool hub_is_offline() {
  return is_true(text(std::getenv("HF_HUB_OFFLINE"))) ||
         is_true(text(std::getenv("TRANSFORMERS_OFFLINE")));
}

std::string hub_certificates() {
  for (const char* value : {std::getenv("REQUESTS_CA_BUNDLE"), std::getenv("CURL_CA_BUNDLE"),
                            std::getenv("SSL_CERT_FILE")}) {
    if (const auto file = text(value)) return *file;
  }
  return "";
}

int hub_stall_seconds() {
  const auto value = text(std::getenv("HF_HUB_DOWNLOAD_TIMEOUT"));
  if (!value) return kDefaultStallSeconds;
  int seconds = 0;
  const char* end = value->data() + value->size();
  const auto [stop, error] = std::from_chars(value->data(), end, seconds);
  if (error != std::errc() || stop != end || seconds < 1 || seconds > 3600) {
    throw Error(ErrorCode::kInvalidArgument, "must be a whole number of seconds from 1 to 3600",
                "HF_HUB_DOWNLOAD_TIMEOUT");
  }
  return seconds;
}

}  // namespace longformer::io
