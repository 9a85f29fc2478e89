#include "ops/attention_block.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "attention/align.h"
#include "kernels/rowwise.h"

namespace longformer {
namespace {

// Calls body with a null pointer to the element type of the planes.
template <typename Body>
void with_type(DType type, const Body& body) {
  if (type == DType::kBF16) {
    body(static_cast<BFloat16*>(nullptr));
  } else {
    body(static_cast<float*>(nullptr));
  }
}

// The heads of a group that lie in the range.
std::span<const int32_t> heads_between(const HeadGroup& group, HeadRange range) {
  const auto first = std::lower_bound(group.heads.begin(), group.heads.end(), range.begin);
  const auto last = std::lower_bound(first, group.heads.end(), range.end);
  return {first, last};
}

void split(DType type, int64_t rows, const kernels::Products& products,
           const kernels::HeadSplit& how, void* out) {
  with_type(type, [&](auto* element) {
    kernels::split_heads(rows, products, how, static_cast<decltype(element)>(out));
  });
}

// The product of one projection for some heads, and what all its groups are split with.
struct Projection {
  kernels::Products products;
  kernels::HeadSplit how;
};

Projection project(const Linear& linear, const RotaryAngles* rotary, int64_t head_dim,
                   const kernels::Rows& input, RowRange rows, HeadRange heads, float* sums) {
  const int64_t first = heads.begin * head_dim;
  const int64_t count = (heads.end - heads.begin) * head_dim;
  Projection result;
  result.products = kernels::linear(input, rows.size(), linear.weight, sums, {first, count});
  result.how.head_dim = head_dim;
  result.how.first_head = heads.begin;
  result.how.bias = linear.bias.data() + first;
  if (rotary != nullptr) {
    result.how.cosines = rotary->cosines.data() + rows.begin * (head_dim / 2);
    result.how.sines = rotary->sines.data() + rows.begin * (head_dim / 2);
  }
  return result;
}

}  // namespace

DType plane_type(const AttentionWeights& weights) {
  const bool low = weights.query.weight.type() != DType::kF32;
  return low && kernels::supports(DType::kBF16) ? DType::kBF16 : DType::kF32;
}

size_t planes_bytes(int64_t elements, DType type) noexcept {
  return 2 * Arena::bytes_for(elements, dtype_size(type));
}

KeyValuePlanes zeroed_planes(Arena& arena, int64_t elements, DType type) {
  KeyValuePlanes planes{type};
  const auto bytes = elements * static_cast<int64_t>(dtype_size(type));
  arena.reset(planes_bytes(elements, type));
  for (void** side : {&planes.k, &planes.v}) {
    *side = arena.take<std::byte>(bytes);
    std::memset(*side, 0, static_cast<size_t>(bytes));
  }
  return planes;
}

int64_t head_quantum(int64_t head_dim) {
  return kernels::kColumnQuantum / std::gcd(kernels::kColumnQuantum, head_dim);
}

int64_t QueryPlanes::first_row(const AttentionPlan& plan, int32_t group) const {
  if (tile == nullptr) return 0;
  for (int32_t t = tile->first_tile; t < tile->first_tile + tile->tile_count; ++t) {
    if (plan.tiles[t].group == group) return plan.tiles[t].query_row;
  }
  return 0;
}

int64_t QueryPlanes::rows_needed(const AttentionPlan& plan, const RowTile* tile) {
  std::vector<int64_t> rows(plan.groups.size(), 0);
  if (tile == nullptr) {
    for (size_t g = 0; g < rows.size(); ++g) rows[g] = plan.groups[g].query_rows;
  } else {
    for (int32_t t = tile->first_tile; t < tile->first_tile + tile->tile_count; ++t) {
      rows[plan.tiles[t].group] += round_up(plan.tiles[t].rows, kRowAlign);
    }
  }
  return *std::max_element(rows.begin(), rows.end());
}

const float* attention_input(const AttentionWeights& weights, int64_t rows, int64_t hidden,
                             const float* x, float* buffer) {
  if (weights.placement == NormPlacement::kPost || weights.norm.empty()) return x;
  kernels::layer_norm(rows, hidden, x, weights.norm.gamma.data(), weights.norm.beta.data(),
                      weights.norm.eps, buffer);
  return buffer;
}

void project_keys_values(const LayerContext& context, const AttentionWeights& weights,
                         int64_t head_dim, const kernels::Rows& input, RowRange rows,
                         HeadRange heads, const KeyValuePlanes& planes, float* sums) {
  const AttentionPlan& plan = *context.plan;
  const auto one = [&](const Linear& linear, const RotaryAngles* rotary, void* plane) {
    Projection projection = project(linear, rotary, head_dim, input, rows, heads, sums);
    projection.how.keep = plan.valid_row.data() + rows.begin;
    projection.how.plane_rows = plan.key_rows;
    for (const HeadGroup& group : plan.groups) {
      projection.how.heads = heads_between(group, heads);
      projection.how.destination = group.key_row.data() + rows.begin;
      split(planes.type, rows.size(), projection.products, projection.how, plane);
    }
  };
  one(weights.key, context.rotary, planes.k);
  if (planes.v != nullptr) one(weights.value, nullptr, planes.v);
}

void project_queries(const LayerContext& context, const AttentionWeights& weights, int64_t head_dim,
                     const kernels::Rows& input, RowRange rows, HeadRange heads,
                     const QueryPlanes& queries, float* sums) {
  const AttentionPlan& plan = *context.plan;
  Projection projection =
      project(weights.query, context.rotary, head_dim, input, rows, heads, sums);
  projection.how.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  projection.how.plane_rows = queries.plane_rows;
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    projection.how.heads = heads_between(plan.groups[g], heads);
    projection.how.destination = plan.groups[g].query_row.data() + rows.begin;
    projection.how.first_destination = queries.first_row(plan, static_cast<int32_t>(g));
    split(queries.type, rows.size(), projection.products, projection.how, queries.q);
  }
}

void attend(const AttentionPlan& plan, int64_t head_dim, int32_t tile_index, int32_t head,
            const QueryPlanes& queries, const KeyValuePlanes& planes, float* attended,
            int64_t first_row, AttentionScratch& scratch, const AttendRecord& record) {
  const QueryTile& tile = plan.tiles[tile_index];
  const int64_t hidden = plan.pattern.heads * head_dim;
  const int64_t query = tile.query_row - queries.first_row(plan, tile.group);
  float* out = attended + (tile.first_row - first_row) * hidden + head * head_dim;
  const int64_t query_row = head * queries.plane_rows + query;
  float* lse = record.logsumexp == nullptr ? nullptr : record.logsumexp + query_row;
  with_type(planes.type, [&](auto* element) {
    using T = std::remove_pointer_t<decltype(element)>;
    const int64_t plane = head * plan.key_rows * head_dim;
    attention_tile(plan, tile, head_dim, static_cast<const T*>(queries.q) + query_row * head_dim,
                   static_cast<const T*>(planes.k) + plane, static_cast<const T*>(planes.v) + plane,
                   out, tile.step * hidden, lse, scratch, head, record.dropout);
  });
}

void replace_global_rows(const AttentionPlan& plan, int64_t hidden, RowRange rows,
                         const float* global_context, float* attended) {
  if (global_context == nullptr) return;
  int64_t index = 0;
  for (const GlobalRows& global : plan.global_rows) {
    for (const int64_t row : global.rows) {
      if (row >= rows.begin && row < rows.end) {
        std::memcpy(attended + (row - rows.begin) * hidden, global_context + index * hidden,
                    static_cast<size_t>(hidden) * sizeof(float));
      }
      ++index;
    }
  }
}

}  // namespace longformer
