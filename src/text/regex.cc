#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/regex.h"

#include <pcre2.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>

#include "longformer/error.h"
#include "text/regex_syntax.h"
#include "text/unicode/unicode_forms.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

// Bounds of one attempt to match at one place of a text.
constexpr uint32_t kMatchSteps = 1'000'000;
constexpr uint32_t kDepth = 100'000;
constexpr uint32_t kHeapKib = 32 * 1024;
constexpr size_t kJitStackBytes = 1u << 20;
constexpr size_t kMaxPatternBytes = 64u << 10;
constexpr double kSeconds = 1.0;
constexpr double kSecondsPerByte = 1e-6;
// Bytes looked at, about, between two looks at the clock.
constexpr size_t kWorkUnwatched = 1u << 16;
constexpr size_t kWorkOfItem = 16;

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class T, void (*kFree)(T*)>
struct Free {
  void operator()(T* p) const { kFree(p); }
};
template <class T, void (*kFree)(T*)>
using Owned = std::unique_ptr<T, Free<T, kFree>>;

// PCRE2 10.42 has the categories of Unicode 14: characters that have another one in the reference
// are matched as one of theirs. Where there are none, `copy` stays unused.
std::string_view with_stand_ins(std::string_view text, std::string& copy) {
  for (size_t at = 0; at < text.size();) {
    if (static_cast<uint8_t>(text[at]) < 0xE0) {  // none are that short
      ++at;
      continue;
    }
    const size_t begin = at;
    const char32_t code = utf8::next(text, at);
    const char32_t other = unicode::stand_in(code);
    if (other == code) continue;
    if (copy.empty()) copy = text;
    std::string bytes;
    utf8::append(other, bytes);
    copy.replace(begin, bytes.size(), bytes);
  }
  return copy.empty() ? text : std::string_view(copy);
}

[[noreturn]] void fail(const std::string& message, const std::string& place) {
  throw Error(ErrorCode::kInvalidFile, message, place);
}

}  // namespace

RegexBudget::RegexBudget(size_t bytes)
    : limit_(kSeconds + kSecondsPerByte * static_cast<double>(bytes)),
      thread_start_(seconds(CLOCK_THREAD_CPUTIME_ID)) {}

void RegexBudget::begin() { begin_ = seconds(CLOCK_MONOTONIC); }

void RegexBudget::end() { used_ += seconds(CLOCK_MONOTONIC) - begin_; }

bool RegexBudget::spent() const {
  return used_ + seconds(CLOCK_MONOTONIC) - begin_ > limit_ &&
         seconds(CLOCK_THREAD_CPUTIME_ID) - thread_start_ > limit_;
}

struct Regex::Impl {
  Owned<pcre2_code, pcre2_code_free> code;
  bool jit = false;
  bool has_back_references = false;
  std::string place;
};

namespace {

// Buffers and limits of one call of find_all.
class Search {
 public:
  Search(const pcre2_code* code, bool has_back_references, std::string_view text,
         const std::string& place, RegexBudget& budget)
      : code_(code),
        text_(text),
        place_(place),
        context_(pcre2_match_context_create(nullptr)),
        data_(pcre2_match_data_create(1, nullptr)),
        budget_(budget),
        // A back reference may compare as much as the text has, and then fail where it began.
        work_of_item_(has_back_references ? kWorkOfItem + text.size() : kWorkOfItem) {
    if (context_ == nullptr || data_ == nullptr) throw std::bad_alloc();
    pcre2_set_match_limit(context_.get(), kMatchSteps);
    pcre2_set_depth_limit(context_.get(), kDepth);
    pcre2_set_heap_limit(context_.get(), kHeapKib);
    pcre2_set_callout(context_.get(), &Search::watch, this);
    budget_.begin();
  }
  ~Search() { budget_.end(); }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  void use_jit_stack() {
    stack_.reset(pcre2_jit_stack_create(32u << 10, kJitStackBytes, nullptr));
    if (stack_ != nullptr) pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
  }

  // The first match at or behind `at`.
  bool next(size_t at, RegexMatch& match) {
    while (true) {
      // So few places a call that the clock is read often, however long each of them takes.
      const size_t places = std::clamp<size_t>((size_t{1} << 22) / (text_.size() - at + 1), 1, 256);
      const size_t last = std::min(text_.size(), at + places - 1);
      pcre2_set_offset_limit(context_.get(), last);
      const int found = call(at);
      if (found == PCRE2_ERROR_CALLOUT || budget_.spent()) refuse_time();
      if (found >= 0) {
        const size_t* ends = pcre2_get_ovector_pointer(data_.get());
        // \K can put the beginning behind the end.
        match = {std::min(ends[0], ends[1]), ends[1]};
        return true;
      }
      if (found != PCRE2_ERROR_NOMATCH) {
        fail("a pattern of this file exceeds its limit of " + std::to_string(kMatchSteps) +
                 " steps at one place of a text; use a pattern that does not try one place in so "
                 "many ways",
             place_);
      }
      if (last == text_.size()) return false;
      at = last + 1;
      while (at < text_.size() && (static_cast<uint8_t>(text_[at]) & 0xC0) == 0x80) ++at;
    }
  }

 private:
  int call(size_t at) {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text_.data());
    int found = pcre2_match(code_, subject, text_.size(), at, PCRE2_NO_UTF_CHECK, data_.get(),
                            context_.get());
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
      found = pcre2_match(code_, subject, text_.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                          data_.get(), context_.get());
    }
    return found;
  }

  // Called by the library before each item of the pattern that it tries: compiled patterns count
  // their steps too seldom to end soon by that alone.
  static int watch(pcre2_callout_block* block, void* data) {
    auto& search = *static_cast<Search*>(data);
    const size_t at = block->current_position;
    const size_t moved = at > search.last_ ? at - search.last_ : search.last_ - at;
    search.last_ = at;
    search.work_ += moved + search.work_of_item_;
    if (search.work_ < kWorkUnwatched) return 0;
    search.work_ = 0;
    return search.budget_.spent() ? PCRE2_ERROR_CALLOUT : 0;
  }

  [[noreturn]] void refuse_time() const {
    fail(
        "a pattern of this file takes longer than its limit for a text of this length; use a "
        "simpler pattern",
        place_);
  }

  const pcre2_code* code_;
  std::string_view text_;
  const std::string& place_;
  Owned<pcre2_match_context, pcre2_match_context_free> context_;
  Owned<pcre2_match_data, pcre2_match_data_free> data_;
  Owned<pcre2_jit_stack, pcre2_jit_stack_free> stack_;
  RegexBudget& budget_;
  size_t work_of_item_;
  size_t work_ = 0;  // since the last look at the clock
  size_t last_ = 0;  // where the last item was tried
};

}  // namespace

Regex::Regex(const std::string& pattern, const std::string& place) {
  if (pattern.size() > kMaxPatternBytes) {
    fail("a pattern is longer than " + std::to_string(kMaxPatternBytes) + " bytes", place);
  }
  const std::string translated = to_pcre2_syntax(pattern, place);
  auto impl = std::make_shared<Impl>();
  impl->place = place;
  const Owned<pcre2_compile_context, pcre2_compile_context_free> context(
      pcre2_compile_context_create(nullptr));
  if (context == nullptr) throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), 200);
  int error = 0;
  size_t offset = 0;
  impl->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                 PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C |
                                     PCRE2_USE_OFFSET_LIMIT | PCRE2_AUTO_CALLOUT,
                                 &error, &offset, context.get()));
  if (impl->code == nullptr) {
    PCRE2_UCHAR message[256];
    pcre2_get_error_message(error, message, sizeof(message));
    fail("a pattern does not compile: " + std::string(reinterpret_cast<const char*>(message)),
         place);
  }
  uint32_t back_references = 0;
  pcre2_pattern_info(impl->code.get(), PCRE2_INFO_BACKREFMAX, &back_references);
  impl->has_back_references = back_references > 0;
  impl->jit = pcre2_jit_compile(impl->code.get(), PCRE2_JIT_COMPLETE) == 0;
  impl_ = std::move(impl);
}

void Regex::find_all(std::string_view text, std::vector<RegexMatch>& out,
                     RegexBudget& budget) const {
  out.clear();
  std::string copy;
  text = with_stand_ins(text, copy);
  Search search(impl_->code.get(), impl_->has_back_references, text, impl_->place, budget);
  if (impl_->jit) search.use_jit_stack();
  constexpr size_t kNone = std::string_view::npos;
  size_t previous_end = kNone;
  for (size_t at = 0; at <= text.size();) {
    RegexMatch match{};
    if (!search.next(at, match)) return;
    at = match.end;
    if (match.begin == match.end) {
      do ++at;  // behind the next character
      while (at < text.size() && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80);
      if (match.end == previous_end) continue;
    }
    previous_end = match.end;
    out.push_back(match);
  }
}

}  // namespace longformer::text
