// Sentences of one paragraph.
#pragma once

#include <string_view>
#include <vector>

#include "tasks/scan.h"

namespace longformer::tasks {

// Ranges of text[paragraph], increasing, without white space at their ends; every other byte of the
// paragraph is white space. Linear in the length.
//
// A sentence ends
//   - at . ! ? … and their relatives in other scripts when white space or the end follows (closing
//   quotes and brackets
//     belong to the sentence), but not after an abbreviation ("e.g.", "Fig."), an initial ("J."),
//     the number of a list item ("2.") or before a lower-case letter where the mark stands inside a
//     quotation or is part of an acronym;
//   - at 。！？ and their half-width forms whatever follows;
//   - before a line that starts a list item ("- ", "* ", "3) ", an indented "-x") or a Markdown
//   heading, and after such a heading;
//   - after a short line whose next line is indented deeper: a title or a term above its text.
std::vector<ByteRange> split_sentences(std::string_view text, ByteRange paragraph);

}  // namespace longformer::tasks
