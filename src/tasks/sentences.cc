#include "tasks/sentences.h"

#include <algorithm>
#include <array>
#include <string>

namespace longformer::tasks {
namespace {

constexpr int64_t kTitleBytes =
    48;  // a line that stands above deeper indented text is a title up to this length
constexpr int64_t kLongestWord = 16;  // bytes looked at before a full stop
constexpr int kClosingMarks = 4;      // quotes and brackets that may follow a full stop

// Never the end of a sentence.
constexpr std::array<std::string_view, 26> kAbbreviations = {
    "al", "approx", "bzw", "ca", "capt", "cf",   "dr",  "ed",  "eds", "esp", "gen", "gov", "hon",
    "lt", "mr",     "mrs", "ms", "mt",   "prof", "rev", "sen", "sgt", "st",  "u",   "viz", "vs"};
// Not the end before a number: "No. 5", "Jan. 1".
constexpr std::array<std::string_view, 28> kBeforeNumber = {
    "app", "apr", "art",  "aug", "ch",  "chap", "col",  "dec", "eq",  "eqs",
    "feb", "fig", "figs", "jan", "jul", "jun",  "mar",  "no",  "nos", "nov",
    "oct", "p",   "para", "pp",  "ref", "sec",  "sept", "vol"};
// Not the end before a lower-case letter.
constexpr std::array<std::string_view, 8> kBeforeLower = {"co",  "corp", "dept", "etc",
                                                          "est", "inc",  "jr",   "ltd"};

template <size_t n>
bool contains(const std::array<std::string_view, n>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

enum class Mark {
  kNone,
  kStop,
  kAsk,
  kWide
};  // ".", "! ?" and relatives, marks that need no space

Mark mark_of(char32_t c) {
  switch (c) {
    case U'.':
      return Mark::kStop;
    case U'!':
    case U'?':
    case 0x2026:  // horizontal ellipsis
    case 0x0964:  // danda
    case 0x0965:  // double danda
    case 0x061F:  // Arabic question mark
    case 0x06D4:  // Arabic full stop
    case 0x203C:  // double exclamation mark
    case 0x2047:  // double question mark
      return Mark::kAsk;
    case 0x3002:  // ideographic full stop
    case 0xFF01:
    case 0xFF1F:
    case 0xFF0E:
    case 0xFF61:
      return Mark::kWide;
    default:
      return Mark::kNone;
  }
}

bool is_closing(char32_t c) {
  switch (c) {
    case U'"':
    case U'\'':
    case U')':
    case U']':
    case U'}':
    case 0x00BB:  // »
    case 0x2019:
    case 0x201D:
    case 0x203A:  // ›
    case 0x300D:  // corner brackets
    case 0x300F:
    case 0x3011:
    case 0xFF09:
      return true;
    default:
      return false;
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter(char c) { return is_lower(c) || is_upper(c); }
bool is_blank_byte(char c) { return c == ' ' || c == '\t'; }

// What stands before a full stop: "Fig", "e.g", "12"; empty when it is longer than any
// abbreviation.
std::string word_before(std::string_view text, int64_t begin, int64_t stop) {
  int64_t start = stop;
  const auto part = [&](int64_t i) {
    const char c = text[static_cast<size_t>(i)];
    return is_letter(c) || is_digit(c) || c == '.' || static_cast<unsigned char>(c) >= 0x80;
  };
  while (start > begin && stop - start <= kLongestWord && part(start - 1)) --start;
  if (stop - start > kLongestWord) return {};
  return std::string(text.substr(static_cast<size_t>(start), static_cast<size_t>(stop - start)));
}

// "e.g", "U.S", "a.m": parts of one or two letters.
bool is_acronym(std::string_view word) {
  if (word.find('.') == std::string_view::npos) return false;
  int letters = 0;
  for (const char c : word) {
    if (c == '.') {
      if (letters == 0) return false;
      letters = 0;
    } else if (!is_letter(c) || ++letters > 2) {
      return false;
    }
  }
  return letters > 0;
}

class Splitter {
 public:
  Splitter(std::string_view text, ByteRange paragraph) : text_(text), paragraph_(paragraph) {}

  std::vector<ByteRange> split() {
    start_ = paragraph_.begin;
    line_begin_ = paragraph_.begin;
    for (int64_t i = paragraph_.begin; i < paragraph_.end;) {
      const CodePoint c = decode_at(text_, static_cast<size_t>(i));
      const int64_t next = i + c.size;
      if (c.value == U'\n') {
        if (breaks_line(i)) close(i);
        line_begin_ = next;
      } else if (const Mark mark = mark_of(c.value); mark != Mark::kNone) {
        const int64_t end = sentence_end(mark, i, next);
        if (end > 0) {
          close(end);
          i = end;
          continue;
        }
      }
      i = next;
    }
    close(paragraph_.end);
    return std::move(sentences_);
  }

 private:
  char at(int64_t i) const { return i < paragraph_.end ? text_[static_cast<size_t>(i)] : '\0'; }

  void close(int64_t end) {
    const ByteRange range = trim(text_, {start_, end});
    if (range.begin < range.end) sentences_.push_back(range);
    start_ = end;
  }

  // Where the sentence that the mark at `position` would end ends, or 0 when it goes on.
  int64_t sentence_end(Mark mark, int64_t position, int64_t next) const {
    bool quoted = false;
    int64_t end = next;
    for (int i = 0; i < kClosingMarks && end < paragraph_.end; ++i) {
      const CodePoint c = decode_at(text_, static_cast<size_t>(end));
      if (!is_closing(c.value)) break;
      quoted = true;
      end += c.size;
    }
    if (mark == Mark::kWide) return mark_of(peek(end)) == Mark::kNone ? end : 0;
    if (end < paragraph_.end && !is_space(peek(end))) return 0;
    const char following = at(skip_space(end));
    if (is_lower(following) && (quoted || mark == Mark::kAsk)) return 0;
    return mark == Mark::kStop && stop_goes_on(position, following) ? 0 : end;
  }

  // A full stop that ends no sentence.
  bool stop_goes_on(int64_t position, char following) const {
    if (position > paragraph_.begin && at(position - 1) == '.') return is_lower(following);
    const std::string word = word_before(text_, paragraph_.begin, position);
    if (word.empty()) return false;
    if (word.size() == 1 && is_letter(word[0])) return true;
    if (std::all_of(word.begin(), word.end(), is_digit)) {
      return is_blank(text_, {line_begin_, position - static_cast<int64_t>(word.size())});
    }
    if (is_acronym(word)) return true;
    std::string lower = word;
    for (char& c : lower) c = is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
    if (contains(kBeforeLower, lower)) return is_lower(following);
    if (contains(kBeforeNumber, lower)) return is_digit(following);
    return contains(kAbbreviations, lower);
  }

  // Whether the line feed at `position` ends a sentence by the look of the lines around it.
  bool breaks_line(int64_t position) const {
    if (is_heading(line_begin_)) return true;
    const int64_t below = position + 1;
    if (starts_item(below) || is_heading(below)) return true;
    const int64_t width = position - line_begin_;
    return width <= kTitleBytes && indent(below) > indent(line_begin_) && !has_marker(line_begin_);
  }

  int64_t indent(int64_t line) const {
    int64_t i = line;
    while (is_blank_byte(at(i))) ++i;
    return i - line;
  }

  // "# Title"
  bool is_heading(int64_t line) const {
    int64_t i = line;
    while (at(i) == '#') ++i;
    return i > line && i - line <= 6 && is_blank_byte(at(i));
  }

  // An option of a command, "    --all", or what has_marker() says.
  bool starts_item(int64_t line) const {
    const int64_t i = line + indent(line);
    return has_marker(line) || (i > line && at(i) == '-' && !is_space_byte(at(i + 1)));
  }

  // "- x", "* x", "12. x", "3) x", "(b) x"
  bool has_marker(int64_t line) const {
    int64_t i = line + indent(line);
    const char c = at(i);
    if (c == '-' || c == '*' || c == '+') return is_blank_byte(at(i + 1));
    const CodePoint wide =
        i < paragraph_.end ? decode_at(text_, static_cast<size_t>(i)) : CodePoint{};
    if (wide.value == 0x2022 || wide.value == 0x25E6 || wide.value == 0x25AA ||
        wide.value == 0x00B7) {
      return true;  // bullets
    }
    const bool open = c == '(';
    if (open) ++i;
    int64_t length = 0;
    while (length < 4 && (is_digit(at(i)) || (length == 0 && is_letter(at(i))))) {
      ++length;
      ++i;
      if (is_letter(at(i - 1))) break;
    }
    if (length == 0 || length > 3) return false;
    const bool letter = is_letter(at(i - 1));
    const bool closed = at(i) == ')' || (at(i) == '.' && !letter && !open);
    return closed && is_blank_byte(at(i + 1));
  }

  static bool is_space_byte(char c) {
    return is_blank_byte(c) || c == '\n' || c == '\r' || c == '\0';
  }

  char32_t peek(int64_t i) const {
    return i < paragraph_.end ? decode_at(text_, static_cast<size_t>(i)).value : U'\0';
  }

  int64_t skip_space(int64_t i) const {
    while (i < paragraph_.end) {
      const CodePoint c = decode_at(text_, static_cast<size_t>(i));
      if (!is_space(c.value)) break;
      i += c.size;
    }
    return i;
  }

  std::string_view text_;
  ByteRange paragraph_;
  int64_t start_ = 0;       // of the sentence being read
  int64_t line_begin_ = 0;  // of the line being read
  std::vector<ByteRange> sentences_;
};

}  // namespace

std::vector<ByteRange> split_sentences(std::string_view text, ByteRange paragraph) {
  return Splitter(text, paragraph).split();
}

}  // namespace longformer::tasks
