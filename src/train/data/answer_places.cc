#include "train/data/answer_places.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "io/json.h"
#include "text/unicode/unicode_tables.h"
#include "text/unicode/utf8.h"
#include "train/data/characters.h"
#include "train/data/example_sink.h"

namespace longformer::train {
namespace {

// A text in lower case with the way back.
class Folded {
 public:
  explicit Folded(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      const auto begin = static_cast<uint32_t>(at);
      const char32_t c = text::utf8::next(text, at);
      const std::u32string_view lower = text::unicode::lowercase(c);
      if (lower.empty()) text::utf8::append(c, text_);
      for (const char32_t l : lower) text::utf8::append(l, text_);
      begins_.resize(text_.size(), begin);
    }
    begins_.push_back(static_cast<uint32_t>(text.size()));
  }
  std::string_view text() const { return text_; }
  // Of the original, for a byte of text(); both ends of a character give its first byte.
  int64_t original(size_t at) const { return begins_[at]; }

 private:
  std::string text_;
  std::vector<uint32_t> begins_;  // one a byte, and the end
};

bool is_word(char32_t c) { return (text::unicode::flags(c) & text::unicode::kWord) != 0; }

// Whether a word goes on over this place.
bool inside_word(std::string_view text, size_t at) {
  if (at == 0 || at >= text.size()) return false;
  size_t before = text::utf8::previous(text, at);
  return is_word(text::utf8::next(text, before)) && is_word(text::utf8::next(text, at));
}

void find_all(const Folded& text, const std::string& answer, std::vector<text::Offset>& places) {
  const Folded folded(answer);
  const std::string_view wanted = folded.text();
  for (size_t at = text.text().find(wanted); at != std::string_view::npos;
       at = text.text().find(wanted, at + 1)) {
    const size_t end = at + wanted.size();
    if (inside_word(text.text(), at) || inside_word(text.text(), end)) continue;
    places.push_back({text.original(at), text.original(end)});
  }
}

text::Offset given_place(std::string_view text, const Characters& characters, double start,
                         const std::string& answer) {
  const std::string name = "its answer_start " + position_text(start);
  if (start < 0 || start != std::floor(start) || start >= static_cast<double>(characters.count())) {
    throw BadExample(name + " lies outside the context of " + std::to_string(characters.count()) +
                     " characters");
  }
  const size_t begin = characters.byte(static_cast<size_t>(start));
  if (text.substr(begin, answer.size()) != answer) {
    throw BadExample(name +
                     " is not where the answer stands; it counts characters of the context "
                     "from 0");
  }
  return {static_cast<int64_t>(begin), static_cast<int64_t>(begin + answer.size())};
}

}  // namespace

std::vector<text::Offset> answer_places(std::string_view text, const io::GoldQuestion& question) {
  std::vector<text::Offset> places;
  std::optional<Folded> folded;
  std::optional<Characters> characters;
  for (size_t i = 0; i < question.answers.size(); ++i) {
    const std::string& answer = question.answers[i];
    if (answer.find_first_not_of(" \t\r\n") == std::string::npos) {
      throw BadExample("an answer is empty; no answer is an empty list");
    }
    const double start = i < question.starts.size() ? question.starts[i] : io::kNoStart;
    if (start == io::kNoStart) {
      if (!folded) folded.emplace(text);
      find_all(*folded, answer, places);
    } else {
      if (!characters) characters.emplace(text);
      places.push_back(given_place(text, *characters, start, answer));
    }
  }
  const auto less = [](const text::Offset& a, const text::Offset& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  };
  std::sort(places.begin(), places.end(), less);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

bool token_span(const text::Encoding& window, const WindowPlace& place, const text::Offset& bytes,
                int64_t& first, int64_t& last) {
  const auto begin = std::find(window.sequence.begin(), window.sequence.end(), int8_t{1});
  const auto end = std::find(window.sequence.rbegin(), window.sequence.rend(), int8_t{1}).base();
  const int64_t from = begin - window.sequence.begin();
  const int64_t to = end - window.sequence.begin();
  if (from >= to) return false;
  const auto offset = [&](int64_t token) { return window.offsets[static_cast<size_t>(token)]; };
  if (!place.first && bytes.begin < offset(from).begin) return false;
  if (!place.last && bytes.end > offset(to - 1).end) return false;
  const auto tokens = window.offsets.begin();
  first = std::partition_point(tokens + from, tokens + to,
                               [&](const auto& token) { return token.end <= bytes.begin; }) -
          tokens;
  last = std::partition_point(tokens + from, tokens + to,
                              [&](const auto& token) { return token.begin < bytes.end; }) -
         tokens - 1;
  return first <= last;
}

}  // namespace longformer::train
