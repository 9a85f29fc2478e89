// For one tile of queries and one strip of keys (backward.h has the formulas):
//   scores = Q Kᵀ, d_scores = dO Vᵀ    then P and dS in their places    dQ += dS K
//   dK += dSᵀ Q, dV += Pᵀ dO
// With dropout Z of probability 1 - keep: d_scores = Z / keep ∘ dO Vᵀ, dV += (P ∘ Z / keep)ᵀ dO;
// delta = rowsum(dO ∘ O) needs no change, O being what came out. Nothing runs from strip to strip,
// so strips are as short as the caches like them. A row that adds nothing is zero in P, in dS, and
// wherever it would be multiplied: what it holds is never read. Cost: 10 · head_dim FLOP a computed
// (query, key) pair, and about a tenth more for everything but the products.
#include "attention/backward_tile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "attention/align.h"
#include "attention/tile.h"
#include "base/limits.h"
#include "kernels/gemm.h"
#include "kernels/rowwise.h"
#include "kernels/rowwise_backward.h"

namespace longformer {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

template <typename T>
constexpr DType kTypeOf = std::is_same_v<T, BFloat16> ? DType::kBF16 : DType::kF32;

// What a product multiplies: in f32 the strip itself, in bf16 a rounded copy.
const float* rounded(int64_t, int64_t, const float* strip, void*, float) { return strip; }
const BFloat16* rounded(int64_t rows, int64_t width, const float* strip, void* copy, BFloat16) {
  kernels::to_rows(rows, width, strip, {DType::kBF16, copy, width, nullptr, nullptr});
  return static_cast<const BFloat16*>(copy);
}

float widened(float value) { return value; }
float widened(BFloat16 value) { return bf16_to_f32(value.bits); }

// Parts of at most `longest` keys, all but the last equally long.
int64_t part_width(int64_t width, int64_t longest) {
  const int64_t parts = (width + longest - 1) / longest;
  return round_up((width + parts - 1) / parts, kKeyAlign);
}

template <typename T>
class TileBackward {
 public:
  TileBackward(const AttentionPlan& plan, const QueryTile& tile, int64_t head_dim,
               const BackwardTile<T>& inputs, const TileDropout* dropout, const KeySums& sums,
               const BackwardScratch::Parts& scratch)
      : plan_(plan),
        tile_(tile),
        head_dim_(head_dim),
        rows_(round_up(tile.rows, kRowAlign)),
        inputs_(inputs),
        dropout_(dropout),
        sums_(sums),
        scratch_(scratch),
        q_(inputs.q),
        d_out_(static_cast<T*>(scratch.d_out)) {}

  // False where no row of the tile adds anything; d_q is zero then.
  bool load(const uint8_t* adds) {
    bool any = false;
    bool all = rows_ == tile_.rows;
    for (int64_t r = 0; r < rows_; ++r) {
      counts_[r] = r < tile_.rows && adds[tile_.first_row + r * tile_.step] != 0 &&
                   inputs_.logsumexp[r] != kNothing;
      logsumexp_[r] = counts_[r] ? inputs_.logsumexp[r] : kNothing;
      delta_[r] = 0.0f;
      any |= counts_[r];
      all &= counts_[r];
      if (!counts_[r]) std::fill_n(d_out_ + r * head_dim_, head_dim_, T{});
    }
    if (!any) {
      std::fill_n(inputs_.d_q, rows_ * head_dim_, 0.0f);
      return false;
    }
    load_d_out();
    if (!all) copy_queries();
    return true;
  }

  void add_globals(const std::vector<int32_t>& key_rows) {
    const auto total = static_cast<int64_t>(key_rows.size());
    for (int64_t first = 0; first < total; first += kBackwardKeys) {
      const int64_t count = std::min(kBackwardKeys, total - first);
      const int64_t width = round_up(count, kGatherAlign);
      T* keys = static_cast<T*>(scratch_.gathered);
      T* values = keys + width * head_dim_;
      const std::span<const int32_t> rows(key_rows.data() + first, static_cast<size_t>(count));
      gather_rows(rows, width, head_dim_, inputs_.k, keys);
      gather_rows(rows, width, head_dim_, inputs_.v, values);
      for (int64_t r = 0; r < rows_; ++r) {
        begin_[r] = 0;
        end_[r] = counts_[r] ? static_cast<int32_t>(count) : 0;
      }
      scores(width, keys, values);
      add_strip(width, keys, sums_.global_k + first * head_dim_, sums_.global_v + first * head_dim_,
                [&](float* x) { dropout_->drop_globals(first, count, width, x); });
    }
  }

  void add_range(const KeyRange& range) {
    const int64_t step = part_width(range.end - range.begin, kBackwardKeys);
    for (int64_t begin = range.begin; begin < range.end; begin += step) {
      const int64_t end = std::min<int64_t>(begin + step, range.end);
      add_part({static_cast<int32_t>(begin), static_cast<int32_t>(end), range.full});
    }
  }

 private:
  // delta from what the products read, so that it cancels what it should.
  void load_d_out() {
    float read[kMaxHeadDim];
    for (int64_t r = 0; r < tile_.rows; ++r) {
      if (!counts_[r]) continue;
      T* to = d_out_ + r * head_dim_;
      kernels::to_rows(1, head_dim_, inputs_.d_out + r * inputs_.stride,
                       {kTypeOf<T>, to, head_dim_, nullptr, nullptr});
      for (int64_t c = 0; c < head_dim_; ++c) read[c] = widened(to[c]);
      delta_[r] = kernels::dot(head_dim_, read, inputs_.out + r * inputs_.stride);
    }
  }

  void copy_queries() {
    T* to = static_cast<T*>(scratch_.queries);
    for (int64_t r = 0; r < rows_; ++r) {
      if (counts_[r]) {
        std::copy_n(inputs_.q + r * head_dim_, head_dim_, to + r * head_dim_);
      } else {
        std::fill_n(to + r * head_dim_, head_dim_, T{});
      }
    }
    q_ = to;
  }

  void add_part(const KeyRange& part) {
    const int64_t width = part.end - part.begin;
    const T* keys = inputs_.k + part.begin * head_dim_;
    scores(width, keys, inputs_.v + part.begin * head_dim_);
    if (!part.full) mask_excluded(part, width);
    for (int64_t r = 0; r < rows_; ++r) {
      const KeySpan span = keys_of_query(tile_, part, r);
      const bool some = counts_[r] && span.begin < span.end;
      begin_[r] = some ? span.begin - part.begin : 0;
      end_[r] = some ? span.end - part.begin : 0;
    }
    const int64_t sums = sums_.row_of(part.begin) * head_dim_;
    add_strip(width, keys, sums_.k + sums, sums_.v + sums,
              [&](float* x) { dropout_->drop_keys(part.begin, width, x); });
  }

  void mask_excluded(const KeyRange& part, int64_t width) {
    for (const int32_t key : excluded_in(plan_, tile_, part)) {
      float* column = scratch_.scores + (key - part.begin);
      for (int64_t r = 0; r < rows_; ++r) column[r * width] = kNothing;
    }
  }

  void scores(int64_t width, const T* keys, const T* values) {
    kernels::matmul_nt(rows_, width, head_dim_, q_, keys, scratch_.scores);
    kernels::matmul_nt(rows_, width, head_dim_, d_out_, values, scratch_.d_scores);
  }

  // drop: applies dropout to a strip.
  template <typename Drop>
  void add_strip(int64_t width, const T* keys, float* d_k, float* d_v, const Drop& drop) {
    constexpr auto kAdd = kernels::Accumulate::kYes;
    if (dropout_ != nullptr) drop(scratch_.d_scores);
    kernels::softmax_strip_backward(rows_, width, begin_, end_, logsumexp_, delta_, scratch_.scores,
                                    scratch_.d_scores);
    if (dropout_ != nullptr) drop(scratch_.scores);
    const T* d_scores = rounded(rows_, width, scratch_.d_scores, scratch_.rounded_d_scores, T{});
    const T* probabilities = rounded(rows_, width, scratch_.scores, scratch_.rounded_scores, T{});
    kernels::matmul_nn(rows_, head_dim_, width, d_scores, keys, inputs_.d_q,
                       first_ ? kernels::Accumulate::kNo : kAdd);
    kernels::matmul_tn(width, head_dim_, rows_, d_scores, q_, d_k, kAdd);
    kernels::matmul_tn(width, head_dim_, rows_, probabilities, d_out_, d_v, kAdd);
    first_ = false;
  }

  const AttentionPlan& plan_;
  const QueryTile& tile_;
  const int64_t head_dim_;
  const int64_t rows_;  // of the products: tile.rows rounded up
  const BackwardTile<T>& inputs_;
  const TileDropout* dropout_;
  const KeySums& sums_;
  const BackwardScratch::Parts& scratch_;
  const T* q_;
  T* d_out_;
  bool first_ = true;
  bool counts_[kQueryRows];
  int32_t begin_[kQueryRows];
  int32_t end_[kQueryRows];
  float logsumexp_[kQueryRows];
  float delta_[kQueryRows];
};

}  // namespace

int64_t KeySums::row_of(int32_t key) const noexcept {
  const auto behind = std::upper_bound(
      intervals.begin(), intervals.end(), key,
      [](int32_t row, const KeyInterval& interval) { return row < interval.begin; });
  const KeyInterval& interval = *(behind - 1);
  return interval.row + (key - interval.begin);
}

void BackwardScratch::resize(const AttentionPlan& plan, int64_t head_dim, DType type) {
  size_t columns = 0;
  for (const HeadGroup& group : plan.groups) {
    for (const std::vector<int32_t>& rows : group.global_key_rows) {
      columns = std::max(columns, rows.size());
    }
  }
  const int64_t gathered =
      std::min(round_up(static_cast<int64_t>(columns), kGatherAlign), kBackwardKeys);
  const int64_t strip = kQueryRows * kBackwardKeys;
  const int64_t tile = kQueryRows * head_dim;
  const size_t size = dtype_size(type);
  const int64_t copy = type == DType::kBF16 ? strip : 0;
  arena_.reset(2 * Arena::bytes_for(strip) + 2 * Arena::bytes_for(copy, sizeof(BFloat16)) +
               2 * Arena::bytes_for(tile, size) + Arena::bytes_for(2 * gathered * head_dim, size));
  const auto bytes = [&](int64_t count) {
    return arena_.take<std::byte>(count * static_cast<int64_t>(size));
  };
  parts_.scores = arena_.floats(strip);
  parts_.d_scores = arena_.floats(strip);
  parts_.rounded_scores = arena_.take<BFloat16>(copy);
  parts_.rounded_d_scores = arena_.take<BFloat16>(copy);
  parts_.queries = bytes(tile);
  parts_.d_out = bytes(tile);
  parts_.gathered = bytes(2 * gathered * head_dim);
}

template <typename T>
void attention_tile_backward(const AttentionPlan& plan, const QueryTile& tile, int64_t head_dim,
                             const BackwardTile<T>& inputs, const uint8_t* adds,
                             const TileDropout* dropout, const KeySums& sums,
                             BackwardScratch& scratch) {
  const std::vector<int32_t>& globals = global_columns(plan, tile);
  TileBackward<T> backward(plan, tile, head_dim, inputs, dropout, sums, scratch.parts());
  if (!backward.load(adds)) return;
  backward.add_globals(globals);
  for (int32_t i = tile.first_range; i < tile.first_range + tile.range_count; ++i) {
    backward.add_range(plan.ranges[static_cast<size_t>(i)]);
  }
}

template void attention_tile_backward(const AttentionPlan&, const QueryTile&, int64_t,
                                      const BackwardTile<float>&, const uint8_t*,
                                      const TileDropout*, const KeySums&, BackwardScratch&);
template void attention_tile_backward(const AttentionPlan&, const QueryTile&, int64_t,
                                      const BackwardTile<BFloat16>&, const uint8_t*,
                                      const TileDropout*, const KeySums&, BackwardScratch&);

}  // namespace longformer
