#include "attention/forward.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "attention/align.h"
#include "attention/global_forward.h"
#include "attention/tile.h"
#include "base/limits.h"
#include "base/thread_pool.h"
#include "kernels/gemm.h"
#include "kernels/rowwise.h"
#include "longformer/error.h"
#include "tensor/arena.h"

namespace longformer {
namespace {

constexpr int64_t kPackRows = 256;  // rows of one packing task
constexpr float kNothing = -std::numeric_limits<float>::infinity();

// What the second product multiplies: in f32 the strip itself, in bf16 its rounded copy.
float* strip_probabilities(float* scores, void*, float) { return scores; }
BFloat16* strip_probabilities(float*, void* copy, BFloat16) { return static_cast<BFloat16*>(copy); }

// The running softmax of one tile, strip by strip.
template <typename T>
class TileSoftmax {
 public:
  TileSoftmax(const AttentionPlan& plan, const QueryTile& tile, int64_t head_dim, const T* q,
              const AttentionScratch::Parts& scratch, const TileDropout* dropout)
      : plan_(plan),
        tile_(tile),
        dropout_(dropout),
        head_dim_(head_dim),
        rows_(round_up(tile.rows, kRowAlign)),
        q_(q),
        scores_(scratch.scores),
        probabilities_(strip_probabilities(scratch.scores, scratch.probabilities, T{})),
        out_(scratch.out),
        gathered_(static_cast<T*>(scratch.gathered)) {
    std::fill_n(max_, rows_, kNothing);
    std::fill_n(sum_, rows_, 0.0f);
    for (int64_t r = 0; r < rows_; ++r) counts_[r] = r < tile.rows && query_counts(plan, tile, r);
  }

  bool any_query() const { return std::find(counts_, counts_ + rows_, true) != counts_ + rows_; }

  // Global columns, gathered in front of the ranges: every query counts them.
  void add_globals(const std::vector<int32_t>& key_rows, const T* k, const T* v) {
    const int64_t total = static_cast<int64_t>(key_rows.size());
    for (int64_t first = 0; first < total; first += kStripKeys) {
      const int64_t count = std::min(kStripKeys, total - first);
      const int64_t width = round_up(count, kGatherAlign);
      T* keys = gathered_;
      T* values = keys + width * head_dim_;
      const std::span<const int32_t> rows(key_rows.data() + first, static_cast<size_t>(count));
      gather_rows(rows, width, head_dim_, k, keys);
      gather_rows(rows, width, head_dim_, v, values);
      for (int64_t r = 0; r < rows_; ++r) {
        begin_[r] = 0;
        end_[r] = counts_[r] ? static_cast<int32_t>(count) : 0;
      }
      kernels::matmul_nt(rows_, width, head_dim_, q_, keys, scores_);
      add_scores(width, values, [&](const TileDropout& dropout) {
        dropout.drop_globals(first, count, width, scores_);
      });
    }
  }

  void add_range(const KeyRange& range, const T* k, const T* v) {
    const int64_t width = range.end - range.begin;
    kernels::matmul_nt(rows_, width, head_dim_, q_, k + range.begin * head_dim_, scores_);
    if (!range.full) mask_excluded(range, width);
    for (int64_t r = 0; r < rows_; ++r) set_limits(range, r);
    add_scores(width, v + range.begin * head_dim_,
               [&](const TileDropout& dropout) { dropout.drop_keys(range.begin, width, scores_); });
  }

  void finish(float* out, int64_t out_stride, float* lse) const {
    kernels::normalize_rows(tile_.rows, head_dim_, out_, sum_, out_stride, out);
    if (lse == nullptr) return;
    for (int64_t r = 0; r < tile_.rows; ++r) {
      lse[r] = sum_[r] == 0.0f ? kNothing : max_[r] + std::log(sum_[r]);
    }
  }

 private:
  void mask_excluded(const KeyRange& range, int64_t width) {
    for (const int32_t key : excluded_in(plan_, tile_, range)) {
      float* column = scores_ + (key - range.begin);
      for (int64_t r = 0; r < rows_; ++r) column[r * width] = kNothing;
    }
  }

  void set_limits(const KeyRange& range, int64_t r) {
    const KeySpan keys = keys_of_query(tile_, range, r);
    const bool some = counts_[r] && keys.begin < keys.end;
    begin_[r] = some ? keys.begin - range.begin : 0;
    end_[r] = some ? keys.end - range.begin : 0;
  }

  // drop: what is done to the probabilities, in f32, where there is dropout.
  template <typename Drop>
  void add_scores(int64_t width, const T* values, const Drop& drop) {
    constexpr bool kRounded = std::is_same_v<T, BFloat16>;
    if (dropout_ != nullptr || !kRounded) {
      kernels::softmax_strip(rows_, width, begin_, end_, scores_, max_, sum_, correction_);
    }
    if (dropout_ != nullptr) drop(*dropout_);
    if constexpr (kRounded) {
      if (dropout_ == nullptr) {
        kernels::softmax_strip(rows_, width, begin_, end_, scores_, max_, sum_, correction_,
                               probabilities_);
      } else {
        kernels::to_rows(rows_, width, scores_,
                         {DType::kBF16, probabilities_, width, nullptr, nullptr});
      }
    }
    if (!first_) kernels::scale_rows(rows_, head_dim_, correction_, out_);
    kernels::matmul_nn(rows_, head_dim_, width, probabilities_, values, out_,
                       first_ ? kernels::Accumulate::kNo : kernels::Accumulate::kYes);
    first_ = false;
  }

  const AttentionPlan& plan_;
  const QueryTile& tile_;
  const TileDropout* dropout_;
  const int64_t head_dim_;
  const int64_t rows_;  // of the products: tile.rows rounded up
  const T* q_;
  float* scores_;     // [rows][keys of the strip]
  T* probabilities_;  // the same shape; in f32 the same memory
  float* out_;        // [rows][head_dim], not yet divided by the sums
  T* gathered_;       // keys, then values of global columns
  bool first_ = true;
  bool counts_[kQueryRows];
  int32_t begin_[kQueryRows];
  int32_t end_[kQueryRows];
  float max_[kQueryRows];
  float sum_[kQueryRows];
  float correction_[kQueryRows];
};

void write_nothing(const QueryTile& tile, int64_t head_dim, float* out, int64_t out_stride,
                   float* lse) {
  for (int64_t r = 0; r < tile.rows; ++r) std::fill_n(out + r * out_stride, head_dim, 0.0f);
  if (lse != nullptr) std::fill_n(lse, tile.rows, kNothing);
}

// Token-major inputs of all rows on their way to tiles of type T and back.
template <typename T>
class BatchForward {
 public:
  BatchForward(const AttentionPlan& plan, int64_t head_dim, ThreadPool& pool)
      : plan_(plan), head_dim_(head_dim), heads_(plan.pattern.heads), pool_(pool) {
    const int64_t plane = heads_ * plan.key_rows * head_dim;
    const int64_t queries = kQueryRows * head_dim;
    arena_.reset(2 * Arena::bytes_for(plane, sizeof(T)) +
                 static_cast<size_t>(pool.threads()) * Arena::bytes_for(queries, sizeof(T)));
    keys_ = arena_.take<T>(plane);
    values_ = arena_.take<T>(plane);
    scratch_.resize(static_cast<size_t>(pool.threads()));
    for (AttentionScratch& scratch : scratch_) {
      scratch.resize(plan, head_dim, kType);
      queries_.push_back(arena_.take<T>(queries));
    }
  }

  void pack(const float* k, const float* v) {
    pool_.run(heads_, [&](int64_t head, int) {
      const int64_t plane = plan_.key_rows * head_dim_;
      std::fill_n(keys_ + head * plane, plane, T{});
      std::fill_n(values_ + head * plane, plane, T{});
    });
    const int64_t chunks = (plan_.rows + kPackRows - 1) / kPackRows;
    pool_.run(chunks, [&](int64_t chunk, int) {
      const int64_t end = std::min(plan_.rows, (chunk + 1) * kPackRows);
      for (int64_t row = chunk * kPackRows; row < end; ++row) {
        if (plan_.valid_row[static_cast<size_t>(row)] != 0) pack_row(row, k, v);
      }
    });
  }

  void attend(const float* q, float* out, float* lse) {
    const int64_t units = static_cast<int64_t>(plan_.blocks.size()) * heads_;
    pool_.run(units, [&](int64_t unit, int worker) {
      const RowBlock& block = plan_.blocks[static_cast<size_t>(unit / heads_)];
      const int64_t head = unit % heads_;
      for (int32_t t = block.first_tile; t < block.first_tile + block.tile_count; ++t) {
        const QueryTile& tile = plan_.tiles[static_cast<size_t>(t)];
        if (tile.group == plan_.head_group[static_cast<size_t>(head)]) {
          attend_tile(tile, head, worker, q, out, lse);
        }
      }
    });
  }

 private:
  void store(const float* from, T* to) const {
    kernels::to_rows(1, head_dim_, from, {kType, to, head_dim_, nullptr, nullptr});
  }

  void pack_row(int64_t row, const float* k, const float* v) {
    for (int64_t head = 0; head < heads_; ++head) {
      const auto group = static_cast<size_t>(plan_.head_group[static_cast<size_t>(head)]);
      const int64_t key_row = plan_.groups[group].key_row[static_cast<size_t>(row)];
      const int64_t to = (head * plan_.key_rows + key_row) * head_dim_;
      const int64_t from = (row * heads_ + head) * head_dim_;
      store(k + from, keys_ + to);
      store(v + from, values_ + to);
    }
  }

  void attend_tile(const QueryTile& tile, int64_t head, int worker, const float* q, float* out,
                   float* lse) {
    T* queries = queries_[static_cast<size_t>(worker)];
    for (int64_t r = 0; r < tile.rows; ++r) {
      const int64_t row = tile.first_row + r * tile.step;
      store(q + (row * heads_ + head) * head_dim_, queries + r * head_dim_);
    }
    const int64_t padding = round_up(tile.rows, kRowAlign) - tile.rows;
    std::fill_n(queries + tile.rows * head_dim_, padding * head_dim_, T{});
    const int64_t plane = head * plan_.key_rows * head_dim_;
    float tile_lse[kQueryRows];
    attention_tile(plan_, tile, head_dim_, queries, keys_ + plane, values_ + plane,
                   out + (tile.first_row * heads_ + head) * head_dim_,
                   tile.step * heads_ * head_dim_, lse == nullptr ? nullptr : tile_lse,
                   scratch_[static_cast<size_t>(worker)]);
    if (lse == nullptr) return;
    for (int64_t r = 0; r < tile.rows; ++r) {
      lse[(tile.first_row + r * tile.step) * heads_ + head] = tile_lse[r];
    }
  }

  static constexpr DType kType = std::is_same_v<T, float> ? DType::kF32 : DType::kBF16;
  const AttentionPlan& plan_;
  const int64_t head_dim_;
  const int64_t heads_;
  ThreadPool& pool_;
  Arena arena_;
  T* keys_ = nullptr;                      // [heads][key_rows][head_dim]
  T* values_ = nullptr;                    // the same
  std::vector<T*> queries_;                // per worker: [kQueryRows][head_dim]
  std::vector<AttentionScratch> scratch_;  // per worker
};

}  // namespace

namespace {

struct ScratchSizes {
  int64_t scores, copy, out, keys;  // elements
  bool rounded;
};

ScratchSizes scratch_sizes(const AttentionPlan& plan, int64_t head_dim, DType type) {
  int64_t width = 0;
  for (const KeyRange& range : plan.ranges) {
    width = std::max<int64_t>(width, range.end - range.begin);
  }
  size_t columns = 0;
  for (const HeadGroup& group : plan.groups) {
    for (const std::vector<int32_t>& rows : group.global_key_rows) {
      columns = std::max(columns, rows.size());
    }
  }
  const int64_t gathered =
      std::min(round_up(static_cast<int64_t>(columns), kGatherAlign), kStripKeys);
  const int64_t scores = kQueryRows * std::max(width, gathered);
  const bool rounded = type == DType::kBF16;
  return {scores, rounded ? scores : 0, kQueryRows * head_dim, 2 * gathered * head_dim, rounded};
}

size_t scratch_bytes(const ScratchSizes& s) {
  const size_t key_size = s.rounded ? sizeof(BFloat16) : sizeof(float);
  return Arena::bytes_for(s.scores) + Arena::bytes_for(s.copy, sizeof(BFloat16)) +
         Arena::bytes_for(s.out) + Arena::bytes_for(s.keys, key_size);
}

}  // namespace

size_t AttentionScratch::bytes_for(const AttentionPlan& plan, int64_t head_dim, DType type) {
  return scratch_bytes(scratch_sizes(plan, head_dim, type));
}

void AttentionScratch::resize(const AttentionPlan& plan, int64_t head_dim, DType type) {
  const auto [scores, copy, out, keys, rounded] = scratch_sizes(plan, head_dim, type);
  arena_.reset(scratch_bytes({scores, copy, out, keys, rounded}));
  parts_.scores = arena_.take<float>(scores);
  parts_.probabilities = arena_.take<BFloat16>(copy);
  parts_.out = arena_.take<float>(out);
  if (rounded) {
    parts_.gathered = arena_.take<BFloat16>(keys);
  } else {
    parts_.gathered = arena_.take<float>(keys);
  }
}

template <typename T>
void attention_tile(const AttentionPlan& plan, const QueryTile& tile, int64_t head_dim, const T* q,
                    const T* k, const T* v, float* out, int64_t out_stride, float* lse,
                    AttentionScratch& scratch, int64_t head, const AttentionDropout* dropout) {
  const std::vector<int32_t>& globals = global_columns(plan, tile);
  std::optional<TileDropout> drop;
  if (dropout != nullptr && dropout->rule.drops()) drop.emplace(plan, tile, head, *dropout);
  TileSoftmax<T> softmax(plan, tile, head_dim, q, scratch.parts(), drop ? &*drop : nullptr);
  if ((tile.range_count == 0 && globals.empty()) || !softmax.any_query()) {
    write_nothing(tile, head_dim, out, out_stride, lse);
    return;
  }
  softmax.add_globals(globals, k, v);
  for (int32_t i = tile.first_range; i < tile.first_range + tile.range_count; ++i) {
    softmax.add_range(plan.ranges[static_cast<size_t>(i)], k, v);
  }
  softmax.finish(out, out_stride, lse);
}

template void attention_tile(const AttentionPlan&, const QueryTile&, int64_t, const float*,
                             const float*, const float*, float*, int64_t, float*, AttentionScratch&,
                             int64_t, const AttentionDropout*);
template void attention_tile(const AttentionPlan&, const QueryTile&, int64_t, const BFloat16*,
                             const BFloat16*, const BFloat16*, float*, int64_t, float*,
                             AttentionScratch&, int64_t, const AttentionDropout*);

void attention_forward(const AttentionPlan& plan, int64_t head_dim, const float* q, const float* k,
                       const float* v, const GlobalInputs& global, float* out, float* lse,
                       ThreadPool& pool, DType type) {
  if (head_dim < 1 || head_dim > kMaxHeadDim) {
    throw Error(ErrorCode::kInvalidArgument,
                "head_dim is " + std::to_string(head_dim) + "; allowed are 1 to " +
                    std::to_string(kMaxHeadDim),
                "attention forward");
  }
  const bool own = plan.pattern.global_projections;
  if (own && !plan.global_rows.empty() &&
      (global.q == nullptr || global.k == nullptr || global.v == nullptr)) {
    throw Error(ErrorCode::kInvalidArgument,
                "the pattern has global rows with projections of their own, but no global q, k, v "
                "were given",
                "attention forward");
  }
  const auto run = [&](auto batch) {
    batch.pack(k, v);
    batch.attend(q, out, lse);
  };
  if (type == DType::kBF16) {
    run(BatchForward<BFloat16>(plan, head_dim, pool));
  } else {
    run(BatchForward<float>(plan, head_dim, pool));
  }
  global_rows_forward(plan, head_dim, own ? global : GlobalInputs{q, k, v}, out, lse, pool);
}

}  // namespace longformer
