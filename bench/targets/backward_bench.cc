// The way back through the attention kernel alone, f32 and bf16, for three patterns with the same
// number of keys a query: plain, dilated (2) and causal. What P11 times beside whole steps. Planes
// hold random numbers; as logsumexp stands what makes a row of probabilities sum to about one, so
// that all products are of ordinary numbers. Prints one JSON line:
//   {"threads": 2, "runs": [{"dtype": "f32", "pattern": "plain", "pairs": counted (query, key)
//    pairs a head, "passes_s": […]}, …]}
//
//   backward_bench TOKENS HEADS HEAD_DIM WINDOW THREADS REPEAT
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "attention/backward.h"
#include "attention/count_pairs.h"
#include "base/random.h"
#include "base/thread_pool.h"
#include "kernels/gemm.h"
#include "kernels/isa.h"

namespace {

using namespace longformer;
using Clock = std::chrono::steady_clock;

struct Shape {
  int64_t tokens, heads, head_dim, window;
};

struct Named {
  const char* name;
  AttentionPattern pattern;
};

std::vector<Named> patterns(const Shape& shape) {
  AttentionPattern plain;
  plain.heads = shape.heads;
  plain.lengths = {shape.tokens};
  plain.window = Window{shape.window / 2, shape.window / 2};
  AttentionPattern dilated = plain;
  dilated.dilation.assign(static_cast<size_t>(shape.heads), 2);
  AttentionPattern causal = plain;
  causal.window = Window{shape.window, 0};
  return {{"plain", plain}, {"dilation 2", dilated}, {"causal", causal}};
}

// Uniform numbers of variance `variance`.
template <typename T>
std::vector<T> random_values(int64_t count, double variance, uint64_t seed) {
  const double width = std::sqrt(12.0 * variance);
  std::vector<T> result(static_cast<size_t>(count));
  for (size_t i = 0; i < result.size(); ++i) {
    const auto value = static_cast<float>((random_uniform(seed, i) - 0.5) * width);
    if constexpr (std::is_same_v<T, float>) {
      result[i] = value;
    } else {
      result[i].bits = f32_to_bf16(value);
    }
  }
  return result;
}

template <typename T>
class Pass {
 public:
  Pass(const Named& named, const Shape& shape, ThreadPool& pool)
      : name(named.name),
        pairs(count_pairs(named.pattern, 0, 0)),
        shape_(shape),
        plan_(compile(named.pattern)),
        pool_(pool) {
    for (const HeadGroup& group : plan_.groups) rows_ = std::max(rows_, group.query_rows);
    const int64_t queries = shape.heads * rows_ * shape.head_dim;
    const int64_t keys = shape.heads * plan_.key_rows * shape.head_dim;
    const int64_t tokens = shape.tokens * shape.heads * shape.head_dim;
    q_ = random_values<T>(queries, 1.0 / static_cast<double>(shape.head_dim), 1);
    k_ = random_values<T>(keys, 1.0, 2);
    v_ = random_values<T>(keys, 1.0, 3);
    out_ = random_values<float>(tokens, 1.0, 4);
    d_out_ = random_values<float>(tokens, 1.0, 5);
    const auto counted = static_cast<double>(shape.window + 1);
    logsumexp_.assign(static_cast<size_t>(shape.heads * rows_),
                      static_cast<float>(std::log(counted) + 0.5));
    d_q_.resize(q_.size());
    d_k_.resize(k_.size());
    d_v_.resize(v_.size());
  }

  double seconds() {
    constexpr DType kType = std::is_same_v<T, float> ? DType::kF32 : DType::kBF16;
    const AttentionSaved saved{kType, q_.data(),         k_.data(),  v_.data(),
                               rows_, logsumexp_.data(), out_.data()};
    const auto start = Clock::now();
    attention_backward(plan_, shape_.head_dim, saved, d_out_.data(), nullptr,
                       {d_q_.data(), d_k_.data(), d_v_.data()}, pool_);
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  const std::string name;
  const int64_t pairs;

 private:
  const Shape shape_;
  const AttentionPlan plan_;
  ThreadPool& pool_;
  int64_t rows_ = 0;
  std::vector<T> q_, k_, v_;
  std::vector<float> logsumexp_, out_, d_out_, d_q_, d_k_, d_v_;
};

// Passes of all patterns in turn, so that each sees the same machine.
template <typename T>
void measure(const char* dtype, const Shape& shape, int repeat, ThreadPool& pool,
             nlohmann::ordered_json& runs) {
  std::vector<Pass<T>> passes;
  const std::vector<Named> all = patterns(shape);
  passes.reserve(all.size());
  for (const Named& named : all) passes.emplace_back(named, shape, pool);
  std::vector<std::vector<double>> seconds(passes.size());
  for (Pass<T>& pass : passes) pass.seconds();
  for (int i = 0; i < repeat; ++i) {
    for (size_t turn = 0; turn < passes.size(); ++turn) {
      const size_t which = i % 2 == 0 ? turn : passes.size() - 1 - turn;
      seconds[which].push_back(passes[which].seconds());
    }
  }
  for (size_t i = 0; i < passes.size(); ++i) {
    runs.push_back({{"dtype", dtype},
                    {"pattern", passes[i].name},
                    {"pairs", passes[i].pairs},
                    {"passes_s", seconds[i]}});
  }
}

int run(char** arguments) {
  kernels::apply_isa_limit_from_environment();
  const Shape shape = {std::atoll(arguments[0]), std::atoll(arguments[1]), std::atoll(arguments[2]),
                       std::atoll(arguments[3])};
  ThreadPool pool(std::atoi(arguments[4]));
  const int repeat = std::max(1, std::atoi(arguments[5]));
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  measure<float>("f32", shape, repeat, pool, runs);
  if (kernels::supports(DType::kBF16)) measure<BFloat16>("bf16", shape, repeat, pool, runs);
  const nlohmann::ordered_json line = {{"threads", pool.threads()}, {"runs", runs}};
  std::printf("%s\n", line.dump().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: backward_bench TOKENS HEADS HEAD_DIM WINDOW THREADS REPEAT\n");
    return 2;
  }
  try {
    return run(argv + 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "backward_bench: %s\n", error.what());
    return 1;
  }
}
