#include "cli/token_output.h"

#include <algorithm>
#include <utility>

namespace longformer::cli {
namespace {

struct Span {
  int32_t word;
  text::Offset* offset;
};

// The spans of one text, those of a word together: a position index is made once a word.
std::vector<Span> spans_of(std::vector<text::Encoding>& windows, int8_t sequence, bool is_split) {
  std::vector<Span> spans;
  for (text::Encoding& window : windows) {
    for (size_t i = 0; i < window.size(); ++i) {
      if (window.sequence[i] != sequence) continue;
      spans.push_back({is_split ? window.words[i] : 0, &window.offsets[i]});
    }
  }
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.word < b.word; });
  return spans;
}

void convert_text(std::vector<text::Encoding>& windows, int8_t sequence, const TextPart& part,
                  text::OffsetUnit unit) {
  const TokenSource& source = *part.source;
  const std::vector<Span> spans = spans_of(windows, sequence, source.is_split);
  std::vector<text::Offset> offsets;
  for (size_t begin = 0; begin < spans.size();) {
    const int32_t word = spans[begin].word;
    size_t end = begin;
    offsets.clear();
    for (; end < spans.size() && spans[end].word == word; ++end) {
      offsets.push_back(*spans[end].offset);
    }
    const std::string& text =
        source.is_split ? source.words[static_cast<size_t>(word)] : source.text;
    text::convert_offsets(text, unit, offsets);
    for (size_t i = begin; i < end; ++i) {
      *spans[i].offset = {offsets[i - begin].begin + part.before,
                          offsets[i - begin].end + part.before};
    }
    begin = end;
  }
}

template <class Values>
void append_list(const char* key, const Values& values, std::string& out) {
  out += ",\"";
  out += key;
  out += "\":[";
  bool first = true;
  for (const auto value : values) {
    if (!std::exchange(first, false)) out += ',';
    out += std::to_string(value);
  }
  out += ']';
}

}  // namespace

void convert_spans(std::vector<text::Encoding>& windows, const TextPart& first,
                   const TokenSource* second, text::OffsetUnit unit) {
  if (unit != text::OffsetUnit::kByte || first.before != 0) convert_text(windows, 0, first, unit);
  if (unit != text::OffsetUnit::kByte && second != nullptr) {
    convert_text(windows, 1, {second, 0}, unit);
  }
}

int64_t count_units(const std::string& text, text::OffsetUnit unit) {
  std::vector<text::Offset> end = {{0, static_cast<int64_t>(text.size())}};
  text::convert_offsets(text, unit, end);
  return end[0].end;
}

// Written directly: a large text has millions of tokens, each of which a tree of JSON values would
// hold in many times its size.
std::string window_json(const text::Tokenizer& tokenizer, const std::string& file, int64_t window,
                        const text::Encoding& encoding) {
  std::string out = "{\"file\":" + json_text(file) + ",\"window\":" + std::to_string(window);
  append_list("input_ids", encoding.ids, out);
  out += ",\"tokens\":[";
  for (size_t i = 0; i < encoding.size(); ++i) {
    if (i > 0) out += ',';
    out += json_text(tokenizer.token(encoding.ids[i]));
  }
  out += "],\"offsets\":[";
  for (size_t i = 0; i < encoding.size(); ++i) {
    if (i > 0) out += ',';
    out += '[' + std::to_string(encoding.offsets[i].begin) + ',' +
           std::to_string(encoding.offsets[i].end) + ']';
  }
  out += ']';
  append_list("type_ids", encoding.type_ids, out);
  append_list("sequence_ids", encoding.sequence, out);
  append_list("words", encoding.words, out);
  return out + '}';
}

void print_window(const text::Tokenizer& tokenizer, const std::string& title,
                  const text::Encoding& encoding, Output& output) {
  output.line(title + ": " + counted(static_cast<int64_t>(encoding.size()), "token"));
  for (size_t i = 0; i < encoding.size() && !output.closed(); ++i) {
    output.line(std::to_string(encoding.ids[i]) + "\t" + std::to_string(encoding.offsets[i].begin) +
                "\t" + std::to_string(encoding.offsets[i].end) + "\t" +
                printable(tokenizer.token(encoding.ids[i]), Lines::kJoin));
  }
}

}  // namespace longformer::cli
