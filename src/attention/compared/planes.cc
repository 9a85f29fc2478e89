#include "attention/compared/planes.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "base/limits.h"
#include "base/thread_pool.h"
#include "longformer/error.h"

namespace longformer::compared {

void check(const Shape& shape, const char* name) {
  const bool possible = shape.tokens >= 0 && shape.tokens <= kMaxSequence && shape.heads >= 1 &&
                        shape.head_dim >= 1 && shape.head_dim <= kMaxHeadDim && shape.reach >= 0 &&
                        shape.reach <= kMaxWindow && shape.dilation >= 1 &&
                        shape.dilation <= kMaxSequence;
  if (possible) return;
  throw Error(ErrorCode::kInvalidArgument,
              std::to_string(shape.tokens) + " tokens, " + std::to_string(shape.heads) +
                  " heads of " + std::to_string(shape.head_dim) + ", reach " +
                  std::to_string(shape.reach) + ", dilation " + std::to_string(shape.dilation) +
                  "; allowed are heads from 1, of 1 to " + std::to_string(kMaxHeadDim) +
                  ", dilation from 1, nothing negative",
              std::string(name) + " attention");
}

uint64_t bytes_of(std::initializer_list<double> floats) {
  double bytes = 0;
  for (const double count : floats) bytes += count * sizeof(float) + Arena::kAlignment;
  return bytes < 0x1p63 ? static_cast<uint64_t>(bytes) : std::numeric_limits<uint64_t>::max();
}

void split_into_planes(const Shape& shape, const float* from, int64_t rows, int64_t first,
                       float* planes, ThreadPool& pool) {
  const int64_t d = shape.head_dim;
  pool.run(shape.heads, [&](int64_t head, int) {
    float* plane = planes + head * rows * d;
    std::fill_n(plane, first * d, 0.0f);
    for (int64_t i = 0; i < shape.tokens; ++i) {
      std::memcpy(plane + (first + i) * d, from + (i * shape.heads + head) * d,
                  static_cast<size_t>(d) * sizeof(float));
    }
    std::fill_n(plane + (first + shape.tokens) * d, (rows - first - shape.tokens) * d, 0.0f);
  });
}

void write_rows(const Shape& shape, const float* from, int64_t head, int64_t row, int64_t count,
                float* out) {
  const int64_t d = shape.head_dim;
  for (int64_t r = 0; r < count; ++r) {
    std::memcpy(out + ((row + r) * shape.heads + head) * d, from + r * d,
                static_cast<size_t>(d) * sizeof(float));
  }
}

}  // namespace longformer::compared
