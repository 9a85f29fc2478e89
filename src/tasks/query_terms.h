// What of a query counts by its letters: the words for BM25, and the identifiers and quoted phrases
// that a passage may contain verbatim.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longformer::tasks {

inline constexpr size_t kMaxQueryWords = 128;  // distinct ones that count; the first are taken
inline constexpr size_t kMaxNeedles = 16;      // the same for identifiers and phrases

// Something that passages are looked up for letter by letter. In `text`, one space stands for any
// run of white space.
struct Needle {
  std::string text;
  std::string expression;  // FTS5: passages that contain it match this, others may too
  // Has letters beyond ASCII: in scripts without spaces the word index holds whole runs of them, so
  // where nothing matches the texts themselves have to be looked through.
  bool other_script = false;
};

struct QueryTerms {
  std::vector<std::string> words;  // FTS5 strings, one a word
  std::vector<Needle> needles;
};

// Never fails; any bytes may be in the query, and none of them reaches FTS5 but as a quoted string.
//
// A phrase is what stands between two straight or two typographic double quotes.
//
// An identifier is a word of at least two characters, without the punctuation around it, that
//   has an underscore, "::", "->" or a dot between letters or digits ("os.path"; not "e.g.")
//   or has letters and digits, or is a number of three digits or more
//   or has a capital behind a small letter ("getValue")
//   or is all capitals ("EINTR"), unless the whole query is
//   or begins with "-" or "$" and a letter follows ("--color", "$HOME")
//   or is a path ("/etc/fstab", "~/notes", "a/b/c"), or ends in "++" or "#" ("C++").
QueryTerms parse_query(std::string_view query);

// Whether `text` has the needle, with no letter, digit or underscore of ASCII directly before or
// behind it where its own first or last character is one. An option ("-x") ends at "-" neither.
bool contains(std::string_view text, const Needle& needle);

// The longest part of the needle without white space.
std::string_view longest_piece(const Needle& needle);

}  // namespace longformer::tasks
