// Runs the points of a benchmark, each in a process of its own, in turn: every implementation once,
// then every one again. Points that would not fit into memory, or would take too long by the length
// before, are left out with a notice.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/bench_point.h"

namespace longformer::cli {

struct BenchPlan {
  std::vector<std::string> implementations;  // in the order of table and plot
  std::vector<int64_t> lengths;              // increasing
  BenchPoint point;                          // what all points share
  int repeats = 3;
  double limit_seconds = 0;    // longest call
  uint64_t weights_bytes = 0;  // of the model's files
  std::string python;          // of the reference
};

// All repeats of one point.
struct BenchRow {
  BenchPoint point;
  std::vector<double> seconds;  // increasing
  uint64_t peak_bytes = 0;      // the highest

  double median() const;
};

// Versions of what the reference stands on, "Transformers 4.57.6, PyTorch 2.13.0". Throws kNotFound
// saying what to install where `python` is missing or cannot import them.
std::string reference_versions(const std::string& python);

// Hands over the rows of each length as soon as they are complete, one call a length that has any.
// Throws kInternal where two implementations that should agree computed different outputs.
void run_bench(const BenchPlan& plan,
               const std::function<void(const std::vector<BenchRow>& rows)>& rows_of_length);

// "1.9 ms", "12.3 s"; "3.1 MB", "12.9 GB": three digits.
std::string duration_text(double seconds);
std::string bytes_text(double bytes);

}  // namespace longformer::cli
