#include "attention/probabilities.h"

#include <limits>

#include "attention/align.h"
#include "attention/tile.h"
#include "kernels/gemm.h"
#include "kernels/rowwise.h"
#include "tensor/dtype.h"

namespace longformer {
namespace {

std::span<const KeyRange> ranges_of(const AttentionPlan& plan, const QueryTile& tile) {
  return std::span(plan.ranges)
      .subspan(static_cast<size_t>(tile.first_range), static_cast<size_t>(tile.range_count));
}

// Calls body(begin, end) for the runs of counted keys of query r in the range.
template <typename Body>
void for_runs(const AttentionPlan& plan, const QueryTile& tile, const KeyRange& range, int64_t r,
              const Body& body) {
  const KeySpan span = keys_of_query(tile, range, r);
  int32_t begin = span.begin;
  for (const int32_t key : excluded_in(plan, tile, range)) {
    if (key < begin) continue;
    if (key >= span.end) break;
    if (begin < key) body(begin, key);
    begin = key + 1;
  }
  if (begin < span.end) body(begin, span.end);
}

void grow(std::vector<float>& buffer, int64_t size) {
  if (buffer.size() < static_cast<size_t>(size)) buffer.resize(static_cast<size_t>(size));
}

}  // namespace

TileKeys tile_keys(const AttentionPlan& plan, const QueryTile& tile) {
  TileKeys result;
  const std::vector<int32_t>& globals = global_columns(plan, tile);
  for (int64_t r = 0; r < tile.rows; ++r) {
    result.begin.push_back(static_cast<int64_t>(result.keys.size()));
    if (!query_counts(plan, tile, r)) continue;
    result.keys.insert(result.keys.end(), globals.begin(), globals.end());
    for (const KeyRange& range : ranges_of(plan, tile)) {
      for_runs(plan, tile, range, r, [&](int32_t begin, int32_t end) {
        for (int32_t key = begin; key < end; ++key) result.keys.push_back(key);
      });
    }
  }
  result.begin.push_back(static_cast<int64_t>(result.keys.size()));
  return result;
}

void softmax_row(int64_t count, float* scores) {
  if (count == 0) return;
  const int32_t begin = 0;
  const auto end = static_cast<int32_t>(count);
  float most = -std::numeric_limits<float>::infinity();
  float sum = 0;
  float correction = 0;
  kernels::softmax_strip(1, count, &begin, &end, scores, &most, &sum, &correction);
  kernels::normalize_rows(1, count, scores, &sum, count, scores);
}

template <typename T>
void tile_probabilities(const AttentionPlan& plan, const QueryTile& tile, const TileKeys& keys,
                        int64_t head_dim, const T* q, const T* k, float* weights,
                        ProbabilityScratch& scratch) {
  if (keys.keys.empty()) return;
  const int64_t rows = round_up(tile.rows, kRowAlign);
  std::vector<int64_t> next(keys.begin.begin(), keys.begin.end() - 1);  // of each query
  const auto take = [&](int64_t r, int64_t width, int64_t first, int64_t count) {
    std::copy_n(scratch.scores.data() + r * width + first, count,
                weights + next[static_cast<size_t>(r)]);
    next[static_cast<size_t>(r)] += count;
  };
  const std::span<const int32_t> globals(global_columns(plan, tile));
  for (size_t first = 0; first < globals.size(); first += kStripKeys) {
    const auto part = globals.subspan(first, std::min<size_t>(kStripKeys, globals.size() - first));
    const auto count = static_cast<int64_t>(part.size());
    const int64_t width = round_up(count, kGatherAlign);
    scratch.gathered.resize(static_cast<size_t>(width * head_dim) * sizeof(T));
    T* gathered = reinterpret_cast<T*>(scratch.gathered.data());
    gather_rows(part, width, head_dim, k, gathered);
    grow(scratch.scores, rows * width);
    kernels::matmul_nt(rows, width, head_dim, q, gathered, scratch.scores.data());
    for (int64_t r = 0; r < tile.rows; ++r) {
      if (query_counts(plan, tile, r)) take(r, width, 0, count);
    }
  }
  for (const KeyRange& range : ranges_of(plan, tile)) {
    const int64_t width = range.end - range.begin;
    grow(scratch.scores, rows * width);
    kernels::matmul_nt(rows, width, head_dim, q, k + range.begin * head_dim, scratch.scores.data());
    for (int64_t r = 0; r < tile.rows; ++r) {
      if (!query_counts(plan, tile, r)) continue;
      for_runs(plan, tile, range, r, [&](int32_t begin, int32_t end) {
        take(r, width, begin - range.begin, end - begin);
      });
    }
  }
  for (int64_t r = 0; r < tile.rows; ++r) {
    const int64_t begin = keys.begin[static_cast<size_t>(r)];
    softmax_row(keys.begin[static_cast<size_t>(r) + 1] - begin, weights + begin);
  }
}

template void tile_probabilities(const AttentionPlan&, const QueryTile&, const TileKeys&, int64_t,
                                 const float*, const float*, float*, ProbabilityScratch&);
template void tile_probabilities(const AttentionPlan&, const QueryTile&, const TileKeys&, int64_t,
                                 const BFloat16*, const BFloat16*, float*, ProbabilityScratch&);

}  // namespace longformer
