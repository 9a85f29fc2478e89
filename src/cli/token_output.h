// How `tokenize` prints tokens: spans in the asked unit, a JSON object or a table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output.h"
#include "text/tokenizer.h"

namespace longformer::cli {

// One text of a document, or its words.
struct TokenSource {
  std::string text;
  std::vector<std::string> words;
  bool is_split = false;
  text::TextInput input() const {
    return is_split ? text::TextInput(std::span<const std::string>(words)) : text::TextInput(text);
  }
};

// A text whose first part is not the beginning of its file: what came before, in the unit.
struct TextPart {
  const TokenSource* source = nullptr;
  int64_t before = 0;
};

// Turns the spans of all windows from bytes to `unit`. `second` may be null.
void convert_spans(std::vector<text::Encoding>& windows, const TextPart& first,
                   const TokenSource* second, text::OffsetUnit unit);
// Length of a text.
int64_t count_units(const std::string& text, text::OffsetUnit unit);

// `window`: its number in the file, from 0.
std::string window_json(const text::Tokenizer& tokenizer, const std::string& file, int64_t window,
                        const text::Encoding& encoding);
// Lines: the file and its number of tokens; then id, begin, end and the token of each.
void print_window(const text::Tokenizer& tokenizer, const std::string& title,
                  const text::Encoding& encoding, Output& output);

}  // namespace longformer::cli
