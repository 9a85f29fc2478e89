#include "nn/column_layer.h"

#include <algorithm>

#include "base/thread_pool.h"

namespace longformer {
namespace {

constexpr int64_t kRowsOfAPart = 128;  // rows of a product, where there are as many

// The i-th of `parts` nearly equal ranges of [0, total) in multiples of quantum.
RowRange cut(int64_t total, int64_t quantum, int64_t parts, int64_t i) {
  const int64_t quanta = (total + quantum - 1) / quantum;
  return {std::min(total, quanta * i / parts * quantum),
          std::min(total, quanta * (i + 1) / parts * quantum)};
}

// Rows cut into as many tiles as are worth it, and columns into parts, so that all threads have
// the same work.
struct Cuts {
  int64_t rows = 0;
  int64_t row_tiles = 1;
  int64_t parts = 1;

  Cuts(int64_t row_count, int64_t tiles, int threads) : rows(row_count), row_tiles(tiles) {
    parts = kernels::splits_columns() ? threads / row_tiles : 1;
    if (parts == 1) row_tiles = std::min<int64_t>(threads, rows);
  }
  Cuts(int64_t row_count, int threads) : Cuts(row_count, best_tiles(row_count, threads), threads) {}
  static int64_t best_tiles(int64_t rows, int threads) {
    const int64_t most = std::clamp<int64_t>(rows / kRowsOfAPart, 1, threads);
    int64_t best = 1;
    for (int64_t tiles = 1; tiles <= most; ++tiles) {
      if (threads % tiles == 0) best = tiles;
    }
    return best;
  }
  int64_t count() const { return row_tiles * parts; }
  // Threads that take units in order meet the same columns, not the same rows.
  RowRange rows_of(int64_t unit) const { return cut(rows, 1, row_tiles, unit / parts); }
  RowRange columns_of(int64_t unit, int64_t total, int64_t quantum) const {
    return cut(total, quantum, parts, unit % parts);
  }
  int64_t most_rows() const { return (rows + row_tiles - 1) / row_tiles; }
  int64_t most_columns(int64_t total, int64_t quantum) const {
    const int64_t quanta = (total + quantum - 1) / quantum;
    return std::min(total, (quanta + parts - 1) / parts * quantum);
  }
};

// Whether columns of the intermediate tensor may be cut.
bool cuts_intermediate(const FeedForwardWeights& weights) {
  return weights.kind == FeedForwardKind::kPlain ||
         weights.intermediate() % kernels::kColumnQuantum == 0;
}

// Columns of one unit's sums, at most.
int64_t sum_columns(const EncoderLayer& layer, const Cuts& cuts, int64_t hidden, int64_t head_dim) {
  const FeedForwardWeights& feed_forward = layer.feed_forward;
  const int64_t intermediate = feed_forward.intermediate();
  const int64_t gates = inner_columns(feed_forward) / intermediate;
  const int64_t inner = cuts_intermediate(feed_forward)
                            ? cuts.most_columns(intermediate, kernels::kColumnQuantum)
                            : intermediate;
  return std::max({cuts.most_columns(hidden / head_dim, head_quantum(head_dim)) * head_dim,
                   cuts.most_columns(hidden, kernels::kColumnQuantum), inner * gates});
}

// Of one thread, for any number of rows up to `rows`: fewer rows may be cut into fewer tiles.
int64_t most_sums(const EncoderLayer& layer, int64_t rows, int threads, int64_t hidden,
                  int64_t head_dim) {
  int64_t most = 0;
  for (int64_t tiles = 1; tiles <= threads; ++tiles) {
    if (threads % tiles != 0) continue;
    const Cuts cuts(rows, tiles, threads);
    most = std::max(most, cuts.most_rows() * sum_columns(layer, cuts, hidden, head_dim));
  }
  return most;
}

size_t bytes_of(const EncoderLayer& layer, int64_t head_dim, int64_t rows, int64_t query_rows,
                int threads) {
  const AttentionWeights& a = layer.attention;
  const FeedForwardWeights& f = layer.feed_forward;
  const int64_t hidden = f.outer.weight.out_features();
  const size_t sums = Arena::bytes_for(most_sums(layer, rows, threads, hidden, head_dim));
  return Arena::bytes_for(query_rows * hidden, dtype_size(plane_type(a))) +
         3 * Arena::bytes_for(rows * hidden) + Arena::bytes_for(rows * f.intermediate()) +
         Operand::bytes_for(rows, hidden, a.query.weight.row_type()) +
         Operand::bytes_for(rows, hidden, a.output.weight.row_type()) +
         Operand::bytes_for(rows, hidden, f.inner.weight.row_type()) +
         Operand::bytes_for(rows, f.intermediate(), f.outer.weight.row_type()) +
         static_cast<size_t>(threads) * sums;
}

}  // namespace

size_t ColumnLayer::bytes_for(const EncoderLayer& layer, const AttentionPlan& plan,
                              int64_t head_dim, int threads) {
  return bytes_of(layer, head_dim, plan.rows, QueryPlanes::rows_needed(plan, nullptr), threads) +
         static_cast<size_t>(threads) *
             AttentionScratch::bytes_for(plan, head_dim, plane_type(layer.attention));
}

void ColumnLayer::resize(const EncoderLayer& layer, const AttentionPlan& plan, int64_t head_dim,
                         int threads) {
  take(layer, head_dim, plan.rows, QueryPlanes::rows_needed(plan, nullptr), threads);
  attention_.resize(static_cast<size_t>(threads));
  for (AttentionScratch& scratch : attention_) scratch.resize(plan, head_dim, queries_.type);
}

void ColumnLayer::resize_for_finish(const EncoderLayer& layer, int64_t head_dim, int64_t rows,
                                    int threads) {
  take(layer, head_dim, rows, 0, threads);
}

void ColumnLayer::take(const EncoderLayer& layer, int64_t head_dim, int64_t rows,
                       int64_t query_rows, int threads) {
  const AttentionWeights& a = layer.attention;
  const FeedForwardWeights& f = layer.feed_forward;
  const int64_t hidden = f.outer.weight.out_features();
  threads_ = threads;
  rows_ = rows;
  arena_.reset(bytes_of(layer, head_dim, rows, query_rows, threads));
  queries_.type = plane_type(a);
  queries_.plane_rows = query_rows;
  queries_.tile = nullptr;
  const int64_t bytes = query_rows * hidden * static_cast<int64_t>(dtype_size(queries_.type));
  queries_.q = arena_.take<std::byte>(bytes);
  // Rows that round a query tile up are multiplied too and must be finite.
  std::fill_n(static_cast<std::byte*>(queries_.q), bytes, std::byte{0});
  normed_ = arena_.floats(rows * hidden);
  attended_ = arena_.floats(rows * hidden);
  half_rows_ = arena_.floats(rows * hidden);
  inner_rows_ = arena_.floats(rows * f.intermediate());
  input_.take(arena_, rows, hidden, a.query.weight.row_type());
  context_.take(arena_, rows, hidden, a.output.weight.row_type());
  half_.take(arena_, rows, hidden, f.inner.weight.row_type());
  inner_.take(arena_, rows, f.intermediate(), f.outer.weight.row_type());
  sums_.clear();
  for (int t = 0; t < threads; ++t) {
    sums_.push_back(arena_.floats(most_sums(layer, rows, threads, hidden, head_dim)));
  }
}

void ColumnLayer::attend(const EncoderLayer& layer, const LayerContext& context, int64_t head_dim,
                         const float* x, const KeyValuePlanes& planes, const float* global_context,
                         ThreadPool& pool) {
  const AttentionPlan& plan = *context.plan;
  const AttentionWeights& weights = layer.attention;
  const int64_t heads = plan.pattern.heads;
  const int64_t hidden = heads * head_dim;
  const Cuts cuts(rows_, threads_);
  const bool normalizes = weights.placement == NormPlacement::kPre && !weights.norm.empty();
  const float* in = normalizes ? normed_ : x;
  if (normalizes || weights.query.weight.row_type() != DType::kF32) {
    pool.run(threads_, [&](int64_t i, int) {
      const RowRange rows = cut(rows_, 1, threads_, i);
      if (rows.size() == 0) return;
      const int64_t at = rows.begin * hidden;
      input_.convert(rows.begin, rows.size(),
                     attention_input(weights, rows.size(), hidden, x + at, normed_ + at));
    });
  }
  pool.run(cuts.count(), [&](int64_t unit, int worker) {
    const RowRange rows = cuts.rows_of(unit);
    const RowRange part = cuts.columns_of(unit, heads, head_quantum(head_dim));
    if (part.size() == 0) return;
    const kernels::Rows input = input_.rows(rows.begin, in + rows.begin * hidden);
    const HeadRange range{part.begin, part.end};
    project_keys_values(context, weights, head_dim, input, rows, range, planes, sums_[worker]);
    project_queries(context, weights, head_dim, input, rows, range, queries_, sums_[worker]);
  });
  pool.run(static_cast<int64_t>(plan.tiles.size()) * heads, [&](int64_t unit, int worker) {
    const auto tile = static_cast<int32_t>(unit / heads);
    const auto head = static_cast<int32_t>(unit % heads);
    if (plan.tiles[tile].group != plan.head_group[head]) return;
    longformer::attend(plan, head_dim, tile, head, queries_, planes, attended_, 0,
                       attention_[worker]);
  });
  replace_global_rows(plan, hidden, {0, rows_}, global_context, attended_);
}

void ColumnLayer::finish(const EncoderLayer& layer, int64_t rows, const float* attended,
                         const float* x, float* y, ThreadPool& pool) {
  const AttentionWeights& attention = layer.attention;
  const FeedForwardWeights& feed_forward = layer.feed_forward;
  const int64_t hidden = attention.output.weight.out_features();
  const int64_t intermediate = feed_forward.intermediate();
  const Cuts cuts(rows, threads_);
  const auto by_rows = [&](const auto& body) {
    pool.run(threads_, [&](int64_t i, int) {
      const RowRange range = cut(rows, 1, threads_, i);
      if (range.size() > 0) body(range.begin, range.size());
    });
  };
  const auto by_columns = [&](int64_t total, const auto& body) {
    pool.run(cuts.count(), [&](int64_t unit, int worker) {
      const RowRange range = cuts.rows_of(unit);
      const RowRange part = cuts.columns_of(unit, total, kernels::kColumnQuantum);
      if (part.size() > 0) {
        body(range, kernels::Columns{part.begin, part.size()}, sums_[worker]);
      }
    });
  };
  const auto normalize = [&](const LayerNorm& norm, int64_t first, int64_t count, float* values) {
    kernels::layer_norm(count, hidden, values + first * hidden, norm.gamma.data(), norm.beta.data(),
                        norm.eps, values + first * hidden);
  };

  if (attention.output.weight.row_type() != DType::kF32) {
    by_rows([&](int64_t first, int64_t count) {
      context_.convert(first, count, attended + first * hidden);
    });
  }
  by_columns(hidden, [&](RowRange range, kernels::Columns columns, float* sums) {
    const int64_t at = range.begin * hidden;
    add_linear_columns(attention.output, range.size(), context_.rows(range.begin, attended + at),
                       columns, x + at, half_rows_ + at, sums);
  });
  const bool pre = feed_forward.placement == NormPlacement::kPre;
  const float* in = pre && !feed_forward.norm.empty() ? normed_ : half_rows_;
  by_rows([&](int64_t first, int64_t count) {
    const int64_t at = first * hidden;
    if (attention.placement == NormPlacement::kPost) {
      normalize(attention.norm, first, count, half_rows_);
    }
    half_.convert(first, count,
                  feed_forward_input(feed_forward, count, hidden, half_rows_ + at, normed_ + at));
  });
  // u8 rows are rounded as a whole, so their columns are collected in f32 first.
  const DType inner_type = feed_forward.outer.weight.row_type();
  const auto inner_columns_into = [&](RowRange range, kernels::Columns columns, float* sums) {
    kernels::RowsBuffer out{DType::kF32, inner_rows_ + range.begin * intermediate + columns.first,
                            intermediate, nullptr, nullptr};
    if (inner_type == DType::kBF16) {
      out = inner_.buffer(range.begin, nullptr);
      out.data = static_cast<BFloat16*>(out.data) + columns.first;
    }
    feed_forward_inner(feed_forward, range.size(),
                       half_.rows(range.begin, in + range.begin * hidden), columns, out, sums);
  };
  if (cuts_intermediate(feed_forward)) {
    by_columns(intermediate, inner_columns_into);
  } else {
    pool.run(cuts.row_tiles, [&](int64_t tile, int worker) {
      inner_columns_into(cut(rows, 1, cuts.row_tiles, tile), {0, intermediate}, sums_[worker]);
    });
  }
  if (inner_type == DType::kU8) {
    by_rows([&](int64_t first, int64_t count) {
      inner_.convert(first, count, inner_rows_ + first * intermediate);
    });
  }
  by_columns(hidden, [&](RowRange range, kernels::Columns columns, float* sums) {
    const int64_t at = range.begin * hidden;
    add_linear_columns(feed_forward.outer, range.size(),
                       inner_.rows(range.begin, inner_rows_ + range.begin * intermediate), columns,
                       half_rows_ + at, y + at, sums);
  });
  if (!pre) {
    by_rows([&](int64_t first, int64_t count) { normalize(feed_forward.norm, first, count, y); });
  }
}

}  // namespace longformer
