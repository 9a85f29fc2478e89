#include "cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/command.h"
#include "longformer/error.h"

namespace longformer::cli {
namespace {

constexpr size_t kSkippedShown = 10;
constexpr int kBarWidth = 24;
constexpr auto kBarDelay = std::chrono::milliseconds(500);  // short work shows no bar
constexpr auto kBarInterval = std::chrono::milliseconds(100);

std::string minutes(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  char text[32];
  std::snprintf(text, sizeof text, "%lld:%02d", static_cast<long long>(whole / 60),
                static_cast<int>(whole % 60));
  return text;
}

}  // namespace

std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string json_numbers(std::span<const float> values) {
  std::string text = "[";
  char number[32];
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ',';
    if (!std::isfinite(values[i])) {
      text += "null";
      continue;
    }
    const auto end = std::to_chars(number, number + sizeof number, values[i]).ptr;
    text.append(number, end);
  }
  return text + "]";
}

Json json_number(double value) {
  const auto number = static_cast<float>(value);
  if (!std::isfinite(number)) return nullptr;
  char text[32];
  const char* const end = std::to_chars(text, text + sizeof text, number).ptr;
  double shortest = 0;  // the double that is printed with the float's few digits
  std::from_chars(text, end, shortest);
  return shortest;
}

void Output::check(bool written) {
  if (written) return;
  if (errno != EPIPE) {
    throw Error(ErrorCode::kIo, std::string("cannot be written: ") + std::strerror(errno),
                "standard output");
  }
  closed_ = true;
  std::clearerr(stdout);  // what is left in the buffer meets the same end when the process leaves
}

void Output::line(std::string_view text) {
  if (closed_) return;
  errno = 0;
  check(std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
        std::fputc('\n', stdout) != EOF);
}

void Output::flush() {
  if (closed_) return;
  errno = 0;
  check(std::fflush(stdout) == 0);
}

bool takes_escapes(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(descriptor) == 1 && (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || std::strcmp(term, "dumb") != 0);
}

std::string printable(std::string_view text, Lines lines) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool c1 =
        c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    if (c == '\n' || c == '\t') {
      result += lines == Lines::kKeep ? static_cast<char>(c) : ' ';
    } else if (c < 0x20 || c == 0x7F || c1) {
      result += "\xEF\xBF\xBD";
      if (c1) ++i;
    } else {
      result += static_cast<char>(c);
    }
  }
  return result;
}

ProgressBar::ProgressBar()
    : visible_(takes_escapes(STDERR_FILENO)), start_(Clock::now()), next_(start_ + kBarDelay) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::update(double share, const std::string& note) {
  const Clock::time_point now = Clock::now();
  if (!visible_ || now < next_) return;
  next_ = now + kBarInterval;
  drawn_ = true;
  share = std::clamp(share, 0.0, 1.0);
  const int filled = static_cast<int>(share * kBarWidth);
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const std::string left = share > 0.002 ? minutes(elapsed * (1 - share) / share) + " left" : "";
  const std::string more = note.empty() ? "" : (left.empty() ? "" : ", ") + note;
  std::fprintf(stderr, "\r[%s%s] %3d %%  %s%s\x1b[K",
               std::string(static_cast<size_t>(filled), '#').c_str(),
               std::string(static_cast<size_t>(kBarWidth - filled), ' ').c_str(),
               static_cast<int>(share * 100), left.c_str(), more.c_str());
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

std::string counted(int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void report_skipped(const std::vector<io::SkippedFile>& skipped) {
  for (size_t i = 0; i < std::min(skipped.size(), kSkippedShown); ++i) {
    notice("skipped " + printable(skipped[i].name, Lines::kJoin) + ": " +
           printable(skipped[i].reason, Lines::kJoin));
  }
  if (skipped.size() > kSkippedShown) {
    notice("skipped " + counted(static_cast<int64_t>(skipped.size() - kSkippedShown), "more file"));
  }
}

void report_duplicates(const std::vector<io::SkippedFile>& duplicates) {
  if (duplicates.empty()) return;
  notice(counted(static_cast<int64_t>(duplicates.size()), "file") +
         (duplicates.size() == 1 ? " is the same as another and counts once"
                                 : " are the same as others and count once"));
}

}  // namespace longformer::cli
