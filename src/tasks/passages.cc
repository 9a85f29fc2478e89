#include "tasks/passages.h"

#include <algorithm>
#include <string>
#include <utility>

#include "longformer/error.h"
#include "tasks/sentences.h"

namespace longformer::tasks {
namespace {

using Offsets = std::span<const text::Offset>;

const text::Offset& at(Offsets offsets, int64_t token) {
  return offsets[static_cast<size_t>(token)];
}

// Cuts one sentence into pieces of at most `budget` tokens.
class Cutter {
 public:
  Cutter(std::string_view text, Offsets offsets, int64_t budget)
      : text_(text), offsets_(offsets), budget_(budget) {}

  void cut(Sentence sentence, std::vector<Sentence>& out) const {
    while (sentence.tokens() > budget_) {
      const int64_t token = place(sentence);
      if (token >= sentence.token_end) break;
      const int64_t byte = at(offsets_, token).begin;
      Sentence piece = sentence;
      piece.bytes = trim(text_, {sentence.bytes.begin, byte});
      piece.token_end = token;
      if (piece.bytes.begin < piece.bytes.end) out.push_back(piece);
      sentence.bytes = trim(text_, {byte, sentence.bytes.end});
      sentence.token_begin = token;
    }
    out.push_back(sentence);
  }

 private:
  // The first token of the next piece: the last white space in the second half of an equal share,
  // else the last border between two tokens.
  int64_t place(const Sentence& sentence) const {
    const int64_t pieces = (sentence.tokens() + budget_ - 1) / budget_;
    const int64_t share = (sentence.tokens() + pieces - 1) / pieces;
    const int64_t last = sentence.token_begin + share;
    const int64_t half = sentence.token_begin + share / 2;
    int64_t border = 0;
    for (int64_t token = last; token > half; --token) {
      if (!separable(sentence, token)) continue;
      if (follows_space(token)) return token;
      border = std::max(border, token);
    }
    if (border > 0) return border;
    int64_t token = last + 1;  // tokens that share one character: after it
    while (token < sentence.token_end && !separable(sentence, token)) ++token;
    return token;
  }

  // Whether `token` starts where the token before it has ended.
  bool separable(const Sentence& sentence, int64_t token) const {
    const int64_t begin = at(offsets_, token).begin;
    return begin >= at(offsets_, token - 1).end && begin > sentence.bytes.begin &&
           begin < sentence.bytes.end;
  }

  bool follows_space(int64_t token) const {
    const int64_t begin = at(offsets_, token - 1).end;
    return begin < at(offsets_, token).begin &&
           is_space(decode_at(text_, static_cast<size_t>(begin)).value);
  }

  std::string_view text_;
  Offsets offsets_;
  int64_t budget_;
};

// Paragraph by paragraph: sentences with their tokens, then passages.
class Segmenter {
 public:
  Segmenter(std::string_view text, Offsets offsets, const PassageOptions& options)
      : text_(text),
        offsets_(offsets),
        options_(options),
        cutter_(text, offsets, options.passage_tokens) {}

  Segmentation run() {
    int64_t pending = 0;   // first sentence that no passage has taken
    int64_t headings = 0;  // first sentence of the headings that end what waits
    for (const ByteRange& paragraph : split_paragraphs(text_)) {
      const int64_t begin = count();
      add_sentences(paragraph);
      const bool heading = tokens(begin, count()) < options_.heading_tokens;
      if (tokens(pending, count()) > options_.passage_tokens) {
        // Headings wait for their text, unless there is nothing but headings.
        const int64_t end = headings > pending ? headings : begin;
        if (headings > pending || tokens(pending, begin) > options_.passage_tokens / 2) {
          group(pending, end);
          pending = end;
        }
      }
      if (heading) continue;
      headings = count();
      if (tokens(pending, count()) >= options_.join_tokens) {
        group(pending, count());
        pending = count();
      }
    }
    finish(pending);
    number_lines();
    return std::move(out_);
  }

 private:
  int64_t count() const { return static_cast<int64_t>(out_.sentences.size()); }
  const Sentence& sentence_at(int64_t i) const { return out_.sentences[static_cast<size_t>(i)]; }

  int64_t tokens(int64_t begin, int64_t end) const {
    return begin == end ? 0 : sentence_at(end - 1).token_end - sentence_at(begin).token_begin;
  }

  void add_sentences(const ByteRange& paragraph) {
    for (const ByteRange& bytes : split_sentences(text_, paragraph)) {
      const int64_t before = token_;
      const Sentence whole = take_tokens(bytes);
      if (whole.tokens() <= options_.passage_tokens) {
        out_.sentences.push_back(whole);
        continue;
      }
      token_ = before;  // a log, a table, a listing: its lines serve as sentences
      for (int64_t line = bytes.begin; line < bytes.end;) {
        const int64_t end = line_end(line, bytes.end);
        const ByteRange range = trim(text_, {line, end});
        if (range.begin < range.end) cutter_.cut(take_tokens(range), out_.sentences);
        line = end + 1;
      }
    }
  }

  int64_t line_end(int64_t begin, int64_t limit) const {
    const size_t found = text_.find('\n', static_cast<size_t>(begin));
    return found == std::string_view::npos ? limit : std::min(limit, static_cast<int64_t>(found));
  }

  // The tokens of `bytes`; those of the white space before it belong to nothing.
  Sentence take_tokens(const ByteRange& bytes) {
    const int64_t all = static_cast<int64_t>(offsets_.size());
    Sentence sentence;
    sentence.bytes = bytes;
    while (token_ < all && at(offsets_, token_).end <= bytes.begin) ++token_;
    sentence.token_begin = token_;
    while (token_ < all && at(offsets_, token_).begin < bytes.end) ++token_;
    sentence.token_end = token_;
    return sentence;
  }

  // Sentences [begin, end) as passages of about equal size.
  void group(int64_t begin, int64_t end) {
    const int64_t total = tokens(begin, end);
    const int64_t parts =
        std::max<int64_t>(1, (total + options_.passage_tokens - 1) / options_.passage_tokens);
    const int64_t target = (total + parts - 1) / parts;
    int64_t first = begin;
    for (int64_t i = begin; i < end; ++i) {
      const bool full = tokens(first, i + 1) > options_.passage_tokens;
      const bool enough = parts > 1 && tokens(first, i) + sentence_at(i).tokens() / 2 >= target;
      if (i > first && (full || enough)) {
        add_passage(first, i);
        first = i;
      }
    }
    if (first < end) add_passage(first, end);
  }

  // Headings at the end of the document belong to the last passage where the budget allows.
  void finish(int64_t pending) {
    if (pending == count()) return;
    if (!out_.passages.empty()) {
      Passage& last = out_.passages.back();
      if (tokens(last.sentence_begin, count()) <= options_.passage_tokens) {
        last.sentence_end = count();
        last.bytes.end = out_.sentences.back().bytes.end;
        last.token_end = out_.sentences.back().token_end;
        return;
      }
    }
    group(pending, count());
  }

  void add_passage(int64_t begin, int64_t end) {
    Passage passage;
    passage.sentence_begin = begin;
    passage.sentence_end = end;
    passage.bytes = {sentence_at(begin).bytes.begin, sentence_at(end - 1).bytes.end};
    passage.token_begin = sentence_at(begin).token_begin;
    passage.token_end = sentence_at(end - 1).token_end;
    out_.passages.push_back(passage);
  }

  void number_lines() {
    int64_t line = 1;
    int64_t position = 0;
    const auto line_of = [&](int64_t byte) {
      line += std::count(text_.begin() + position, text_.begin() + byte, '\n');
      position = byte;
      return line;
    };
    for (Passage& passage : out_.passages) {
      passage.line_begin = line_of(passage.bytes.begin);
      passage.line_end = line_of(passage.bytes.end);
    }
  }

  std::string_view text_;
  Offsets offsets_;
  PassageOptions options_;
  Cutter cutter_;
  Segmentation out_;
  int64_t token_ = 0;  // first token that no sentence has taken
};

}  // namespace

std::vector<ByteRange> split_paragraphs(std::string_view text) {
  std::vector<ByteRange> paragraphs;
  const int64_t size = static_cast<int64_t>(text.size());
  int64_t begin = 0;
  const auto close = [&](int64_t end) {
    const ByteRange range = trim(text, {begin, end});
    if (range.begin < range.end) paragraphs.push_back(range);
  };
  for (int64_t line = 0; line < size;) {
    const size_t found = text.find_first_of("\n\f", static_cast<size_t>(line));
    const int64_t end = found == std::string_view::npos ? size : static_cast<int64_t>(found);
    const bool page = end < size && text[static_cast<size_t>(end)] == '\f';
    if (page || is_blank(text, {line, end})) {
      close(end);
      begin = end;
    }
    line = end + 1;
  }
  close(size);
  return paragraphs;
}

Segmentation segment(std::string_view text, std::span<const text::Offset> offsets,
                     const PassageOptions& options) {
  if (options.passage_tokens < kMinPassageTokens) {
    throw Error(ErrorCode::kInvalidArgument,
                "a passage needs a budget of at least " + std::to_string(kMinPassageTokens) +
                    " tokens, got " + std::to_string(options.passage_tokens),
                "passage tokens");
  }
  return Segmenter(text, offsets, options).run();
}

}  // namespace longformer::tasks
