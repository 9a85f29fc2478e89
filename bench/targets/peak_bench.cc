// The most that this processor computes, a core, with all cores at work: the denominator of the
// targets that are shares of the peak. Two measurements, GFLOP/s (int8: GOP/s), best of several:
//   registers  multiply-add instructions alone, in enough independent chains to hide their latency
//   gemm       the products of the linear layers (128 rows, 3072 x 768) as the engine calls them
// The peak is the larger: where a product beats the loop (a matrix unit), the loop is not the
// limit. One JSON line: {"threads": 2, "f32": {"registers": …, "gemm": …, "peak": …}, "bf16": …};
// a precision that the processor or the engine lacks is absent.
//
//   peak_bench [threads]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/isa.h"
#include "ops/product_rate.h"
#include "tensor/dtype.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

using namespace longformer;
using Clock = std::chrono::steady_clock;

constexpr int64_t kSteps = 250'000;  // of one register loop: a few ms
constexpr int kRounds = 40;          // each ends for all threads at nearly the same time

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

#if defined(__x86_64__)
// Each returns something that depends on every chain, so that none is left out. 24 chains: four
// cycles of latency times two or three units, and the registers hold them. Unrolled by pragma, or
// the chains would live in memory.
constexpr int kChains = 24;

__attribute__((target("avx512f"))) float f32_avx512(int64_t steps) {
  const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  __m512 chain[kChains];
#pragma GCC unroll 24
  for (int c = 0; c < kChains; ++c) chain[c] = _mm512_set1_ps(static_cast<float>(c));
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 24
    for (int c = 0; c < kChains; ++c) chain[c] = _mm512_fmadd_ps(chain[c], a, b);
  }
  __m512 sum = chain[0];
#pragma GCC unroll 24
  for (int c = 1; c < kChains; ++c) sum = _mm512_add_ps(sum, chain[c]);
  return _mm512_cvtss_f32(sum);
}

// 16 registers: 12 chains.
__attribute__((target("avx2,fma"))) float f32_avx2(int64_t steps) {
  const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
  __m256 chain[kChains / 2];
#pragma GCC unroll 12
  for (int c = 0; c < kChains / 2; ++c) chain[c] = _mm256_set1_ps(static_cast<float>(c));
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains / 2; ++c) chain[c] = _mm256_fmadd_ps(chain[c], a, b);
  }
  __m256 sum = chain[0];
#pragma GCC unroll 12
  for (int c = 1; c < kChains / 2; ++c) sum = _mm256_add_ps(sum, chain[c]);
  return _mm256_cvtss_f32(sum);
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) float bf16_avx512(int64_t steps) {
  const __m512bh a = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5f), _mm512_set1_ps(0.25f));
  __m512 chain[kChains];
#pragma GCC unroll 24
  for (int c = 0; c < kChains; ++c) chain[c] = _mm512_set1_ps(static_cast<float>(c));
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 24
    for (int c = 0; c < kChains; ++c) chain[c] = _mm512_dpbf16_ps(chain[c], a, a);
  }
  __m512 sum = chain[0];
#pragma GCC unroll 24
  for (int c = 1; c < kChains; ++c) sum = _mm512_add_ps(sum, chain[c]);
  return _mm512_cvtss_f32(sum);
}

__attribute__((target("avx512f,avx512vnni"))) float int8_avx512(int64_t steps) {
  const __m512i a = _mm512_set1_epi8(3);
  __m512i chain[kChains];
#pragma GCC unroll 24
  for (int c = 0; c < kChains; ++c) chain[c] = _mm512_set1_epi32(c);
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 24
    for (int c = 0; c < kChains; ++c) {
      // As the intrinsic the compiler copies each chain around it, which halves the rate.
      asm("vpdpbusd %1, %1, %0" : "+v"(chain[c]) : "v"(a));
    }
  }
  __m512i sum = chain[0];
#pragma GCC unroll 24
  for (int c = 1; c < kChains; ++c) sum = _mm512_add_epi32(sum, chain[c]);
  int32_t lanes[16];
  _mm512_storeu_si512(lanes, sum);
  return static_cast<float>(lanes[0]);
}
#endif

struct Loop {
  float (*run)(int64_t steps) = nullptr;
  double flop = 0;  // of one step
};

Loop register_loop(DType type) {
#if defined(__x86_64__)
  if (type == DType::kF32 && __builtin_cpu_supports("avx512f"))
    return {f32_avx512, kChains * 16 * 2.0};
  if (type == DType::kF32 && __builtin_cpu_supports("avx2"))
    return {f32_avx2, kChains / 2 * 8 * 2.0};
  if (type == DType::kBF16 && __builtin_cpu_supports("avx512bf16"))
    return {bf16_avx512, kChains * 32 * 2.0};
  if (type == DType::kI8 && __builtin_cpu_supports("avx512vnni"))
    return {int8_avx512, kChains * 64 * 2.0};
#endif
  (void)type;
  return {};
}

// GFLOP/s a core: `work` runs on all threads of the pool at once, and the round with the best mean
// counts.
double best_rate(ThreadPool& pool, double flop, const std::function<void(int worker)>& work) {
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> rates(static_cast<size_t>(pool.threads()));
    pool.run(pool.threads(), [&](int64_t index, int worker) {
      const auto start = Clock::now();
      work(worker);
      rates[static_cast<size_t>(index)] = flop / seconds_since(start) / 1e9;
    });
    double sum = 0;
    for (const double rate : rates) sum += rate;
    best = std::max(best, sum / pool.threads());
  }
  return best;
}

double register_rate(DType type, ThreadPool& pool) {
  const Loop loop = register_loop(type);
  if (loop.run == nullptr) return 0;
  std::vector<float> kept(static_cast<size_t>(pool.threads()));
  const double rate = best_rate(pool, loop.flop * static_cast<double>(kSteps), [&](int worker) {
    kept[static_cast<size_t>(worker)] += loop.run(kSteps);
  });
  volatile float sink = kept[0];  // or the loops could be left out
  (void)sink;
  return rate;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    kernels::apply_isa_limit_from_environment();
    ThreadPool pool(argc > 1 ? std::atoi(argv[1]) : 0);
    nlohmann::ordered_json line = {{"threads", pool.threads()}};
    const std::pair<const char*, DType> types[] = {
        {"f32", DType::kF32}, {"bf16", DType::kBF16}, {"int8", DType::kI8}};
    for (const auto& [name, type] : types) {
      const double registers = register_rate(type, pool);
      const double gemm = product_rate(type, pool, kRounds);
      if (registers == 0 && gemm == 0) continue;
      line[name] = {{"registers", registers}, {"gemm", gemm}, {"peak", std::max(registers, gemm)}};
    }
    std::printf("%s\n", line.dump().c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peak_bench: %s\n", error.what());
    return 1;
  }
}
