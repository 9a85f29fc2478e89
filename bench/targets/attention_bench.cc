// The attention kernel alone: seconds of a banded attention over packed heads, plain and dilated in
// turn, without projections, packing and the split into heads. What P5 times.
// INPUTS: safetensors with q, k, v [tokens, heads, head_dim], F32, q scaled already. OUTPUTS gets
// out_DTYPE_DILATION of the same shape. Prints one JSON line:
//   {"threads": 2, "tokens": …, "heads": …, "head_dim": …, "runs": [{"dtype": "f32", "dilation": 1,
//    "pairs": counted (query, key) pairs a head, "passes_s": […]}, …]}
//
//   attention_bench INPUTS OUTPUTS WINDOW THREADS REPEAT
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "attention/align.h"
#include "attention/forward.h"
#include "base/thread_pool.h"
#include "io/checkpoint/safetensors.h"
#include "kernels/gemm.h"
#include "kernels/isa.h"
#include "longformer/error.h"
#include "tensor/arena.h"

namespace {

using namespace longformer;
using Clock = std::chrono::steady_clock;

struct Inputs {
  int64_t tokens = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
  std::vector<float> q, k, v;
};

Inputs read_inputs(const char* path) {
  Inputs inputs;
  for (const io::NamedTensor& tensor : io::read_safetensors(path).tensors) {
    if (tensor.tensor.shape.size() != 3)
      throw Error(ErrorCode::kInvalidFile, "q, k, v are [tokens, heads, head_dim]", path);
    std::vector<float>& values = tensor.name == "q"   ? inputs.q
                                 : tensor.name == "k" ? inputs.k
                                                      : inputs.v;
    values = to_f32(tensor.tensor);
    inputs.tokens = tensor.tensor.shape[0];
    inputs.heads = tensor.tensor.shape[1];
    inputs.head_dim = tensor.tensor.shape[2];
  }
  if (inputs.q.size() != inputs.k.size() || inputs.k.size() != inputs.v.size() || inputs.q.empty())
    throw Error(ErrorCode::kInvalidFile, "q, k, v must be there and equally large", path);
  return inputs;
}

AttentionPlan band_plan(const Inputs& inputs, int64_t window, int64_t dilation) {
  AttentionPattern pattern;
  pattern.heads = inputs.heads;
  pattern.lengths = {inputs.tokens};
  pattern.window = Window{window / 2, window / 2};
  pattern.dilation.assign(static_cast<size_t>(inputs.heads), dilation);
  return compile(pattern);
}

int64_t counted_pairs(int64_t tokens, int64_t reach, int64_t dilation) {
  int64_t pairs = 0;
  for (int64_t i = 0; i < tokens; ++i) {
    pairs += 1 + std::min(reach, i / dilation) + std::min(reach, (tokens - 1 - i) / dilation);
  }
  return pairs;
}

// Planes and tiles as the layers above leave them, and a pass over all of them.
template <typename T>
class PackedHeads {
 public:
  PackedHeads(const Inputs& inputs, AttentionPlan plan, ThreadPool& pool)
      : head_dim_(inputs.head_dim), heads_(inputs.heads), plan_(std::move(plan)), pool_(pool) {
    const int64_t plane = heads_ * plan_.key_rows * head_dim_;
    const int64_t tiles = static_cast<int64_t>(plan_.tiles.size());
    const int64_t queries = tiles * heads_ * kQueryRows * head_dim_;
    arena_.reset(2 * Arena::bytes_for(plane) + Arena::bytes_for(queries));
    keys_ = take(plane);
    values_ = take(plane);
    queries_ = take(queries);
    scratch_.resize(static_cast<size_t>(pool.threads()));
    constexpr DType kType = std::is_same_v<T, float> ? DType::kF32 : DType::kBF16;
    for (AttentionScratch& scratch : scratch_) scratch.resize(plan_, head_dim_, kType);
    pack_keys(inputs);
    pack_queries(inputs);
    out_.resize(inputs.q.size());
  }

  double pass() {
    const auto start = Clock::now();
    const int64_t units = static_cast<int64_t>(plan_.blocks.size()) * heads_;
    pool_.run(units, [&](int64_t unit, int worker) {
      const RowBlock& block = plan_.blocks[static_cast<size_t>(unit / heads_)];
      const int64_t head = unit % heads_;
      for (int32_t t = block.first_tile; t < block.first_tile + block.tile_count; ++t) {
        attend(t, head, scratch_[static_cast<size_t>(worker)]);
      }
    });
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  const std::vector<float>& out() const { return out_; }

 private:
  // Zeroed: rows between sequences are read.
  T* take(int64_t count) {
    T* memory = reinterpret_cast<T*>(arena_.floats(count));
    std::fill_n(memory, count, T{});
    return memory;
  }

  static void store(float value, T* to) {
    if constexpr (std::is_same_v<T, float>) {
      *to = value;
    } else {
      to->bits = f32_to_bf16(value);
    }
  }

  void pack_keys(const Inputs& inputs) {
    for (int64_t row = 0; row < inputs.tokens; ++row) {
      for (int64_t head = 0; head < heads_; ++head) {
        const int64_t key_row = plan_.groups[0].key_row[static_cast<size_t>(row)];
        const int64_t to = (head * plan_.key_rows + key_row) * head_dim_;
        const int64_t from = (row * heads_ + head) * head_dim_;
        for (int64_t c = 0; c < head_dim_; ++c) {
          store(inputs.k[static_cast<size_t>(from + c)], keys_ + to + c);
          store(inputs.v[static_cast<size_t>(from + c)], values_ + to + c);
        }
      }
    }
  }

  T* queries_of(int64_t tile, int64_t head) const {
    return queries_ + (tile * heads_ + head) * kQueryRows * head_dim_;
  }

  void pack_queries(const Inputs& inputs) {
    for (size_t t = 0; t < plan_.tiles.size(); ++t) {
      const QueryTile& tile = plan_.tiles[t];
      for (int64_t head = 0; head < heads_; ++head) {
        T* to = queries_of(static_cast<int64_t>(t), head);
        for (int64_t r = 0; r < tile.rows; ++r) {
          const int64_t from = ((tile.first_row + r * tile.step) * heads_ + head) * head_dim_;
          for (int64_t c = 0; c < head_dim_; ++c)
            store(inputs.q[static_cast<size_t>(from + c)], to + r * head_dim_ + c);
        }
      }
    }
  }

  void attend(int32_t index, int64_t head, AttentionScratch& scratch) {
    const QueryTile& tile = plan_.tiles[static_cast<size_t>(index)];
    const int64_t plane = head * plan_.key_rows * head_dim_;
    attention_tile(plan_, tile, head_dim_, queries_of(index, head), keys_ + plane, values_ + plane,
                   out_.data() + (tile.first_row * heads_ + head) * head_dim_,
                   tile.step * heads_ * head_dim_, nullptr, scratch);
  }

  const int64_t head_dim_;
  const int64_t heads_;
  const AttentionPlan plan_;
  ThreadPool& pool_;
  Arena arena_;
  T* keys_ = nullptr;
  T* values_ = nullptr;
  T* queries_ = nullptr;
  std::vector<float> out_;  // [tokens, heads, head_dim]
  std::vector<AttentionScratch> scratch_;
};

struct Results {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  std::vector<io::NamedTensor> outputs;
};

// Passes of both dilations in turn, so that both see the same machine.
template <typename T>
void measure(const char* dtype, const Inputs& inputs, int64_t window, int repeat, ThreadPool& pool,
             Results& results) {
  const int64_t dilations[] = {1, 2};
  std::vector<PackedHeads<T>> packed;
  packed.reserve(2);
  std::vector<double> passes[2];
  for (const int64_t d : dilations) packed.emplace_back(inputs, band_plan(inputs, window, d), pool);
  for (int i = 0; i < 2 * repeat; ++i) {
    const size_t which = static_cast<size_t>(i % 2 == (i / 2) % 2 ? 0 : 1);
    passes[which].push_back(packed[which].pass());
  }
  for (size_t i = 0; i < 2; ++i) {
    results.runs.push_back({{"dtype", dtype},
                            {"dilation", dilations[i]},
                            {"pairs", counted_pairs(inputs.tokens, window / 2, dilations[i])},
                            {"passes_s", passes[i]}});
    results.outputs.push_back({std::string("out_") + dtype + "_" + std::to_string(dilations[i]),
                               make_tensor({inputs.tokens, inputs.heads, inputs.head_dim},
                                           std::span<const float>(packed[i].out()))});
  }
}

int run(char** arguments) {
  kernels::apply_isa_limit_from_environment();
  const Inputs inputs = read_inputs(arguments[0]);
  const int64_t window = std::atoll(arguments[2]);
  const int repeat = std::max(1, std::atoi(arguments[4]));
  ThreadPool pool(std::atoi(arguments[3]));
  Results results;
  measure<float>("f32", inputs, window, repeat, pool, results);
  if (kernels::supports(DType::kBF16)) {
    measure<BFloat16>("bf16", inputs, window, repeat, pool, results);
  }
  io::write_safetensors(arguments[1], results.outputs);
  const nlohmann::ordered_json line = {{"threads", pool.threads()},
                                       {"tokens", inputs.tokens},
                                       {"heads", inputs.heads},
                                       {"head_dim", inputs.head_dim},
                                       {"runs", results.runs}};
  std::printf("%s\n", line.dump().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: attention_bench INPUTS OUTPUTS WINDOW THREADS REPEAT\n");
    return 2;
  }
  try {
    return run(argv + 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attention_bench: %s\n", error.what());
    return 1;
  }
}
