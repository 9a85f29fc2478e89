#include "text/pretokenizer.h"

#include <algorithm>

#include "longformer/error.h"
#include "text/gpt2_scanner.h"
#include "text/models/byte_alphabet.h"
#include "text/unicode/scanner_tables.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

// One step makes a text at most seven times as long; many could go on like that.
constexpr size_t kMaxGrowth = 64;

// A stretch of a word; all of them together cover it.
struct Part {
  size_t begin;
  size_t end;
  bool match;
};
using Parts = std::vector<Part>;

void push_word(size_t begin, size_t end, std::vector<WordRange>& out) {
  if (begin < end) out.push_back({begin, end});
}

// Joins a match with the part before it, unless that is a match too; with no part before it, it
// stands alone. From the right, "before" means behind.
void merge_with_neighbor(const Parts& parts, std::vector<WordRange>& out) {
  bool previous = false;
  for (const Part& part : parts) {
    if (part.match && !previous && !out.empty()) {
      out.back().end = part.end;
    } else {
      out.push_back({part.begin, part.end});
    }
    previous = part.match;
  }
}

void merge_with_next(const Parts& parts, std::vector<WordRange>& out) {
  bool previous = false;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->match && !previous && !out.empty()) {
      out.back().begin = part->begin;
    } else {
      out.push_back({part->begin, part->end});
    }
    previous = part->match;
  }
  std::reverse(out.begin(), out.end());
}

void join_equal(const Parts& parts, std::vector<WordRange>& out) {
  bool previous = false;
  for (const Part& part : parts) {
    if (part.match == previous && !out.empty()) {
      out.back().end = part.end;
    } else {
      out.push_back({part.begin, part.end});
    }
    previous = part.match;
  }
}

// The words of one word by its parts.
void cut(const Parts& parts, SplitBehavior behavior, std::vector<WordRange>& words,
         std::vector<WordRange>& scratch) {
  scratch.clear();
  switch (behavior) {
    case SplitBehavior::kRemoved:
      for (const Part& part : parts) {
        if (!part.match) scratch.push_back({part.begin, part.end});
      }
      break;
    case SplitBehavior::kIsolated:
      for (const Part& part : parts) scratch.push_back({part.begin, part.end});
      break;
    case SplitBehavior::kMergedWithPrevious:
      merge_with_neighbor(parts, scratch);
      break;
    case SplitBehavior::kMergedWithNext:
      merge_with_next(parts, scratch);
      break;
    case SplitBehavior::kContiguous:
      join_equal(parts, scratch);
      break;
  }
  for (const WordRange& word : scratch) push_word(word.begin, word.end, words);
}

// Cuts each word: `find(range, parts)` appends its parts.
template <class Find>
void cut_words(SplitBehavior behavior, std::vector<WordRange>& words, const Find& find) {
  std::vector<WordRange> out;
  std::vector<WordRange> scratch;
  Parts parts;
  for (const WordRange& word : words) {
    parts.clear();
    find(word, parts);
    cut(parts, behavior, out, scratch);
  }
  words.swap(out);
}

// Replaces each word by words of it: `find(range, out)` appends them.
template <class Find>
void replace_words(std::vector<WordRange>& words, const Find& find) {
  std::vector<WordRange> out;
  for (const WordRange& word : words) find(word, out);
  words.swap(out);
}

void cut_bert(std::string_view text, std::vector<WordRange>& words) {
  replace_words(words, [&](const WordRange& word, std::vector<WordRange>& out) {
    size_t start = word.begin;
    for (size_t at = word.begin; at < word.end;) {
      const size_t begin = at;
      const uint8_t flags = unicode::flags(utf8::next(text, at));
      if ((flags & (unicode::kSpace | unicode::kPunctuation)) == 0) continue;
      push_word(start, begin, out);
      if (flags & unicode::kPunctuation) out.push_back({begin, at});
      start = at;
    }
    push_word(start, word.end, out);
  });
}

void cut_gpt2(std::string_view text, std::vector<WordRange>& words) {
  replace_words(words, [&](const WordRange& word, std::vector<WordRange>& out) {
    const std::string_view part = text.substr(0, word.end);
    for (size_t at = word.begin; at < word.end;) {
      const size_t end = next_gpt2_match(part, at);
      out.push_back({at, end});
      at = end;
    }
  });
}

void cut_word_runs(std::string_view text, std::vector<WordRange>& words) {
  enum class Kind { kSpace, kWord, kOther };
  replace_words(words, [&](const WordRange& word, std::vector<WordRange>& out) {
    Kind last = Kind::kSpace;
    size_t start = word.begin;
    for (size_t at = word.begin; at < word.end;) {
      const size_t begin = at;
      const uint8_t flags = unicode::flags(utf8::next(text, at));
      const Kind kind = flags & unicode::kWord    ? Kind::kWord
                        : flags & unicode::kSpace ? Kind::kSpace
                                                  : Kind::kOther;
      if (kind == last) continue;
      if (last != Kind::kSpace) out.push_back({start, begin});
      last = kind;
      start = begin;
    }
    if (last != Kind::kSpace) push_word(start, word.end, out);
  });
}

bool is_in(const CharacterSplit& split, char32_t c) {
  switch (split.set) {
    case CharacterSplit::Set::kSpace:
      return unicode::flags(c) & unicode::kSpace;
    case CharacterSplit::Set::kPunctuation:
      return unicode::flags(c) & unicode::kPunctuation;
    case CharacterSplit::Set::kNumeric:
      return unicode::classes(c) & unicode::kNumeric;
    case CharacterSplit::Set::kDelimiter:
      break;
  }
  return c == split.delimiter;
}

void cut_characters(const CharacterSplit& split, std::string_view text,
                    std::vector<WordRange>& words) {
  cut_words(split.behavior, words, [&](const WordRange& word, Parts& parts) {
    size_t start = word.begin;
    for (size_t at = word.begin; at < word.end;) {
      const size_t begin = at;
      if (!is_in(split, utf8::next(text, at))) continue;
      if (start < begin) parts.push_back({start, begin, false});
      parts.push_back({begin, at, true});
      start = at;
    }
    if (start < word.end) parts.push_back({start, word.end, false});
  });
}

void find_literal(std::string_view text, std::string_view literal,
                  std::vector<RegexMatch>& matches) {
  matches.clear();
  for (size_t at = text.find(literal); at != text.npos; at = text.find(literal, at)) {
    matches.push_back({at, at + literal.size()});
    at += literal.size();
  }
}

void cut_pattern(const PatternSplit& split, std::string_view text, std::vector<WordRange>& words,
                 RegexBudget& budget) {
  std::vector<RegexMatch> matches;
  const auto find = [&](const WordRange& word, Parts& parts) {
    const std::string_view part = text.substr(word.begin, word.end - word.begin);
    if (split.kind == PatternSplit::Kind::kLiteral) {
      find_literal(part, split.literal, matches);
    } else {
      split.regex->find_all(part, matches, budget);
    }
    size_t start = word.begin;
    for (const RegexMatch& match : matches) {
      const size_t begin = word.begin + match.begin;
      const size_t end = word.begin + match.end;
      if (start < begin) parts.push_back({start, begin, split.invert});
      parts.push_back({begin, end, !split.invert});
      start = end;
    }
    if (start < word.end) parts.push_back({start, word.end, split.invert});
  };
  cut_words(split.behavior, words, find);
}

void cut_lengths(uint64_t length, std::string_view text, std::vector<WordRange>& words) {
  replace_words(words, [&](const WordRange& word, std::vector<WordRange>& out) {
    for (size_t at = word.begin; at < word.end;) {
      const size_t begin = at;
      for (uint64_t n = 0; n < length && at < word.end; ++n) utf8::next(text, at);
      out.push_back({begin, at});
    }
  });
}

void add_prefix_spaces(AlignedText& text, std::vector<WordRange>& words) {
  const auto has_space = [&](const WordRange& word) { return text.text()[word.begin] == ' '; };
  if (std::all_of(words.begin(), words.end(), has_space)) return;
  text.edit_words(words, [&](const WordRange& word, const auto& append) {
    if (!has_space(word)) append(" ", word.begin);
    for (size_t at = word.begin; at < word.end; ++at) append(text.text().substr(at, 1), at);
  });
}

void to_alphabet(AlignedText& text, std::vector<WordRange>& words) {
  std::string character;
  text.edit_words(words, [&](const WordRange& word, const auto& append) {
    for (size_t at = word.begin; at < word.end; ++at) {
      character.clear();
      byte_alphabet::append(text.text().substr(at, 1), character);
      append(character, at);
    }
  });
}

void split_bytes(const ByteLevelSplit& step, AlignedText& text, std::vector<WordRange>& words,
                 bool keep_bytes) {
  if (step.add_prefix_space) add_prefix_spaces(text, words);
  if (step.use_regex) cut_gpt2(text.text(), words);
  if (!keep_bytes) to_alphabet(text, words);
}

void split_metaspace(const MetaspaceSplit& step, AlignedText& text, std::vector<WordRange>& words) {
  text.edit_words(words, [&](const WordRange& word, const auto& append) {
    const std::string_view whole = text.text();
    const std::string_view rest = whole.substr(word.begin, word.end - word.begin);
    const bool begins = rest.starts_with(' ') || rest.starts_with(step.replacement);
    const bool wanted =
        step.prepend == MetaspaceSplit::Prepend::kAlways ||
        (step.prepend == MetaspaceSplit::Prepend::kFirst && text.original_begin(word.begin) == 0);
    if (wanted && !begins) append(step.replacement, word.begin);
    for (size_t at = word.begin; at < word.end; ++at) {
      append(whole[at] == ' ' ? std::string_view(step.replacement) : whole.substr(at, 1), at);
    }
  });
  if (!step.split) return;
  CharacterSplit split;
  size_t at = 0;
  split.set = CharacterSplit::Set::kDelimiter;
  split.delimiter = utf8::next(step.replacement, at);
  split.behavior = SplitBehavior::kMergedWithNext;
  cut_characters(split, text.text(), words);
}

void apply_step(const PreTokenizerStep& step, AlignedText& text, std::vector<WordRange>& words,
                bool keep_bytes, RegexBudget& budget) {
  if (std::holds_alternative<BertSplit>(step)) {
    cut_bert(text.text(), words);
  } else if (const auto* bytes = std::get_if<ByteLevelSplit>(&step)) {
    split_bytes(*bytes, text, words, keep_bytes);
  } else if (const auto* metaspace = std::get_if<MetaspaceSplit>(&step)) {
    split_metaspace(*metaspace, text, words);
  } else if (const auto* characters = std::get_if<CharacterSplit>(&step)) {
    cut_characters(*characters, text.text(), words);
  } else if (std::holds_alternative<WordSplit>(step)) {
    cut_word_runs(text.text(), words);
  } else if (const auto* pattern = std::get_if<PatternSplit>(&step)) {
    if (pattern->kind == PatternSplit::Kind::kGpt2) {
      cut_gpt2(text.text(), words);
    } else {
      cut_pattern(*pattern, text.text(), words, budget);
    }
  } else {
    cut_lengths(std::get<LengthSplit>(step).length, text.text(), words);
  }
}

}  // namespace

bool PreTokenizer::is_bert() const {
  return steps_.size() == 1 && std::holds_alternative<BertSplit>(steps_[0]);
}

bool PreTokenizer::ends_with_bytes() const {
  return !steps_.empty() && std::holds_alternative<ByteLevelSplit>(steps_.back());
}

void PreTokenizer::apply(AlignedText& text, std::vector<WordRange>& words, bool keep_bytes,
                         RegexBudget& budget) const {
  words.clear();
  if (!text.text().empty()) words.push_back({0, text.text().size()});
  const size_t most = text.text().size() * kMaxGrowth + 1024;
  for (const PreTokenizerStep& step : steps_) {
    if (text.text().size() > most) {
      throw Error(ErrorCode::kInvalidFile, "the steps of the pre_tokenizer make a text more than " +
                                               std::to_string(kMaxGrowth) + " times as long");
    }
    apply_step(step, text, words, keep_bytes && &step == &steps_.back(), budget);
  }
}

}  // namespace longformer::text
