// Speed of the matrix products and of the row-wise kernels on one core. GFLOP/s are useful FLOP;
// ns_per_element is time divided by the elements of the matrix. Give it a quiet machine:
// kernels_bench --benchmark_repetitions=5.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/gemm.h"
#include "kernels/isa.h"
#include "kernels/rowwise.h"

namespace longformer::kernels {
namespace {

std::vector<float> random_values(int64_t count) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(generator);
  return values;
}

void report_flop(benchmark::State& state, int64_t m, int64_t n, int64_t k) {
  state.counters["FLOP/s"] = benchmark::Counter(2.0 * static_cast<double>(m * n * k),
                                                benchmark::Counter::kIsIterationInvariantRate);
}

void report_elements(benchmark::State& state, int64_t elements) {
  state.counters["s_per_element"] = benchmark::Counter(
      static_cast<double>(elements),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// rows, out_features, in_features
void linear_layer(benchmark::State& state) {
  const int64_t rows = state.range(0), out = state.range(1), in = state.range(2);
  const auto weight = random_values(out * in), x = random_values(rows * in);
  std::vector<float> y(static_cast<size_t>(rows * out));
  const PackedMatrix packed = PackedMatrix::pack(weight.data(), out, in);
  for (auto _ : state) linear(x.data(), rows, packed, y.data());
  report_flop(state, rows, out, in);
}
BENCHMARK(linear_layer)
    ->ArgsProduct({{16, 64, 128}, {768}, {768, 3072}})
    ->ArgsProduct({{16, 64, 128}, {3072}, {768}})
    ->ArgsProduct({{128}, {384}, {384, 1536}})
    ->ArgsProduct({{128}, {1536}, {384}});

void pack_weights(benchmark::State& state) {
  const int64_t out = state.range(0), in = state.range(1);
  const auto weight = random_values(out * in);
  for (auto _ : state) benchmark::DoNotOptimize(PackedMatrix::pack(weight.data(), out, in));
  report_elements(state, out * in);
}
BENCHMARK(pack_weights)->Args({3072, 768});

// query rows, keys, head_dim
void queries_times_keys(benchmark::State& state) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  const auto a = random_values(m * k), b = random_values(n * k);
  std::vector<float> c(static_cast<size_t>(m * n));
  for (auto _ : state) matmul_nt(m, n, k, a.data(), b.data(), c.data());
  report_flop(state, m, n, k);
}
BENCHMARK(queries_times_keys)->ArgsProduct({{32, 64, 128}, {576}, {32, 64}});

void probabilities_times_values(benchmark::State& state) {
  const int64_t m = state.range(0), k = state.range(1), n = state.range(2);
  const auto a = random_values(m * k), b = random_values(n * k);
  std::vector<float> c(static_cast<size_t>(m * n));
  for (auto _ : state) matmul_nn(m, n, k, a.data(), b.data(), c.data());
  report_flop(state, m, n, k);
}
BENCHMARK(probabilities_times_values)->ArgsProduct({{8, 32, 64, 128}, {64, 576}, {32, 64}});

// bf16 probabilities: 1
void softmax(benchmark::State& state) {
  const int64_t rows = 64, width = state.range(0);
  const auto scores = random_values(rows * width);
  std::vector<float> work = scores, correction(rows);
  std::vector<BFloat16> probabilities(scores.size());
  const std::vector<int32_t> begin(rows, 3);
  const std::vector<int32_t> end(rows, static_cast<int32_t>(width - 3));
  for (auto _ : state) {
    std::vector<float> maximum(rows, -1e30f), sum(rows, 0.0f);
    if (state.range(1) != 0) {
      softmax_strip(rows, width, begin.data(), end.data(), work.data(), maximum.data(), sum.data(),
                    correction.data(), probabilities.data());
    } else {
      softmax_strip(rows, width, begin.data(), end.data(), work.data(), maximum.data(), sum.data(),
                    correction.data());
    }
    benchmark::DoNotOptimize(sum.data());
  }
  report_elements(state, rows * width);
}
BENCHMARK(softmax)->Args({576, 0})->Args({576, 1});

// Sums of a product, f32 or s32, and memory for rows of any type.
struct Tile {
  Tile(int64_t rows, int64_t cols, DType row_type, bool integers)
      : type(row_type),
        stride(cols),
        f32(random_values(rows * cols)),
        s32(f32.size()),
        bias(random_values(cols)),
        scales(cols, 1e-4f),
        row_scales(rows, 1.0f),
        zeros(rows, 128),
        sums(cols, 77),
        out(f32.size() * sizeof(float)) {
    if (!integers) {
      x = {.stride = cols, .f32 = f32.data()};
      return;
    }
    for (size_t i = 0; i < s32.size(); ++i) s32[i] = static_cast<int32_t>(1e4f * f32[i]);
    x = {cols, nullptr, s32.data(), row_scales.data(), zeros.data(), scales.data(), sums.data()};
  }
  RowsBuffer buffer() { return {type, out.data(), stride, out_scales.data(), out_zeros.data()}; }

  DType type;
  int64_t stride;
  std::vector<float> f32;
  std::vector<int32_t> s32;
  std::vector<float> bias, scales, row_scales;
  std::vector<int32_t> zeros, sums;
  std::vector<uint8_t> out;
  std::vector<float> out_scales = std::vector<float>(row_scales.size());
  std::vector<int32_t> out_zeros = std::vector<int32_t>(row_scales.size());
  Products x;
};

constexpr int kF32 = static_cast<int>(DType::kF32), kBF16 = static_cast<int>(DType::kBF16),
              kU8 = static_cast<int>(DType::kU8);

// type of the rows
void rows_into_product(benchmark::State& state) {
  const int64_t rows = 16, cols = 768;
  Tile tile(rows, cols, static_cast<DType>(state.range(0)), false);
  for (auto _ : state) {
    to_rows(rows, cols, tile.f32.data(), tile.buffer());
    benchmark::DoNotOptimize(tile.out.data());
  }
  report_elements(state, rows * cols);
}
BENCHMARK(rows_into_product)->Arg(kBF16)->Arg(kU8);

// activation, type of the rows, s32 sums: 1. Under kU8 a few passes over the same memory turn the
// sums into small numbers; the time does not depend on them.
void activation(benchmark::State& state) {
  const int64_t rows = 16, cols = 3072;
  const auto kind = static_cast<Activation>(state.range(0));
  Tile tile(rows, cols, static_cast<DType>(state.range(1)), state.range(2) != 0);
  for (auto _ : state) {
    bias_activation(rows, cols, kind, tile.x, tile.bias.data(), tile.buffer());
    benchmark::DoNotOptimize(tile.out.data());
  }
  report_elements(state, rows * cols);
}
BENCHMARK(activation)
    ->ArgsProduct({{static_cast<int>(Activation::kGelu), static_cast<int>(Activation::kGeluTanh),
                    static_cast<int>(Activation::kRelu)},
                   {kF32, kBF16},
                   {0}})
    ->ArgsProduct({{static_cast<int>(Activation::kGelu), static_cast<int>(Activation::kGeluTanh),
                    static_cast<int>(Activation::kRelu)},
                   {kF32, kU8},
                   {1}});

// columns, s32 sums: 1
void residual_layer_norm(benchmark::State& state) {
  const int64_t rows = 16, cols = state.range(0);
  Tile tile(rows, cols, DType::kF32, state.range(1) != 0);
  const auto residual = random_values(rows * cols);
  const auto gamma = random_values(cols), beta = random_values(cols);
  std::vector<float> y(residual.size());
  for (auto _ : state) {
    bias_residual_layer_norm(rows, cols, tile.x, tile.bias.data(), residual.data(), gamma.data(),
                             beta.data(), 1e-5f, y.data());
    benchmark::DoNotOptimize(y.data());
  }
  report_elements(state, rows * cols);
}
BENCHMARK(residual_layer_norm)->ArgsProduct({{384, 768}, {0, 1}});

// bf16 planes: 1, s32 sums: 1
void heads(benchmark::State& state) {
  const int64_t rows = 16, head_dim = 64;
  const std::vector<int32_t> list = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const auto cols = static_cast<int64_t>(list.size()) * head_dim;
  Tile tile(rows, cols, DType::kF32, state.range(1) != 0);
  std::vector<float> out(static_cast<size_t>(rows * cols));
  std::vector<BFloat16> out16(out.size());
  std::vector<int32_t> destination;
  for (int32_t r = 0; r < rows; ++r) destination.push_back(r);
  const HeadSplit split{.head_dim = head_dim,
                        .heads = list,
                        .bias = tile.bias.data(),
                        .scale = 0.125f,
                        .destination = destination.data(),
                        .plane_rows = rows};
  for (auto _ : state) {
    if (state.range(0) != 0) {
      split_heads(rows, tile.x, split, out16.data());
    } else {
      split_heads(rows, tile.x, split, out.data());
    }
    benchmark::DoNotOptimize(out.data());
    benchmark::DoNotOptimize(out16.data());
  }
  report_elements(state, rows * cols);
}
BENCHMARK(heads)->ArgsProduct({{0, 1}, {0, 1}});

}  // namespace
}  // namespace longformer::kernels
