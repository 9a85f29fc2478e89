// Text as Python sees it, for the rules of evaluation scripts that are written in terms of
// str.lower(), str.split() and re. Valid UTF-8 in and out.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longformer::text::unicode {

// str.lower(): full mappings; a capital sigma at the end of a word becomes a final one.
std::string python_lower(std::string_view text);

// str.split(): the pieces between white space, none of them empty. They point into `text`.
std::vector<std::string_view> python_split(std::string_view text);

// Each word (a run of \w as long as it can be) that is one of `words` becomes one space: what
// re.sub(r"\b(…|…)\b", " ", text) does for alternatives that are words.
std::string python_blank_words(std::string_view text, std::span<const std::string_view> words);

}  // namespace longformer::text::unicode
