#include "nn/layer_backward.h"

#include <algorithm>
#include <cmath>

#include "base/thread_pool.h"
#include "kernels/gemm.h"
#include "kernels/rowwise.h"
#include "kernels/rowwise_backward.h"

namespace longformer {
namespace {

// Rows whose intermediate tensors exist at once; a multiple of kGradientRows, so that the chunks of
// the weights' derivatives are the same whatever it is.
constexpr int64_t kBandRows = 2048;
static_assert(kBandRows % kGradientRows == 0 && kGradientRows % kTileRows == 0);

// Dense rows kept as the operand of a product.
struct Stored {
  DType type = DType::kF32;
  std::byte* data = nullptr;
  int64_t cols = 0;

  static size_t bytes_for(int64_t rows, int64_t cols, DType type) {
    return Arena::bytes_for(rows * cols, dtype_size(type));
  }
  static Stored take(Arena& arena, int64_t rows, int64_t cols, DType type) {
    return {type, arena.take<std::byte>(rows * cols * static_cast<int64_t>(dtype_size(type))),
            cols};
  }
  static Stored view(const float* x, int64_t cols) {
    return {DType::kF32, reinterpret_cast<std::byte*>(const_cast<float*>(x)), cols};
  }
  std::byte* at(int64_t row) const {
    return data + row * cols * static_cast<int64_t>(dtype_size(type));
  }
  kernels::Rows rows(int64_t first) const { return {type, at(first), nullptr, nullptr}; }
  kernels::RowsBuffer buffer(int64_t first) const {
    return {type, at(first), cols, nullptr, nullptr};
  }
  kernels::Rows store(int64_t first, int64_t count, const float* x) const {
    kernels::to_rows(count, cols, x, buffer(first));
    return rows(first);
  }
};

struct Sizes {
  int64_t rows, hidden, heads, inner, intermediate, band, tiles, query_rows, key_rows;
  DType type;
};

Sizes sizes_of(const EncoderLayer& layer, const AttentionPlan& plan, int64_t head_dim) {
  const int64_t band = std::min(plan.rows, kBandRows);
  return {plan.rows,
          plan.pattern.heads * head_dim,
          plan.pattern.heads,
          inner_columns(layer.feed_forward),
          layer.feed_forward.intermediate(),
          band,
          (band + kTileRows - 1) / kTileRows,
          QueryPlanes::rows_needed(plan, nullptr),
          plan.key_rows,
          layer.feed_forward.inner.weight.type()};
}

// Shared by all threads.
struct Shared {
  float* d_sums = nullptr;     // [rows, hidden], by s1
  float* d_context = nullptr;  // [rows, hidden]
  Stored d_attention;          // [rows, hidden], by what the attention half adds
  Stored d_q, d_k, d_v;        // [rows, hidden]
  Stored x, context;           // operands of the projections
  float* q_planes = nullptr;   // derivatives in the layout of the planes
  float* k_planes = nullptr;
  float* v_planes = nullptr;
  Stored d_outer, h, inner, d_inner;  // of a band
  float* norms = nullptr;             // [tiles of a band][4][hidden], shares of norm derivatives
};

size_t shared_bytes(const Sizes& s) {
  const auto copies = s.type == DType::kF32 ? 0 : 1;  // of x and context
  return 2 * Arena::bytes_for(s.rows * s.hidden) +
         static_cast<size_t>(4 + 2 * copies) * Stored::bytes_for(s.rows, s.hidden, s.type) +
         Stored::bytes_for(s.rows, s.hidden, s.type) +  // x of pre-norm layers
         Arena::bytes_for(s.query_rows * s.hidden) + 2 * Arena::bytes_for(s.key_rows * s.hidden) +
         2 * Stored::bytes_for(s.band, s.hidden, s.type) +
         Stored::bytes_for(s.band, s.intermediate, s.type) +
         Stored::bytes_for(s.band, s.inner, s.type) + Arena::bytes_for(s.tiles * 4 * s.hidden);
}

// Of one thread, for one tile.
struct Tile {
  float* a = nullptr;  // [kTileRows, hidden] each
  float* b = nullptr;
  float* inner = nullptr;    // [kTileRows, inner columns or hidden, whatever is more]
  float* d_inner = nullptr;  // [kTileRows, intermediate]
};

size_t tile_bytes(const Sizes& s) {
  return 2 * Arena::bytes_for(kTileRows * s.hidden) +
         Arena::bytes_for(kTileRows * std::max(s.inner, s.hidden)) +
         Arena::bytes_for(kTileRows * s.intermediate);
}

class Backward {
 public:
  Backward(const LayerBackwardInputs& in, int64_t head_dim, LayerBackwardWorkspace& workspace,
           ThreadPool& pool)
      : in_(in),
        plan_(*in.context.plan),
        head_dim_(head_dim),
        post_(in.layer.attention.placement == NormPlacement::kPost),
        s_(sizes_of(in.layer, plan_, head_dim)),
        workspace_(workspace),
        pool_(pool) {
    take_buffers();
    pack();
  }

  void run(const float* d_y, float* d_x) {
    for (int64_t first = 0; first < s_.rows; first += kBandRows) {
      feed_forward(d_y, first, std::min(kBandRows, s_.rows - first));
    }
    attention_output();
    const LayerRecord& record = in_.record;
    const AttendRecord attend = record.attend_record();
    attention_backward(plan_, head_dim_,
                       {record.queries.type, record.queries.q, record.planes.k, record.planes.v,
                        record.queries.plane_rows, record.logsumexp, record.context},
                       shared_.d_context, attend.dropout,
                       {shared_.q_planes, shared_.k_planes, shared_.v_planes}, pool_);
    projections(d_x);
    workspace_.global.run(plan_, in_.layer.attention,
                          {in_.trained.query_global.gradient, in_.trained.key_global.gradient,
                           in_.trained.value_global.gradient},
                          in_.global, in_.x, shared_.d_context, d_x, attend.dropout, pool_);
    add_weight_gradients({job(in_.trained.attention_output, shared_.d_attention, shared_.context),
                          job(in_.trained.query, shared_.d_q, shared_.x),
                          job(in_.trained.key, shared_.d_k, shared_.x),
                          job(in_.trained.value, shared_.d_v, shared_.x)},
                         s_.rows, pool_);
  }

 private:
  void take_buffers() {
    Arena& arena = workspace_.arena;
    arena.reset(shared_bytes(s_));
    const auto rows = [&] { return Stored::take(arena, s_.rows, s_.hidden, s_.type); };
    shared_.d_sums = arena.floats(s_.rows * s_.hidden);
    shared_.d_context = arena.floats(s_.rows * s_.hidden);
    shared_.d_attention = rows();
    shared_.d_q = rows();
    shared_.d_k = rows();
    shared_.d_v = rows();
    const bool copies = s_.type != DType::kF32;
    shared_.context = copies ? rows() : Stored::view(in_.record.context, s_.hidden);
    shared_.x = copies || !post_ ? rows() : Stored::view(in_.x, s_.hidden);
    shared_.q_planes = arena.floats(s_.query_rows * s_.hidden);
    shared_.k_planes = arena.floats(s_.key_rows * s_.hidden);
    shared_.v_planes = arena.floats(s_.key_rows * s_.hidden);
    shared_.d_outer = Stored::take(arena, s_.band, s_.hidden, s_.type);
    shared_.h = Stored::take(arena, s_.band, s_.hidden, s_.type);
    shared_.inner = Stored::take(arena, s_.band, s_.intermediate, s_.type);
    shared_.d_inner = Stored::take(arena, s_.band, s_.inner, s_.type);
    shared_.norms = arena.floats(s_.tiles * 4 * s_.hidden);
    workspace_.threads.resize(static_cast<size_t>(pool_.threads()));
    for (Arena& one : workspace_.threads) {
      one.reset(tile_bytes(s_));
      tiles_.push_back({one.floats(kTileRows * s_.hidden), one.floats(kTileRows * s_.hidden),
                        one.floats(kTileRows * std::max(s_.inner, s_.hidden)),
                        one.floats(kTileRows * s_.intermediate)});
    }
  }

  void pack() {
    const TrainedLayer& trained = in_.trained;
    const TrainedLinear* const linears[] = {
        &trained.inner, &trained.outer, &trained.attention_output,
        &trained.query, &trained.key,   &trained.value};
    kernels::PackedMatrix* const packed[] = {&inner_, &outer_, &output_, &query_, &key_, &value_};
    pool_.run(std::size(linears), [&](int64_t i, int) {
      *packed[i] = kernels::PackedMatrix::pack_transposed(
          linears[i]->weight, linears[i]->out_features, linears[i]->in_features, s_.type);
    });
  }

  static WeightGradientJob job(const TrainedLinear& linear, const Stored& d_y, const Stored& x) {
    return {linear.gradient, d_y.rows(0), x.rows(0), linear.out_features, linear.in_features};
  }

  // Tiles of rows [first, first + count) of the batch: body(tile, its first row, its rows, thread).
  template <typename Body>
  void over_tiles(int64_t first, int64_t count, const Body& body) {
    pool_.run((count + kTileRows - 1) / kTileRows, [&](int64_t t, int worker) {
      const int64_t row = first + t * kTileRows;
      body(t, row, std::min(kTileRows, first + count - row), tiles_[static_cast<size_t>(worker)]);
    });
  }

  // Tile t's share of one norm's derivatives, zeroed. side: 0 the norm behind the attention half
  // (pre-norm: in front of it), 2 that of the feed-forward half.
  NormGradient share(int64_t t, int64_t side, const NormGradient& wanted) const {
    if (wanted.gamma == nullptr) return {};
    float* const gamma = shared_.norms + (t * 4 + side) * s_.hidden;
    std::fill_n(gamma, 2 * s_.hidden, 0.0f);
    return {gamma, wanted.beta == nullptr ? nullptr : gamma + s_.hidden};
  }

  void add_shares(int64_t tiles, int64_t side, const NormGradient& to) {
    if (to.gamma == nullptr) return;
    for (int64_t t = 0; t < tiles; ++t) {
      const float* const gamma = shared_.norms + (t * 4 + side) * s_.hidden;
      kernels::add(s_.hidden, gamma, to.gamma);
      if (to.beta != nullptr) kernels::add(s_.hidden, gamma + s_.hidden, to.beta);
    }
  }

  void norm_backward(const LayerNorm& norm, int64_t count, const float* x, const float* d_y,
                     float* d_x, const NormGradient& to) const {
    kernels::layer_norm_backward(count, s_.hidden, x, norm.gamma.data(), norm.eps, d_y, d_x,
                                 to.gamma, to.beta);
  }

  static void drop(const ResidualRecord& record, int64_t count, int64_t hidden, float* x) {
    if (!record.rule.drops()) return;
    kernels::dropout_rows(count, hidden, record.rule, record.row_keys, 0, 1, x, hidden);
  }

  void feed_forward(const float* d_y, int64_t first, int64_t count) {
    over_tiles(first, count, [&](int64_t t, int64_t row, int64_t rows, Tile& tile) {
      feed_forward_tile(d_y, t, row, row - first, rows, tile);
    });
    const int64_t tiles = (count + kTileRows - 1) / kTileRows;
    if (post_) add_shares(tiles, 0, in_.trained.attention_norm);
    add_shares(tiles, 2, in_.trained.feed_forward_norm);
    add_weight_gradients({job(in_.trained.outer, shared_.d_outer, shared_.inner),
                          job(in_.trained.inner, shared_.d_inner, shared_.h)},
                         count, pool_);
  }

  // From d_y to d_sums of rows [row, row + rows), which stand at `band` in the band.
  void feed_forward_tile(const float* d_y, int64_t t, int64_t row, int64_t band, int64_t rows,
                         Tile& tile) {
    const EncoderLayer& layer = in_.layer;
    const FeedForwardWeights& feed_forward = layer.feed_forward;
    const int64_t at = row * s_.hidden;
    const float* const s1 = in_.record.attention_sums + at;
    float* const d_s1 = shared_.d_sums + at;
    // d_s1 holds d_s2, by the sums in front of the second norm, until the end.
    if (post_) {
      norm_backward(feed_forward.norm, rows, in_.record.outer_sums + at, d_y + at, d_s1,
                    share(t, 2, in_.trained.feed_forward_norm));
    } else {
      std::copy_n(d_y + at, rows * s_.hidden, d_s1);
    }
    std::copy_n(d_s1, rows * s_.hidden, tile.a);
    drop(in_.record.feed_forward_record(row, s_.hidden), rows, s_.hidden, tile.a);
    const kernels::Rows d_outer = shared_.d_outer.store(band, rows, tile.a);
    const LayerNorm& norm = post_ ? layer.attention.norm : feed_forward.norm;
    kernels::layer_norm(rows, s_.hidden, s1, norm.gamma.data(), norm.beta.data(), norm.eps, tile.b);
    kernels::linear(shared_.h.store(band, rows, tile.b), rows, feed_forward.inner.weight,
                    tile.inner);
    kernels::linear(d_outer, rows, outer_, tile.d_inner);
    activation_backward(band, rows, tile);
    kernels::linear(shared_.d_inner.rows(band), rows, inner_, tile.a);
    if (post_) {
      kernels::add(rows * s_.hidden, tile.a, d_s1);
      norm_backward(norm, rows, s1, d_s1, d_s1, share(t, 0, in_.trained.attention_norm));
    } else {
      norm_backward(norm, rows, s1, tile.a, tile.a, share(t, 2, in_.trained.feed_forward_norm));
      kernels::add(rows * s_.hidden, tile.a, d_s1);
    }
  }

  void activation_backward(int64_t band, int64_t rows, Tile& tile) {
    const FeedForwardWeights& feed_forward = in_.layer.feed_forward;
    const float* const bias = feed_forward.inner.bias.data();
    const kernels::RowsBuffer inner = shared_.inner.buffer(band);
    const kernels::RowsBuffer d_inner = shared_.d_inner.buffer(band);
    if (feed_forward.kind == FeedForwardKind::kGated) {
      kernels::gated_activation_backward(rows, s_.intermediate, feed_forward.activation, tile.inner,
                                         bias, tile.d_inner, inner, d_inner);
    } else {
      kernels::activation_backward(rows, s_.intermediate, feed_forward.activation, tile.inner, bias,
                                   tile.d_inner, inner, d_inner);
    }
  }

  // From d_sums to d_context; also the operands of the projections' weights.
  void attention_output() {
    over_tiles(0, s_.rows, [&](int64_t, int64_t row, int64_t rows, Tile& tile) {
      const int64_t at = row * s_.hidden;
      std::copy_n(shared_.d_sums + at, rows * s_.hidden, tile.a);
      drop(in_.record.attention_record(row, s_.hidden), rows, s_.hidden, tile.a);
      kernels::linear(shared_.d_attention.store(row, rows, tile.a), rows, output_,
                      shared_.d_context + at);
      if (s_.type != DType::kF32) shared_.context.store(row, rows, in_.record.context + at);
      if (s_.type == DType::kF32 && post_) return;
      shared_.x.store(row, rows,
                      attention_input(in_.layer.attention, rows, s_.hidden, in_.x + at, tile.b));
    });
  }

  // Rows of a projection's derivative from their planes.
  const float* merge(int64_t row, int64_t rows, const float* planes, bool of_queries,
                     const RotaryAngles* rotary, float* out) const {
    kernels::HeadSplit split;
    split.head_dim = head_dim_;
    split.plane_rows = of_queries ? s_.query_rows : s_.key_rows;
    if (of_queries) split.scale = 1.0f / std::sqrt(static_cast<float>(head_dim_));
    if (!of_queries) split.keep = plan_.valid_row.data() + row;
    if (rotary != nullptr) {
      split.cosines = rotary->cosines.data() + row * (head_dim_ / 2);
      split.sines = rotary->sines.data() + row * (head_dim_ / 2);
    }
    for (const HeadGroup& group : plan_.groups) {
      split.heads = group.heads;
      split.destination = (of_queries ? group.query_row : group.key_row).data() + row;
      kernels::merge_heads(rows, planes, split, out, s_.hidden);
    }
    return out;
  }

  // From the planes and d_sums to d_x.
  void projections(float* d_x) {
    const AttentionWeights& attention = in_.layer.attention;
    const RotaryAngles* const rotary = in_.context.rotary;
    for (int64_t first = 0; first < s_.rows; first += kBandRows) {
      const int64_t count = std::min(kBandRows, s_.rows - first);
      over_tiles(first, count, [&](int64_t t, int64_t row, int64_t rows, Tile& tile) {
        const int64_t elements = rows * s_.hidden;
        const auto add = [&](const Stored& to, const float* planes, bool of_queries,
                             const RotaryAngles* angles, const kernels::PackedMatrix& weight,
                             float* sum) {
          const float* const merged = merge(row, rows, planes, of_queries, angles, tile.b);
          kernels::linear(to.store(row, rows, merged), rows, weight, sum);
        };
        add(shared_.d_q, shared_.q_planes, true, rotary, query_, tile.a);
        add(shared_.d_k, shared_.k_planes, false, rotary, key_, tile.inner);
        kernels::add(elements, tile.inner, tile.a);
        add(shared_.d_v, shared_.v_planes, false, nullptr, value_, tile.inner);
        kernels::add(elements, tile.inner, tile.a);
        const int64_t at = row * s_.hidden;
        if (!post_ && !attention.norm.empty()) {
          norm_backward(attention.norm, rows, in_.x + at, tile.a, tile.a,
                        share(t, 0, in_.trained.attention_norm));
        }
        std::copy_n(shared_.d_sums + at, elements, d_x + at);
        kernels::add(elements, tile.a, d_x + at);
      });
      if (!post_) add_shares((count + kTileRows - 1) / kTileRows, 0, in_.trained.attention_norm);
    }
  }

  const LayerBackwardInputs& in_;
  const AttentionPlan& plan_;
  const int64_t head_dim_;
  const bool post_;
  const Sizes s_;
  LayerBackwardWorkspace& workspace_;
  ThreadPool& pool_;
  Shared shared_;
  std::vector<Tile> tiles_;
  kernels::PackedMatrix inner_, outer_, output_, query_, key_, value_;  // transposed
};

}  // namespace

void layer_backward(const LayerBackwardInputs& inputs, int64_t head_dim, const float* d_y,
                    float* d_x, LayerBackwardWorkspace& workspace, ThreadPool& pool) {
  Backward(inputs, head_dim, workspace, pool).run(d_y, d_x);
}

uint64_t layer_backward_bytes(const EncoderLayer& layer, const AttentionPlan& plan,
                              int64_t head_dim, int threads) {
  const Sizes s = sizes_of(layer, plan, head_dim);
  const uint64_t weights = (4 * static_cast<uint64_t>(s.hidden) * s.hidden +
                            static_cast<uint64_t>(s.hidden) * (s.inner + s.intermediate)) *
                           dtype_size(s.type);
  return shared_bytes(s) + static_cast<uint64_t>(threads) * tile_bytes(s) + weights +
         weight_gradient_bytes(s.hidden, threads);
}

}  // namespace longformer
