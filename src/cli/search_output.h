// Search results for programs and for people.
#pragma once

#include <string>
#include <vector>

#include "cli/output.h"
#include "tasks/ranking.h"

namespace longformer::cli {

enum class ResultFormat { kHuman, kJson, kCsv };

// On standard output, best first.
void print_results(const std::vector<tasks::SearchResult>& results, ResultFormat format);

// Where a record's range lies, for a person: "notes.txt:12-14", "paper.pdf p. 3",
// "page.html#install", and the headings above it. Of the fields that `search` prints: file, kind,
// lines, pages, anchor, headings.
std::string human_place(const Json& record);

}  // namespace longformer::cli
