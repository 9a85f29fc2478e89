// Tagged texts as annotation tools and training scripts read them.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cli/line_files.h"
#include "tasks/tag.h"

namespace longformer::cli {

// A word and its label a line, parted by a tab; a blank line behind each sentence. A text begins
// with a -DOCSTART- line and is cut into sentences; given words are one sentence. White space
// inside a word is written as _.
std::string conll_lines(const tasks::TagInput& input, std::span<const std::string> labels);

// Lines of an .ann file: T1, T2, …, type and code points, text. An annotation that contains line
// breaks (or tabs, which part columns) is written in fragments around them, as brat demands;
// without white space at their ends.
std::string brat_lines(const std::string& text, std::span<const tasks::TextEntity> entities);
// A type that brat can read: _ for all but ASCII letters, digits, hyphens and what is not ASCII.
std::string brat_type(const std::string& name);

// Records of these formats carry text: {"lines"} for a CoNLL file (empty path: standard output),
// {"name", "text", "lines"} for the NAME.txt and NAME.ann of a directory, which also gets an
// annotation.conf that names the types.
std::unique_ptr<RecordSink> conll_sink(const std::string& path);
std::unique_ptr<RecordSink> brat_sink(const std::string& directory,
                                      const std::set<std::string>& types);
// What the files of an input are called: its own name without folders and extension, "line-7", or
// "text".
std::string brat_name(const std::string& file, std::optional<int64_t> line);

}  // namespace longformer::cli
