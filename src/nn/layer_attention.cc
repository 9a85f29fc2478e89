#include "nn/layer_attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "attention/align.h"
#include "base/thread_pool.h"
#include "kernels/gemm.h"

namespace longformer {
namespace {

constexpr int64_t kProjectRows = 128;  // rows of one projection

// Row blocks that give every thread heads to compute.
int64_t blocks_at_once(int64_t heads, int threads) { return (2 * threads + heads - 1) / heads; }

// Rows of the weight that make one head, with the bias and a factor: y [rows, head_dim].
void project_head(const GlobalProjection& projection, int64_t head, int64_t head_dim, int64_t rows,
                  const float* x, float scale, float* y) {
  std::vector<float> widened;
  kernels::matmul_nt(rows, head_dim, projection.weight.cols(), x,
                     projection.weight.read(head * head_dim, head_dim, widened), y);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < head_dim; ++c) {
      float& value = y[r * head_dim + c];
      value = (value + projection.bias[static_cast<size_t>(head * head_dim + c)]) * scale;
    }
  }
}

}  // namespace

struct AttentionProbe::Block {
  // A global row of the block.
  struct Global {
    int64_t row = 0;
    int64_t index = 0;  // among the global rows of the batch
    std::vector<int32_t> keys;
    std::vector<std::vector<float>> weights;  // per head
  };

  const RowBlock* rows = nullptr;
  std::vector<TileKeys> keys;  // per tile of the block, as rows of the batch
  std::vector<std::vector<std::vector<float>>> weights;  // per head and tile of its group
  std::vector<Global> globals;
};

AttentionProbe::AttentionProbe(const EncoderLayer& layer, const LayerContext& context,
                               int64_t head_dim, const float* x, ThreadPool& pool)
    : plan_(*context.plan),
      head_dim_(head_dim),
      pool_(pool),
      scratch_(static_cast<size_t>(pool.threads())) {
  for (const HeadGroup& group : plan_.groups) {
    std::vector<int32_t> rows(static_cast<size_t>(plan_.key_rows), 0);
    for (int64_t row = 0; row < plan_.rows; ++row) {
      rows[static_cast<size_t>(group.key_row[static_cast<size_t>(row)])] =
          static_cast<int32_t>(row);
    }
    row_of_key_.push_back(std::move(rows));
  }
  project(layer, context, x);
  if (!plan_.global_rows.empty()) project_globals(layer.attention, x);
}

uint64_t AttentionProbe::bytes_for(const EncoderLayer& layer, const AttentionPlan& plan,
                                   int64_t head_dim, int threads) {
  const int64_t heads = plan.pattern.heads;
  const int64_t hidden = heads * head_dim;
  const auto element = static_cast<int64_t>(dtype_size(plane_type(layer.attention)));
  int64_t rows = plan.key_rows + QueryPlanes::rows_needed(plan, nullptr);
  int64_t bytes = rows * hidden * element;
  int64_t most = 0;  // keys of a block
  for (const RowBlock& block : plan.blocks) {
    int64_t keys = 0;
    for (int32_t t = block.first_tile; t < block.first_tile + block.tile_count; ++t) {
      const QueryTile& tile = plan.tiles[static_cast<size_t>(t)];
      int64_t width = 0;
      for (int32_t r = tile.first_range; r < tile.first_range + tile.range_count; ++r) {
        width +=
            plan.ranges[static_cast<size_t>(r)].end - plan.ranges[static_cast<size_t>(r)].begin;
      }
      keys += tile.rows * width;
    }
    most = std::max(most, keys);
  }
  size_t globals = 0;
  size_t longest = 0;
  for (const GlobalRows& global : plan.global_rows) {
    globals += global.rows.size();
    longest = std::max(longest, global.rows.size());
  }
  if (globals != 0) bytes += (plan.rows + static_cast<int64_t>(globals)) * hidden * 4;
  most += kQueryRows * static_cast<int64_t>(longest);
  bytes += blocks_at_once(heads, threads) * most * (heads + 1) * 4;
  return static_cast<uint64_t>(bytes);
}

void AttentionProbe::project(const EncoderLayer& layer, const LayerContext& context,
                             const float* x) {
  const AttentionWeights& weights = layer.attention;
  const int64_t heads = plan_.pattern.heads;
  const int64_t hidden = heads * head_dim_;
  queries_.type = keys_.type = plane_type(weights);
  queries_.plane_rows = QueryPlanes::rows_needed(plan_, nullptr);
  const auto size = static_cast<int64_t>(dtype_size(keys_.type));
  const int64_t query_bytes = queries_.plane_rows * hidden * size;
  const int64_t key_bytes = plan_.key_rows * hidden * size;
  arena_.reset(Arena::bytes_for(query_bytes, 1) + Arena::bytes_for(key_bytes, 1));
  queries_.q =
      std::memset(arena_.take<std::byte>(query_bytes), 0, static_cast<size_t>(query_bytes));
  keys_.k = std::memset(arena_.take<std::byte>(key_bytes), 0, static_cast<size_t>(key_bytes));
  struct Scratch {
    Arena arena;
    Operand input;
    float* sums = nullptr;
    float* normed = nullptr;
  };
  std::vector<Scratch> scratch(static_cast<size_t>(pool_.threads()));
  const DType type = weights.query.weight.row_type();
  for (Scratch& own : scratch) {
    own.arena.reset(Operand::bytes_for(kProjectRows, hidden, type) +
                    2 * Arena::bytes_for(kProjectRows * hidden));
    own.input.take(own.arena, kProjectRows, hidden, type);
    own.sums = own.arena.floats(kProjectRows * hidden);
    own.normed = own.arena.floats(kProjectRows * hidden);
  }
  pool_.run((plan_.rows + kProjectRows - 1) / kProjectRows, [&](int64_t task, int worker) {
    Scratch& own = scratch[static_cast<size_t>(worker)];
    const RowRange rows{task * kProjectRows, std::min(plan_.rows, (task + 1) * kProjectRows)};
    const float* in =
        attention_input(weights, rows.size(), hidden, x + rows.begin * hidden, own.normed);
    const kernels::Rows input = own.input.convert(0, rows.size(), in);
    project_keys_values(context, weights, head_dim_, input, rows, {0, heads}, keys_, own.sums);
    project_queries(context, weights, head_dim_, input, rows, {0, heads}, queries_, own.sums);
  });
}

void AttentionProbe::project_globals(const AttentionWeights& weights, const float* x) {
  const int64_t heads = plan_.pattern.heads;
  const int64_t hidden = heads * head_dim_;
  for (const GlobalRows& global : plan_.global_rows) {
    global_count_ += static_cast<int64_t>(global.rows.size());
  }
  std::vector<float> inputs(static_cast<size_t>(global_count_ * hidden));
  float* to = inputs.data();
  for (const GlobalRows& global : plan_.global_rows) {
    for (const int64_t row : global.rows) to = std::copy_n(x + row * hidden, hidden, to);
  }
  global_keys_.resize(static_cast<size_t>(plan_.rows * hidden));
  global_queries_.resize(inputs.size());
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim_));
  pool_.run(heads, [&](int64_t head, int) {
    project_head(weights.query_global, head, head_dim_, global_count_, inputs.data(), scale,
                 global_queries_.data() + head * global_count_ * head_dim_);
    for (int64_t row = 0; row < plan_.rows; row += kProjectRows) {
      project_head(weights.key_global, head, head_dim_, std::min(kProjectRows, plan_.rows - row),
                   x + row * hidden, 1.0f,
                   global_keys_.data() + (head * plan_.rows + row) * head_dim_);
    }
  });
}

void AttentionProbe::visit(const AttentionVisitor& visitor) {
  const auto total = static_cast<int64_t>(plan_.blocks.size());
  const int64_t step = blocks_at_once(plan_.pattern.heads, pool_.threads());
  std::vector<Block> blocks;
  for (int64_t first = 0; first < total; first += step) {
    blocks.resize(static_cast<size_t>(std::min(step, total - first)));
    for (size_t b = 0; b < blocks.size(); ++b) {
      blocks[b].rows = &plan_.blocks[static_cast<size_t>(first) + b];
    }
    compute(blocks);
    for (const Block& block : blocks) hand_over(block, visitor);
  }
}

void AttentionProbe::compute(std::vector<Block>& blocks) {
  const int64_t heads = plan_.pattern.heads;
  pool_.run(static_cast<int64_t>(blocks.size()),
            [&](int64_t b, int) { find_keys(blocks[static_cast<size_t>(b)]); });
  pool_.run(static_cast<int64_t>(blocks.size()) * heads, [&](int64_t task, int worker) {
    Block& block = blocks[static_cast<size_t>(task / heads)];
    weigh(block, task % heads, scratch_[static_cast<size_t>(worker)]);
    weigh_globals(block, task % heads);
  });
}

void AttentionProbe::find_keys(Block& block) const {
  const auto heads = static_cast<size_t>(plan_.pattern.heads);
  block.keys.clear();
  block.weights.assign(heads, {});
  for (int32_t t = 0; t < block.rows->tile_count; ++t) {
    const QueryTile& tile = plan_.tiles[static_cast<size_t>(block.rows->first_tile + t)];
    block.keys.push_back(tile_keys(plan_, tile));
    for (int32_t& key : block.keys.back().keys) {
      key = row_of_key_[static_cast<size_t>(tile.group)][static_cast<size_t>(key)];
    }
  }
  block.globals.clear();
  int64_t index = 0;
  for (const GlobalRows& global : plan_.global_rows) {
    const auto sequence = static_cast<size_t>(global.sequence);
    for (const int64_t row : global.rows) {
      if (row >= block.rows->begin && row < block.rows->end) {
        Block::Global entry{row, index, {}, std::vector<std::vector<float>>(heads)};
        for (int64_t key = plan_.sequence_begin[sequence]; key < plan_.sequence_begin[sequence + 1];
             ++key) {
          if (plan_.valid_row[static_cast<size_t>(key)] != 0) {
            entry.keys.push_back(static_cast<int32_t>(key));
          }
        }
        block.globals.push_back(std::move(entry));
      }
      ++index;
    }
  }
}

void AttentionProbe::weigh(Block& block, int64_t head, ProbabilityScratch& scratch) const {
  auto& weights = block.weights[static_cast<size_t>(head)];
  weights.resize(block.keys.size());
  for (size_t t = 0; t < block.keys.size(); ++t) {
    const QueryTile& tile = plan_.tiles[static_cast<size_t>(block.rows->first_tile) + t];
    if (tile.group != plan_.head_group[static_cast<size_t>(head)]) continue;
    weights[t].resize(block.keys[t].keys.size());
    const int64_t query = (head * queries_.plane_rows + tile.query_row) * head_dim_;
    const int64_t plane = head * plan_.key_rows * head_dim_;
    const auto run = [&](auto* element) {
      using T = std::remove_pointer_t<decltype(element)>;
      tile_probabilities(plan_, tile, block.keys[t], head_dim_,
                         static_cast<const T*>(queries_.q) + query,
                         static_cast<const T*>(keys_.k) + plane, weights[t].data(), scratch);
    };
    if (keys_.type == DType::kBF16) {
      run(static_cast<BFloat16*>(nullptr));
    } else {
      run(static_cast<float*>(nullptr));
    }
  }
}

void AttentionProbe::weigh_globals(Block& block, int64_t head) const {
  for (Block::Global& global : block.globals) {
    const float* query = global_queries_.data() + (head * global_count_ + global.index) * head_dim_;
    const float* keys = global_keys_.data() + head * plan_.rows * head_dim_;
    std::vector<float>& weights = global.weights[static_cast<size_t>(head)];
    weights.resize(global.keys.size());
    // Runs of neighbours go through one product.
    for (size_t first = 0; first < weights.size();) {
      size_t end = first + 1;
      while (end < weights.size() && end - first < static_cast<size_t>(kGlobalBlock) &&
             global.keys[end] == global.keys[end - 1] + 1) {
        ++end;
      }
      kernels::matmul_nt(1, static_cast<int64_t>(end - first), head_dim_, query,
                         keys + global.keys[first] * head_dim_, weights.data() + first);
      first = end;
    }
    softmax_row(static_cast<int64_t>(weights.size()), weights.data());
  }
}

void AttentionProbe::hand_over(const Block& block, const AttentionVisitor& visitor) const {
  const auto heads = static_cast<size_t>(plan_.pattern.heads);
  const RowBlock& rows = *block.rows;
  // Per group and row of the block: its tile and its place there.
  std::vector<std::vector<std::pair<size_t, size_t>>> places(plan_.groups.size());
  for (auto& of_group : places) of_group.resize(static_cast<size_t>(rows.end - rows.begin));
  for (size_t t = 0; t < block.keys.size(); ++t) {
    const QueryTile& tile = plan_.tiles[static_cast<size_t>(rows.first_tile) + t];
    for (int32_t r = 0; r < tile.rows; ++r) {
      const auto at = static_cast<size_t>(tile.first_row + r * tile.step - rows.begin);
      places[static_cast<size_t>(tile.group)][at] = {t, static_cast<size_t>(r)};
    }
  }
  std::vector<AttentionLinks> links(heads);
  auto global = block.globals.begin();
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    AttentionRow seen{row, global != block.globals.end() && global->row == row, 0, links};
    for (size_t h = 0; h < heads; ++h) {
      if (seen.global) {
        links[h] = {global->keys, global->weights[h]};
        continue;
      }
      const auto group = static_cast<size_t>(plan_.head_group[h]);
      const auto [t, r] = places[group][static_cast<size_t>(row - rows.begin)];
      const TileKeys& keys = block.keys[t];
      const auto begin = static_cast<size_t>(keys.begin[r]);
      const auto count = static_cast<size_t>(keys.begin[r + 1]) - begin;
      links[h] = {std::span(keys.keys).subspan(begin, count),
                  std::span(block.weights[h][t]).subspan(begin, count)};
      const auto sequence =
          static_cast<size_t>(plan_.tiles[static_cast<size_t>(rows.first_tile) + t].sequence);
      if (count > 0) seen.global_keys = plan_.groups[group].global_key_rows[sequence].size();
    }
    if (seen.global) ++global;
    visitor(seen);
  }
}

}  // namespace longformer
