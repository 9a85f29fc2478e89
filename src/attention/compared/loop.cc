#include <algorithm>
#include <limits>
#include <vector>

#include "attention/compared/planes.h"
#include "base/thread_pool.h"
#include "kernels/rowwise.h"

namespace longformer::compared {
namespace {

constexpr int64_t kTaskQueries = 64;

// The counted keys of one query: first, first + dilation, …
struct Keys {
  int64_t first = 0;
  int64_t count = 0;
};

Keys keys_of(const Shape& shape, int64_t query) {
  const int64_t before = std::min(shape.reach, query / shape.dilation);
  const int64_t behind = std::min(shape.reach, (shape.tokens - 1 - query) / shape.dilation);
  return {query - before * shape.dilation, before + 1 + behind};
}

int64_t longest_row(const Shape& shape) {
  return std::min(2 * shape.reach + 1, std::max<int64_t>(shape.tokens, 1));
}

void attend(const Shape& shape, int64_t query, int64_t head, const float* q, const float* k,
            const float* v, float* scores, float* out) {
  const int64_t d = shape.head_dim;
  const auto row = [&](int64_t token) { return (token * shape.heads + head) * d; };
  const Keys keys = keys_of(shape, query);
  for (int64_t s = 0; s < keys.count; ++s) {
    scores[s] = kernels::dot(d, q + row(query), k + row(keys.first + s * shape.dilation));
  }
  const int32_t begin = 0, end = static_cast<int32_t>(keys.count);
  float maximum = -std::numeric_limits<float>::infinity(), sum = 0, correction = 0;
  kernels::softmax_strip(1, keys.count, &begin, &end, scores, &maximum, &sum, &correction);
  float* const result = out + row(query);
  std::fill_n(result, d, 0.0f);
  for (int64_t s = 0; s < keys.count; ++s) {
    kernels::add_scaled(d, scores[s] / sum, v + row(keys.first + s * shape.dilation), result);
  }
}

}  // namespace

void loop_attention(const Shape& shape, const float* q, const float* k, const float* v, float* out,
                    ThreadPool& pool) {
  check(shape, "loop");
  std::vector<std::vector<float>> scores(
      static_cast<size_t>(pool.threads()),
      std::vector<float>(static_cast<size_t>(longest_row(shape))));
  const int64_t blocks = (shape.tokens + kTaskQueries - 1) / kTaskQueries;
  pool.run(blocks * shape.heads, [&](int64_t task, int worker) {
    const int64_t head = task % shape.heads;
    const int64_t first = task / shape.heads * kTaskQueries;
    const int64_t end = std::min(shape.tokens, first + kTaskQueries);
    for (int64_t query = first; query < end; ++query) {
      attend(shape, query, head, q, k, v, scores[static_cast<size_t>(worker)].data(), out);
    }
  });
}

uint64_t loop_bytes(const Shape& shape, int threads) {
  return bytes_of({static_cast<double>(threads) * static_cast<double>(longest_row(shape))});
}

}  // namespace longformer::compared
