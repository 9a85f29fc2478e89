#include "nn/tile_layer.h"

#include <algorithm>
#include <span>

namespace longformer {
namespace {

struct Sizes {
  int64_t rows, query_rows, hidden, inner, intermediate, inner_rows, queries;
};

Sizes sizes_of(const EncoderLayer& layer, const AttentionPlan& plan, int64_t head_dim,
               std::span<const RowTile> tiles, int64_t rows) {
  int64_t query_rows = 0;
  for (const RowTile& tile : tiles) {
    rows = std::max(rows, tile.rows());
    query_rows = std::max(query_rows, QueryPlanes::rows_needed(plan, &tile));
  }
  const int64_t hidden = plan.pattern.heads * head_dim;
  return {rows,
          query_rows,
          hidden,
          inner_columns(layer.feed_forward),
          layer.feed_forward.intermediate(),
          std::min(rows, kFeedForwardRows),
          query_rows * hidden};
}

size_t buffer_bytes(const EncoderLayer& layer, const Sizes& s) {
  const AttentionWeights& a = layer.attention;
  const FeedForwardWeights& f = layer.feed_forward;
  return 3 * Arena::bytes_for(s.rows * s.hidden) + Arena::bytes_for(s.inner_rows * s.inner) +
         Arena::bytes_for(s.queries, dtype_size(plane_type(a))) +
         Operand::bytes_for(s.rows, s.hidden, a.query.weight.row_type()) +
         Operand::bytes_for(s.rows, s.hidden, a.output.weight.row_type()) +
         Operand::bytes_for(s.rows, s.hidden, f.inner.weight.row_type()) +
         Operand::bytes_for(s.inner_rows, s.intermediate, f.outer.weight.row_type());
}

}  // namespace

size_t TileScratch::bytes_for(const EncoderLayer& layer, const AttentionPlan& plan,
                              int64_t head_dim, std::span<const RowTile> tiles, int64_t rows) {
  return buffer_bytes(layer, sizes_of(layer, plan, head_dim, tiles, rows)) +
         AttentionScratch::bytes_for(plan, head_dim, plane_type(layer.attention));
}

void TileScratch::resize(const EncoderLayer& layer, const AttentionPlan& plan, int64_t head_dim,
                         std::span<const RowTile> tiles, int64_t least_rows) {
  const Sizes s = sizes_of(layer, plan, head_dim, tiles, least_rows);
  const AttentionWeights& a = layer.attention;
  const FeedForwardWeights& f = layer.feed_forward;
  const int64_t rows = s.rows;
  arena_.reset(buffer_bytes(layer, s));
  sums = arena_.floats(rows * s.hidden);
  context_rows = arena_.floats(rows * s.hidden);
  attended_rows = arena_.floats(rows * s.hidden);
  inner_sums = arena_.floats(s.inner_rows * s.inner);
  queries.type = plane_type(a);
  queries.plane_rows = s.query_rows;
  const int64_t bytes = s.queries * static_cast<int64_t>(dtype_size(queries.type));
  queries.q = arena_.take<std::byte>(bytes);
  // Rows that round a query tile up are multiplied too and must be finite.
  std::fill_n(static_cast<std::byte*>(queries.q), bytes, std::byte{0});
  input.take(arena_, rows, s.hidden, a.query.weight.row_type());
  context.take(arena_, rows, s.hidden, a.output.weight.row_type());
  attended.take(arena_, rows, s.hidden, f.inner.weight.row_type());
  inner.take(arena_, s.inner_rows, s.intermediate, f.outer.weight.row_type());
  attention.resize(plan, head_dim, queries.type);
}

void tile_keys_values(const EncoderLayer& layer, const LayerContext& context, int64_t head_dim,
                      const float* x, RowRange rows, const KeyValuePlanes& planes,
                      TileScratch& scratch) {
  const int64_t heads = context.plan->pattern.heads;
  const int64_t hidden = heads * head_dim;
  const float* in = attention_input(layer.attention, rows.size(), hidden, x + rows.begin * hidden,
                                    scratch.attended_rows);
  project_keys_values(context, layer.attention, head_dim, scratch.input.convert(0, rows.size(), in),
                      rows, {0, heads}, planes, scratch.sums);
}

void tile_attend(const EncoderLayer& layer, const LayerContext& context, int64_t head_dim,
                 const float* x, const RowTile& tile, const KeyValuePlanes& planes,
                 const float* global_context, float* attended, TileScratch& scratch,
                 const LayerRecord* record) {
  const AttentionPlan& plan = *context.plan;
  const int64_t heads = plan.pattern.heads;
  const int64_t hidden = heads * head_dim;
  const RowRange rows{tile.begin, tile.end};
  const float* in = attention_input(layer.attention, rows.size(), hidden, x + tile.begin * hidden,
                                    scratch.attended_rows);
  scratch.queries.tile = &tile;
  const QueryPlanes& queries = record == nullptr ? scratch.queries : record->queries;
  const AttendRecord attend_record = record == nullptr ? AttendRecord{} : record->attend_record();
  project_queries(context, layer.attention, head_dim, scratch.input.convert(0, rows.size(), in),
                  rows, {0, heads}, queries, scratch.sums);
  // Head by head: its keys and values serve all query tiles while they are in the cache.
  for (int32_t head = 0; head < heads; ++head) {
    for (int32_t t = tile.first_tile; t < tile.first_tile + tile.tile_count; ++t) {
      if (plan.tiles[t].group != plan.head_group[head]) continue;
      attend(plan, head_dim, t, head, queries, planes, attended, tile.begin, scratch.attention,
             attend_record);
    }
  }
  replace_global_rows(plan, hidden, rows, global_context, attended);
}

void tile_finish(const EncoderLayer& layer, int64_t rows, const float* attended, const float* x,
                 float* y, TileScratch& scratch, const LayerRecord* record, int64_t first_row) {
  const FeedForwardWeights& feed_forward = layer.feed_forward;
  const AttentionWeights& attention = layer.attention;
  const int64_t hidden = feed_forward.outer.weight.out_features();
  const auto add = [&](const Linear& linear, const LayerNorm& norm, int64_t count,
                       const kernels::Rows& input, const float* from, float* to,
                       const ResidualRecord& kept) {
    if (record == nullptr) {
      return add_linear(linear, norm, attention.placement, count, input, from, to, scratch.sums);
    }
    add_linear(linear, norm, attention.placement, count, input, from, to, scratch.sums, kept);
  };
  float* a = scratch.attended_rows;
  add(attention.output, attention.norm, rows, scratch.context.convert(0, rows, attended), x, a,
      record == nullptr ? ResidualRecord{} : record->attention_record(first_row, hidden));
  for (int64_t first = 0; first < rows; first += kFeedForwardRows) {
    const int64_t count = std::min(kFeedForwardRows, rows - first);
    const float* from = a + first * hidden;
    const float* in = feed_forward_input(feed_forward, count, hidden, from, scratch.sums);
    feed_forward_inner(feed_forward, count, scratch.attended.convert(0, count, in),
                       {0, feed_forward.intermediate()},
                       scratch.inner.buffer(0, scratch.inner_sums), scratch.inner_sums);
    add(feed_forward.outer, feed_forward.norm, count, scratch.inner.rows(0, scratch.inner_sums),
        from, y + first * hidden,
        record == nullptr ? ResidualRecord{}
                          : record->feed_forward_record(first_row + first, hidden));
  }
}

}  // namespace longformer
