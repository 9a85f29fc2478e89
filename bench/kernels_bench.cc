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

void softmax(benchmark::State& state) {
  const int64_t rows = 64, width = state.range(0);
  const auto scores = random_values(rows * width);
  std::vector<float> work = scores, correction(rows);
  const std::vector<int32_t> begin(rows, 3);
  const std::vector<int32_t> end(rows, static_cast<int32_t>(width - 3));
  for (auto _ : state) {
    std::vector<float> maximum(rows, -1e30f), sum(rows, 0.0f);
    softmax_strip(rows, width, begin.data(), end.data(), work.data(), maximum.data(), sum.data(),
                  correction.data());
    benchmark::DoNotOptimize(sum.data());
  }
  report_elements(state, rows * width);
}
BENCHMARK(softmax)->Arg(576);

void activation(benchmark::State& state) {
  const int64_t rows = 64, cols = 3072;
  const auto kind = static_cast<Activation>(state.range(0));
  const auto bias = random_values(cols), x = random_values(rows * cols);
  std::vector<float> work = x;
  for (auto _ : state) {
    bias_activation(rows, cols, kind, bias.data(), work.data());
    benchmark::DoNotOptimize(work.data());
  }
  report_elements(state, rows * cols);
}
BENCHMARK(activation)
    ->Arg(static_cast<int>(Activation::kGelu))
    ->Arg(static_cast<int>(Activation::kGeluTanh))
    ->Arg(static_cast<int>(Activation::kRelu));

void residual_layer_norm(benchmark::State& state) {
  const int64_t rows = 64, cols = state.range(0);
  const auto x = random_values(rows * cols), residual = random_values(rows * cols);
  const auto bias = random_values(cols), gamma = random_values(cols), beta = random_values(cols);
  std::vector<float> y(x.size());
  for (auto _ : state) {
    bias_residual_layer_norm(rows, cols, x.data(), bias.data(), residual.data(), gamma.data(),
                             beta.data(), 1e-5f, y.data());
    benchmark::DoNotOptimize(y.data());
  }
  report_elements(state, rows * cols);
}
BENCHMARK(residual_layer_norm)->Arg(384)->Arg(768);

void heads(benchmark::State& state) {
  const int64_t rows = 64, count = 12, head_dim = 64;
  const auto x = random_values(rows * count * head_dim), bias = random_values(count * head_dim);
  std::vector<float> out(x.size());
  std::vector<int32_t> list, destination;
  for (int32_t h = 0; h < count; ++h) list.push_back(h);
  for (int32_t r = 0; r < rows; ++r) destination.push_back(r);
  for (auto _ : state) {
    split_heads(rows, count, head_dim, list.data(), count, x.data(), bias.data(), 0.125f, nullptr,
                destination.data(), rows, out.data());
    benchmark::DoNotOptimize(out.data());
  }
  report_elements(state, rows * count * head_dim);
}
BENCHMARK(heads);

}  // namespace
}  // namespace longformer::kernels
