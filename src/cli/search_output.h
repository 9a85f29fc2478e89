// Search results for programs and for people.
#pragma once

#include <vector>

#include "tasks/ranking.h"

namespace longformer::cli {

enum class ResultFormat { kHuman, kJson, kCsv };

// On standard output, best first.
void print_results(const std::vector<tasks::SearchResult>& results, ResultFormat format);

}  // namespace longformer::cli
