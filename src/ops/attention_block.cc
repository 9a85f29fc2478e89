#include "ops/attention_block.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "attention/align.h"
#include "kernels/rotary.h"
#include "kernels/rowwise.h"

namespace longformer {
namespace {

int64_t query_plane_rows(const AttentionPlan& plan, const RowTile& tile, int32_t group) {
  int64_t rows = 0;
  for (int32_t t = tile.first_tile; t < tile.first_tile + tile.tile_count; ++t) {
    if (plan.tiles[t].group == group) rows += round_up(plan.tiles[t].rows, kRowAlign);
  }
  return rows;
}

int64_t largest_query_plane(const AttentionPlan& plan, const RowTile& tile) {
  int64_t rows = 0;
  for (size_t group = 0; group < plan.groups.size(); ++group) {
    rows = std::max(rows, query_plane_rows(plan, tile, static_cast<int32_t>(group)));
  }
  return rows;
}

// What the projections read: the tile's rows, or their norm in `buffer`.
const float* normalized_input(const AttentionWeights& weights, const RowTile& tile, int64_t hidden,
                              const float* x, float* buffer) {
  const float* input = x + tile.begin * hidden;
  if (weights.placement == NormPlacement::kPost || weights.norm.empty()) return input;
  kernels::layer_norm(tile.rows(), hidden, input, weights.norm.gamma.data(),
                      weights.norm.beta.data(), weights.norm.eps, buffer);
  return buffer;
}

// Where split() puts the rows of a tile, and with what.
struct Split {
  float scale = 1.0f;
  const uint8_t* keep = nullptr;
  const int32_t* destination = nullptr;
  int64_t plane_rows = 0;
  const RotaryAngles* rotary = nullptr;
};

void split(const HeadGroup& group, int64_t heads, int64_t head_dim, const RowTile& tile,
           const float* projected, const std::vector<float>& bias, const Split& to, float* out) {
  const int64_t count = static_cast<int64_t>(group.heads.size());
  if (to.rotary == nullptr) {
    kernels::split_heads(tile.rows(), heads, head_dim, group.heads.data(), count, projected,
                         bias.data(), to.scale, to.keep, to.destination, to.plane_rows, out);
    return;
  }
  const int64_t first_angle = tile.begin * (head_dim / 2);
  kernels::split_heads_rotary(tile.rows(), heads, head_dim, group.heads.data(), count, projected,
                              bias.data(), to.scale, to.keep, to.destination, to.plane_rows,
                              to.rotary->cosines.data() + first_angle,
                              to.rotary->sines.data() + first_angle, out);
}

// All heads of one group: queries into tile order, then tile by tile.
void attend(const LayerContext& context, int32_t group, const AttentionWeights& weights,
            int64_t head_dim, const RowTile& tile, const float* projected,
            const KeyValuePlanes& planes, float* attended, BlockScratch& scratch) {
  const AttentionPlan& plan = *context.plan;
  const HeadGroup& heads = plan.groups[group];
  const int64_t hidden = plan.pattern.heads * head_dim;
  const int64_t plane_rows = query_plane_rows(plan, tile, group);
  int32_t place = 0;
  for (int32_t t = tile.first_tile; t < tile.first_tile + tile.tile_count; ++t) {
    const QueryTile& queries = plan.tiles[t];
    if (queries.group != group) continue;
    for (int32_t r = 0; r < queries.rows; ++r) {
      scratch.places[queries.first_row - tile.begin + int64_t{r} * queries.step] = place + r;
    }
    place += static_cast<int32_t>(round_up(queries.rows, kRowAlign));
  }
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  split(heads, plan.pattern.heads, head_dim, tile, projected, weights.query.bias,
        {scale, nullptr, scratch.places.data(), plane_rows, context.rotary},
        scratch.queries.data());
  for (const int32_t head : heads.heads) {
    const float* k = planes.k + head * plan.key_rows * head_dim;
    const float* v = planes.v + head * plan.key_rows * head_dim;
    const float* q = scratch.queries.data() + head * plane_rows * head_dim;
    for (int32_t t = tile.first_tile; t < tile.first_tile + tile.tile_count; ++t) {
      const QueryTile& queries = plan.tiles[t];
      if (queries.group != group) continue;
      float* out = attended + (queries.first_row - tile.begin) * hidden + head * head_dim;
      attention_tile(plan, queries, head_dim, q, k, v, out, queries.step * hidden, nullptr,
                     scratch.attention);
      q += round_up(queries.rows, kRowAlign) * head_dim;
    }
  }
}

void replace_global_rows(const AttentionPlan& plan, int64_t hidden, const RowTile& tile,
                         const float* global_context, float* context) {
  int64_t index = 0;
  for (const GlobalRows& global : plan.global_rows) {
    for (const int64_t row : global.rows) {
      if (row >= tile.begin && row < tile.end) {
        std::memcpy(context + (row - tile.begin) * hidden, global_context + index * hidden,
                    static_cast<size_t>(hidden) * sizeof(float));
      }
      ++index;
    }
  }
}

}  // namespace

void BlockScratch::resize(const AttentionPlan& plan, const std::vector<RowTile>& tiles,
                          int64_t hidden, int64_t intermediate_size) {
  int64_t rows = 0;
  int64_t plane_rows = 0;
  for (const RowTile& tile : tiles) {
    rows = std::max(rows, tile.rows());
    plane_rows = std::max(plane_rows, largest_query_plane(plan, tile));
  }
  const auto grow = [](std::vector<float>& buffer, int64_t size) {
    if (buffer.size() < static_cast<size_t>(size)) buffer.assign(static_cast<size_t>(size), 0.0f);
  };
  grow(projected, rows * hidden);
  grow(context, rows * hidden);
  grow(attended, rows * hidden);
  grow(intermediate, rows * intermediate_size);
  grow(queries, plane_rows * hidden);
  if (places.size() < static_cast<size_t>(rows)) places.resize(static_cast<size_t>(rows));
  attention.resize(plan, hidden / plan.pattern.heads);
}

void project_keys_values(const LayerContext& context, const AttentionWeights& weights,
                         int64_t head_dim, const float* x, const RowTile& tile,
                         const KeyValuePlanes& planes, BlockScratch& scratch) {
  const AttentionPlan& plan = *context.plan;
  const int64_t heads = plan.pattern.heads;
  const float* input =
      normalized_input(weights, tile, heads * head_dim, x, scratch.attended.data());
  float* projected = scratch.projected.data();
  const auto project = [&](const Linear& linear, const RotaryAngles* rotary, float* plane) {
    kernels::linear(input, tile.rows(), linear.weight, projected);
    for (const HeadGroup& group : plan.groups) {
      split(group, heads, head_dim, tile, projected, linear.bias,
            {1.0f, plan.valid_row.data() + tile.begin, group.key_row.data() + tile.begin,
             plan.key_rows, rotary},
            plane);
    }
  };
  project(weights.key, context.rotary, planes.k);
  project(weights.value, nullptr, planes.v);
}

void attention_block(const LayerContext& context, const AttentionWeights& weights, int64_t head_dim,
                     const float* x, const RowTile& tile, const KeyValuePlanes& planes,
                     const float* global_context, float* out, BlockScratch& scratch) {
  const AttentionPlan& plan = *context.plan;
  const int64_t hidden = plan.pattern.heads * head_dim;
  const float* residual = x + tile.begin * hidden;
  float* projected = scratch.projected.data();
  float* attended = scratch.context.data();
  kernels::linear(normalized_input(weights, tile, hidden, x, out), tile.rows(),
                  weights.query.weight, projected);
  for (size_t group = 0; group < plan.groups.size(); ++group) {
    attend(context, static_cast<int32_t>(group), weights, head_dim, tile, projected, planes,
           attended, scratch);
  }
  if (global_context != nullptr) replace_global_rows(plan, hidden, tile, global_context, attended);
  kernels::linear(attended, tile.rows(), weights.output.weight, projected);
  if (weights.placement == NormPlacement::kPre) {
    kernels::bias_residual(tile.rows(), hidden, projected, weights.output.bias.data(), residual,
                           out);
  } else {
    kernels::bias_residual_layer_norm(tile.rows(), hidden, projected, weights.output.bias.data(),
                                      residual, weights.norm.gamma.data(), weights.norm.beta.data(),
                                      weights.norm.eps, out);
  }
}

}  // namespace longformer
