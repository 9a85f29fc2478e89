#include "tasks/query_terms.h"

#include <algorithm>
#include <set>

#include "tasks/scan.h"

namespace longformer::tasks {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter(char c) { return is_lower(c) || is_upper(c); }
bool is_word(char c) { return is_letter(c) || is_digit(c); }
bool is_other_script(char c) { return static_cast<unsigned char>(c) >= 0x80; }
bool continues(char c) { return is_word(c) || c == '_'; }

// An FTS5 string: its tokens, one after the other.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '\0') continue;
    result += c;
    if (c == '"') result += c;
  }
  return result + "\"";
}

// Runs of white space become one space; none at the ends.
std::string single_spaced(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = decode_at(text, i);
    if (is_space(c.value)) {
      if (!result.empty() && result.back() != ' ') result += ' ';
    } else {
      result += text.substr(i, static_cast<size_t>(c.size));
    }
    i += static_cast<size_t>(c.size);
  }
  if (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

bool any_of(std::string_view text, bool (*test)(char)) {
  return std::any_of(text.begin(), text.end(), test);
}

// Maximal runs of characters that `test` accepts.
std::vector<std::string_view> runs(std::string_view text, bool (*test)(char)) {
  std::vector<std::string_view> result;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    while (end < text.size() && test(text[end])) ++end;
    if (end > begin) result.push_back(text.substr(begin, end - begin));
    begin = std::max(end, begin + 1);
  }
  return result;
}

std::string_view without_punctuation(std::string_view word) {
  constexpr std::string_view kBefore = "([{<\"'`,;:!?";
  constexpr std::string_view kBehind = "([{<)]}>\"'`.,;:!?";
  while (!word.empty() && kBefore.find(word.front()) != std::string_view::npos) {
    word.remove_prefix(1);
  }
  while (!word.empty() && kBehind.find(word.back()) != std::string_view::npos) {
    word.remove_suffix(1);
  }
  return word;
}

// A dot with letters or digits on both sides, and a part longer than the letters of "e.g".
bool has_inner_dot(std::string_view word) {
  for (size_t i = 1; i + 1 < word.size(); ++i) {
    if (word[i] != '.' || !is_word(word[i - 1]) || !is_word(word[i + 1])) continue;
    const std::vector<std::string_view> parts = runs(word, is_word);
    return std::any_of(parts.begin(), parts.end(),
                       [](std::string_view part) { return part.size() > 1; });
  }
  return false;
}

bool is_path(std::string_view word) {
  const bool rooted = word.starts_with('/') || word.starts_with("~/") || word.starts_with("./") ||
                      word.starts_with("../");
  return rooted || std::count(word.begin(), word.end(), '/') >= 2;
}

bool has_inner_capital(std::string_view word) {
  for (size_t i = 1; i < word.size(); ++i) {
    if (is_upper(word[i]) && is_lower(word[i - 1])) return true;
  }
  return false;
}

bool is_all_capitals(std::string_view word) {
  return std::all_of(word.begin(), word.end(),
                     [](char c) { return is_upper(c) || is_digit(c) || c == '-'; }) &&
         std::count_if(word.begin(), word.end(), is_upper) >= 2;
}

bool is_identifier(std::string_view word, bool shouted) {
  if (word.size() < 2 || !any_of(word, is_word)) return false;
  const bool letters = any_of(word, is_letter);
  const auto digits = std::count_if(word.begin(), word.end(), is_digit);
  if (word.find('_') != std::string_view::npos) return true;
  if (word.find("::") != std::string_view::npos || word.find("->") != std::string_view::npos) {
    return true;
  }
  if (has_inner_dot(word) || is_path(word) || has_inner_capital(word)) return true;
  if (digits > 0 && (letters || digits >= 3)) return true;
  if ((word[0] == '$' || word[0] == '-') && letters) return true;
  if (word.ends_with("++") || word.ends_with('#')) return true;
  return !shouted && is_all_capitals(word);
}

struct Quotes {
  std::string_view open;
  std::string_view close;
};
constexpr Quotes kQuotes[] = {{"\"", "\""}, {"\xE2\x80\x9C", "\xE2\x80\x9D"}};

class Parser {
 public:
  explicit Parser(std::string_view query) : shouted_(!any_of(query, is_lower)) {
    split_phrases(query);
    add_words(query);
  }

  QueryTerms take() { return std::move(terms_); }

 private:
  // Phrases are taken out; identifiers are looked for in what is left.
  void split_phrases(std::string_view query) {
    size_t begin = 0;
    for (size_t i = 0; i < query.size(); ++i) {
      for (const Quotes& quotes : kQuotes) {
        if (!query.substr(i).starts_with(quotes.open)) continue;
        const size_t inside = i + quotes.open.size();
        const size_t end = query.find(quotes.close, inside);
        if (end == std::string_view::npos) continue;
        add_identifiers(query.substr(begin, i - begin));
        add_needle(single_spaced(query.substr(inside, end - inside)));
        begin = end + quotes.close.size();
        i = begin - 1;
        break;
      }
    }
    add_identifiers(query.substr(begin));
  }

  void add_identifiers(std::string_view text) {
    const std::string spaced = single_spaced(text);
    for (const std::string_view word : runs(spaced, [](char c) { return c != ' '; })) {
      const std::string_view core = without_punctuation(word);
      if (is_identifier(core, shouted_)) add_needle(std::string(core));
    }
  }

  void add_needle(std::string text) {
    if (text.empty() || terms_.needles.size() == kMaxNeedles) return;
    if (!any_of(text, [](char c) { return is_word(c) || is_other_script(c); })) return;
    if (!needles_.insert(text).second) return;
    std::string expression = quoted(text);
    const bool other_script = any_of(text, is_other_script);
    terms_.needles.push_back({std::move(text), std::move(expression), other_script});
  }

  void add_words(std::string_view query) {
    std::set<std::string> seen;
    for (const std::string_view word :
         runs(query, [](char c) { return is_word(c) || is_other_script(c); })) {
      std::string folded(word);
      for (char& c : folded) c = is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
      if (seen.size() == kMaxQueryWords || !seen.insert(folded).second) continue;
      terms_.words.push_back(quoted(word));
    }
  }

  bool shouted_;
  QueryTerms terms_;
  std::set<std::string> needles_;
};

// Length of `needle` at text[place], white space of any length where it has a space; 0: not there.
size_t match_at(std::string_view text, size_t place, std::string_view needle) {
  size_t at = place;
  for (const char c : needle) {
    if (c == ' ') {
      size_t space = at;
      while (space < text.size()) {
        const CodePoint next = decode_at(text, space);
        if (!is_space(next.value)) break;
        space += static_cast<size_t>(next.size);
      }
      if (space == at) return 0;
      at = space;
    } else if (at < text.size() && text[at] == c) {
      ++at;
    } else {
      return 0;
    }
  }
  return at - place;
}

}  // namespace

QueryTerms parse_query(std::string_view query) { return Parser(query).take(); }

bool contains(std::string_view text, const Needle& needle) {
  const std::string_view wanted = needle.text;
  const std::string_view first = wanted.substr(0, wanted.find(' '));
  for (size_t at = text.find(first); at != std::string_view::npos; at = text.find(first, at + 1)) {
    const size_t length = match_at(text, at, wanted);
    if (length == 0) continue;
    const size_t end = at + length;
    if (at > 0 && continues(wanted.front()) && continues(text[at - 1])) continue;
    if (end < text.size() && continues(wanted.back()) && continues(text[end])) continue;
    const bool option = wanted.front() == '-';
    if (option && end < text.size() && (text[end] == '-' || text[end] == '_')) continue;
    return true;
  }
  return false;
}

std::string_view longest_piece(const Needle& needle) {
  std::string_view longest;
  for (const std::string_view piece : runs(needle.text, [](char c) { return c != ' '; })) {
    if (piece.size() > longest.size()) longest = piece;
  }
  return longest;
}

}  // namespace longformer::tasks
