#include "ops/product_rate.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/gemm.h"
#include "kernels/rowwise.h"
#include "tensor/arena.h"

namespace longformer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kRows = 128, kOut = 3072, kIn = 768;
constexpr int kProducts = 4;  // of a round, one behind the other
constexpr double kFlop = kProducts * 2.0 * kRows * kOut * kIn;

}  // namespace

double product_rate(DType type, ThreadPool& pool, int rounds) {
  if (!kernels::supports(type)) return 0;
  const auto threads = static_cast<size_t>(pool.threads());
  const std::vector<float> weight(kOut * kIn, 0.5f), x(kRows * kIn, 0.25f);
  Arena arena;
  arena.reset(Arena::bytes_for(kRows * kIn) + threads * Arena::bytes_for(kRows * kOut));
  std::vector<float> scales(kRows);
  std::vector<int32_t> zeros(kRows);
  kernels::PackedMatrix packed;
  kernels::RowsBuffer rows;
  pool.run(1, [&](int64_t, int) {
    packed = kernels::PackedMatrix::pack(weight.data(), kOut, kIn, type);
    rows = {packed.row_type(), arena.floats(kRows * kIn), kIn, scales.data(), zeros.data()};
    kernels::to_rows(kRows, kIn, x.data(), rows);
  });
  std::vector<void*> sums;
  for (size_t t = 0; t < threads; ++t) sums.push_back(arena.floats(kRows * kOut));
  std::vector<double> rates(threads);
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    std::fill(rates.begin(), rates.end(), 0.0);
    pool.run(pool.threads(), [&](int64_t index, int worker) {
      const auto start = Clock::now();
      for (int i = 0; i < kProducts; ++i) {
        kernels::linear(rows, kRows, packed, sums[static_cast<size_t>(worker)]);
      }
      const std::chrono::duration<double> seconds = Clock::now() - start;
      rates[static_cast<size_t>(index)] = kFlop / seconds.count() / 1e9;
    });
    double sum = 0;
    for (const double rate : rates) sum += rate;
    best = std::max(best, sum / pool.threads());
  }
  return best;
}

}  // namespace longformer
