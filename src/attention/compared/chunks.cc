#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "attention/align.h"
#include "attention/compared/planes.h"
#include "base/thread_pool.h"
#include "kernels/gemm.h"
#include "kernels/rowwise.h"
#include "longformer/error.h"

namespace longformer::compared {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

void check_chunks(const Shape& shape) {
  check(shape, "chunks");
  if (shape.dilation == 1 && shape.reach >= 1) return;
  throw Error(ErrorCode::kInvalidArgument,
              "reach " + std::to_string(shape.reach) + ", dilation " +
                  std::to_string(shape.dilation) +
                  "; chunks need a reach of at least 1 and have no dilation",
              "chunks attention");
}

// Sizes of the scheme. A block is half a chunk: `w` tokens.
struct Sizes {
  explicit Sizes(const Shape& shape)
      : w(shape.reach),
        rows(std::max(round_up(shape.tokens, 2 * shape.reach), 2 * shape.reach)),
        blocks(rows / shape.reach),
        chunks(blocks - 1),
        chunk(4 * shape.reach * shape.reach),
        band(2 * shape.reach + 1) {}
  int64_t w;
  int64_t rows;    // tokens after padding
  int64_t blocks;  // of a head
  int64_t chunks;  // of a head: blocks c and c + 1
  int64_t chunk;   // scores of one
  int64_t band;    // scores of one query
};

class Chunks {
 public:
  Chunks(const Shape& shape, ThreadPool& pool) : shape_(shape), sizes_(shape), pool_(pool) {}

  // Queries times keys of every chunk, then the useful scores of each query side by side.
  void score(const float* q, const float* k) {
    const int64_t d = shape_.head_dim, plane = shape_.heads * sizes_.rows * d;
    Arena inputs, chunk_memory;
    inputs.reset(2 * Arena::bytes_for(plane));
    float *const queries = inputs.floats(plane), *const keys = inputs.floats(plane);
    split_into_planes(shape_, q, sizes_.rows, 0, queries, pool_);
    split_into_planes(shape_, k, sizes_.rows, 0, keys, pool_);
    const int64_t count = shape_.heads * sizes_.chunks;
    chunk_memory.reset(Arena::bytes_for(count * sizes_.chunk));
    float* const scores = chunk_memory.floats(count * sizes_.chunk);
    pool_.run(count, [&](int64_t index, int) {
      const int64_t head = index / sizes_.chunks, first = index % sizes_.chunks * sizes_.w;
      const int64_t row = (head * sizes_.rows + first) * d;
      kernels::matmul_nt(2 * sizes_.w, 2 * sizes_.w, d, queries + row, keys + row,
                         scores + index * sizes_.chunk);
    });
    const int64_t floats = shape_.heads * sizes_.rows * sizes_.band;
    band_memory_.reset(Arena::bytes_for(floats));
    bands_ = band_memory_.floats(floats);
    each_block([&](int64_t head, int64_t block, int) {
      for (int64_t r = 0; r < sizes_.w; ++r) copy_band(scores, head, block, r);
    });
  }

  void softmax() {
    each_block([&](int64_t head, int64_t block, int) {
      for (int64_t r = 0; r < sizes_.w; ++r) {
        float* const row = band(head, block * sizes_.w + r);
        const int32_t begin = 0, end = static_cast<int32_t>(sizes_.band);
        float maximum = kNothing, sum = 0, correction = 0;
        kernels::softmax_strip(1, sizes_.band, &begin, &end, row, &maximum, &sum, &correction);
        kernels::normalize_rows(1, sizes_.band, row, &sum, sizes_.band, row);
      }
    });
  }

  // Bands become rows over the three blocks that a block of queries sees.
  void multiply(const float* v, float* out) {
    const int64_t d = shape_.head_dim, w = sizes_.w, rows = sizes_.rows + 2 * w;
    Arena memory;
    const int64_t probabilities = shape_.heads * sizes_.rows * 3 * w;
    memory.reset(Arena::bytes_for(shape_.heads * rows * d) + Arena::bytes_for(probabilities) +
                 static_cast<size_t>(pool_.threads()) * Arena::bytes_for(w * d));
    float* const values = memory.floats(shape_.heads * rows * d);
    float* const wide = memory.floats(probabilities);
    std::vector<float*> results;
    for (int t = 0; t < pool_.threads(); ++t) results.push_back(memory.floats(w * d));
    split_into_planes(shape_, v, rows, w, values, pool_);
    each_block([&](int64_t head, int64_t block, int) {
      for (int64_t r = 0; r < w; ++r) {
        const int64_t query = block * w + r;
        float* const row = wide + (head * sizes_.rows + query) * 3 * w;
        std::fill_n(row, 3 * w, 0.0f);
        std::memcpy(row + r, band(head, query), static_cast<size_t>(sizes_.band) * sizeof(float));
      }
    });
    band_memory_ = Arena();
    each_block([&](int64_t head, int64_t block, int worker) {
      const int64_t first = block * w, count = std::clamp<int64_t>(shape_.tokens - first, 0, w);
      float* const result = results[static_cast<size_t>(worker)];
      kernels::matmul_nn(w, d, 3 * w, wide + (head * sizes_.rows + first) * 3 * w,
                         values + (head * rows + first) * d, result);
      write_rows(shape_, result, head, first, count, out);
    });
  }

 private:
  template <typename Compute>
  void each_block(const Compute& compute) {
    pool_.run(shape_.heads * sizes_.blocks, [&](int64_t index, int worker) {
      compute(index / sizes_.blocks, index % sizes_.blocks, worker);
    });
  }

  float* band(int64_t head, int64_t query) {
    return bands_ + (head * sizes_.rows + query) * sizes_.band;
  }

  // Scores of query r of a block with the keys from w in front of it to w behind it. The first half
  // of a chunk's queries has the keys behind, the second half those in front.
  void copy_band(const float* scores, int64_t head, int64_t block, int64_t r) {
    const int64_t w = sizes_.w, query = block * w + r;
    float* const row = band(head, query);
    const auto chunk = [&](int64_t c, int64_t chunk_row) {
      return scores + (head * sizes_.chunks + c) * sizes_.chunk + chunk_row * 2 * w;
    };
    const auto copy = [](const float* from, int64_t count, float* to) {
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
    };
    if (block < sizes_.chunks) {
      copy(chunk(block, r) + r, w + 1, row + w);
    } else {  // the last block has no chunk of its own: what lies behind it is outside the text
      copy(chunk(block - 1, w + r) + w + r, w - r, row + w);
    }
    if (block > 0) {
      copy(chunk(block - 1, w + r) + r, w, row);
    } else {
      copy(chunk(0, r), r, row + w - r);
    }
    const int64_t first = std::max<int64_t>(0, w - query);  // of the band, inside the text
    const int64_t end = std::max<int64_t>(0, std::min(sizes_.band, shape_.tokens - query + w));
    std::fill_n(row, std::min(first, sizes_.band), kNothing);
    std::fill_n(row + end, sizes_.band - end, kNothing);
  }

  const Shape& shape_;
  const Sizes sizes_;
  ThreadPool& pool_;
  Arena band_memory_;
  float* bands_ = nullptr;  // [heads][rows][band]
};

}  // namespace

void chunks_attention(const Shape& shape, const float* q, const float* k, const float* v,
                      float* out, ThreadPool& pool) {
  check_chunks(shape);
  if (shape.tokens == 0) return;
  Chunks chunks(shape, pool);
  chunks.score(q, k);
  chunks.softmax();
  chunks.multiply(v, out);
}

uint64_t chunks_bytes(const Shape& shape) {
  check_chunks(shape);
  const Sizes sizes(shape);
  const double heads = static_cast<double>(shape.heads);
  const double rows = heads * static_cast<double>(sizes.rows);
  const double plane = rows * static_cast<double>(shape.head_dim);
  const double bands = rows * static_cast<double>(sizes.band);
  const double scores =
      heads * static_cast<double>(sizes.chunks) * static_cast<double>(sizes.chunk);
  const uint64_t scoring = bytes_of({2 * plane, scores, bands});
  const uint64_t multiplying =
      bytes_of({1.5 * plane, 3 * static_cast<double>(sizes.w) * rows, bands});
  return std::max(scoring, multiplying);
}

}  // namespace longformer::compared
