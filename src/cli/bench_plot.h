// The figure of a benchmark as SVG: time left, memory right, both over the length, all axes
// logarithmic. Readable on light and dark; nothing is loaded from outside.
#pragma once

#include <string>
#include <vector>

#include "cli/bench_run.h"

namespace longformer::cli {

// `title` stands above the panels. Rows in any order; at least one.
std::string bench_svg(const std::vector<BenchRow>& rows, const std::string& title);

}  // namespace longformer::cli
