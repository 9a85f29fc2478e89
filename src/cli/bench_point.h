// One point of a benchmark: an implementation at a length. Each is measured in a process of its own
// (bench_run.h), so that no point sees the memory or the warm caches of another; this is what that
// process does.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "cli/output.h"

namespace longformer::cli {

// The names of the implementations. kOurs: this engine; over a model with the windows that its
// files have.
inline constexpr const char* kOurs = "longformer";
inline constexpr const char* kLoop = "loop";
inline constexpr const char* kChunks = "chunks";
inline constexpr const char* kFull = "full";
inline constexpr const char* kReference = "reference";

struct BenchPoint {
  std::string implementation;
  int64_t length = 0;  // tokens
  int threads = 1;
  std::string model;  // directory; empty: attention alone, with the shape below
  int64_t window = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t dilation = 1;
};

struct BenchResult {
  double seconds = 0;       // of one call, the median of several where it is short
  uint64_t peak_bytes = 0;  // resident at the highest during the first call, above what was before
  double magnitude = 0;     // mean of |output|: whether two implementations computed the same
  bool peak_is_of_the_call = true;  // false: the system does not let the peak be reset
};

// Both directions of what the two processes tell each other.
Json to_json(const BenchPoint& point);
BenchPoint point_from_json(const std::string& text);
Json to_json(const BenchResult& result);
BenchResult result_from_json(const std::string& text);

// Measures in this process: every implementation but the reference.
BenchResult measure(const BenchPoint& point);

// Bytes that the process of a point will need besides a model's weights, by the definition of the
// implementation (the reference's by measurement). 2^64 - 1: more than can be counted.
uint64_t predicted_bytes(const BenchPoint& point);

}  // namespace longformer::cli
