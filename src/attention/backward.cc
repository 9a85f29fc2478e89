// The schedule of backward.h. Each chunk (backward_chunks.h) and head sums dK and dV up in memory
// of its own, which holds the key rows that the chunk sees and its global columns; that is added to
// the planes chunk by chunk, so no bit depends on who computed what. Chunks are computed in waves,
// which bounds the memory and leaves the sums in the cache. A chunk that is all there is of its
// sequence writes into the planes.
#include "attention/backward.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "attention/backward_chunks.h"
#include "attention/backward_tile.h"
#include "base/limits.h"
#include "base/thread_pool.h"
#include "kernels/rowwise_backward.h"
#include "longformer/error.h"
#include "tensor/arena.h"

namespace longformer {
namespace {

// A wave ends with the chunk that brings it to as many sums for each thread, or to as many bytes.
constexpr int64_t kWaveUnits = 8;
constexpr int64_t kWaveBytes = int64_t{64} << 20;

template <typename T>
class BatchBackward {
 public:
  BatchBackward(const AttentionPlan& plan, int64_t head_dim, const AttentionSaved& saved,
                const float* d_out, const AttentionDropout* dropout,
                const AttentionDerivatives& derivatives, ThreadPool& pool)
      : plan_(plan),
        head_dim_(head_dim),
        heads_(plan.pattern.heads),
        saved_(saved),
        d_out_(d_out),
        dropout_(dropout),
        derivatives_(derivatives),
        pool_(pool),
        adds_(rows_that_add(plan)),
        chunks_(backward_chunks(plan, adds_)) {
    scratch_.resize(static_cast<size_t>(pool.threads()));
    for (BackwardScratch& scratch : scratch_) scratch.resize(plan, head_dim, saved.type);
  }

  void run() {
    zero_planes();
    for (size_t first = 0; first < chunks_.size();) {
      size_t end = first;
      int64_t floats = 0;
      int64_t sums = 0;
      while (end < chunks_.size() && sums < kWaveUnits * pool_.threads() &&
             floats * int64_t{sizeof(float)} < kWaveBytes) {
        const int64_t more = partial_floats(chunks_[end++]);
        floats += more;
        sums += more == 0 ? 0 : heads_;
      }
      run_wave(first, end, floats);
      first = end;
    }
  }

 private:
  int64_t q_plane() const { return saved_.query_plane_rows * head_dim_; }
  int64_t k_plane() const { return plan_.key_rows * head_dim_; }

  size_t group_of(int64_t head) const {
    return static_cast<size_t>(plan_.head_group[static_cast<size_t>(head)]);
  }
  int64_t partial_floats(const Chunk& chunk, int64_t head) const {
    const ChunkGroup& group = chunk.groups[group_of(head)];
    return 2 * (group.rows + group.globals) * head_dim_;
  }
  int64_t partial_floats(const Chunk& chunk) const {
    int64_t floats = 0;
    for (int64_t h = 0; h < heads_; ++h) floats += partial_floats(chunk, h);
    return floats;
  }

  // All but the queries of tiles, which are written.
  void zero_planes() {
    pool_.run(heads_, [this](int64_t head, int) {
      const int64_t written = plan_.groups[group_of(head)].query_rows * head_dim_;
      std::fill_n(derivatives_.q + head * q_plane() + written, q_plane() - written, 0.0f);
      std::fill_n(derivatives_.k + head * k_plane(), k_plane(), 0.0f);
      std::fill_n(derivatives_.v + head * k_plane(), k_plane(), 0.0f);
    });
  }

  // Chunks [first, end), all heads.
  void run_wave(size_t first, size_t end, int64_t floats) {
    arena_.reset(Arena::bytes_for(floats));
    float* next = arena_.floats(floats);
    partials_.clear();
    for (size_t c = first; c < end; ++c) {
      for (int64_t h = 0; h < heads_; ++h) {
        partials_.push_back(next);
        next += partial_floats(chunks_[c], h);
      }
    }
    const auto units = static_cast<int64_t>(partials_.size());
    pool_.run(units, [&](int64_t unit, int worker) {
      run_unit(chunks_[first + static_cast<size_t>(unit / heads_)], unit % heads_,
               partials_[static_cast<size_t>(unit)], scratch_[static_cast<size_t>(worker)]);
    });
    pool_.run(heads_, [&](int64_t head, int) {
      for (size_t c = first; c < end; ++c) {
        const size_t unit = (c - first) * static_cast<size_t>(heads_) + static_cast<size_t>(head);
        merge(chunks_[c], head, partials_[unit]);
      }
    });
  }

  // partial: k of the intervals, v of them, k of the global columns, v of them.
  KeySums sums_of(const Chunk& chunk, int64_t head, float* partial) const {
    const ChunkGroup& group = chunk.groups[group_of(head)];
    KeySums sums;
    sums.intervals = group.intervals;
    const int64_t rows = group.rows * head_dim_;
    sums.k = chunk.whole ? derivatives_.k + head * k_plane() : partial;
    sums.v = chunk.whole ? derivatives_.v + head * k_plane() : partial + rows;
    sums.global_k = partial + 2 * rows;
    sums.global_v = sums.global_k + group.globals * head_dim_;
    return sums;
  }

  void run_unit(const Chunk& chunk, int64_t head, float* partial, BackwardScratch& scratch) const {
    std::fill_n(partial, partial_floats(chunk, head), 0.0f);
    const KeySums sums = sums_of(chunk, head, partial);
    for (const int32_t t : chunk.groups[group_of(head)].tiles) {
      run_tile(plan_.tiles[static_cast<size_t>(t)], head, sums, scratch);
    }
  }

  void run_tile(const QueryTile& tile, int64_t head, const KeySums& sums,
                BackwardScratch& scratch) const {
    std::optional<TileDropout> drop;
    if (dropout_ != nullptr) drop.emplace(plan_, tile, head, *dropout_);
    const int64_t query = head * saved_.query_plane_rows + tile.query_row;
    const int64_t row = (tile.first_row * heads_ + head) * head_dim_;
    BackwardTile<T> inputs;
    inputs.q = static_cast<const T*>(saved_.q) + query * head_dim_;
    inputs.k = static_cast<const T*>(saved_.k) + head * k_plane();
    inputs.v = static_cast<const T*>(saved_.v) + head * k_plane();
    inputs.logsumexp = saved_.logsumexp + query;
    inputs.out = saved_.out + row;
    inputs.d_out = d_out_ + row;
    inputs.stride = tile.step * heads_ * head_dim_;
    inputs.d_q = derivatives_.q + query * head_dim_;
    attention_tile_backward(plan_, tile, head_dim_, inputs, adds_.data(), drop ? &*drop : nullptr,
                            sums, scratch);
  }

  void merge(const Chunk& chunk, int64_t head, float* partial) const {
    if (!chunk.adds) return;
    const KeySums sums = sums_of(chunk, head, partial);
    float* k = derivatives_.k + head * k_plane();
    float* v = derivatives_.v + head * k_plane();
    if (!chunk.whole) {
      for (const KeyInterval& interval : sums.intervals) {
        const int64_t count = (interval.end - interval.begin) * head_dim_;
        kernels::add(count, sums.k + interval.row * head_dim_, k + interval.begin * head_dim_);
        kernels::add(count, sums.v + interval.row * head_dim_, v + interval.begin * head_dim_);
      }
    }
    const HeadGroup& group = plan_.groups[group_of(head)];
    const std::vector<int32_t>& globals = group.global_key_rows[chunk.sequence];
    for (size_t g = 0; g < globals.size(); ++g) {
      const int64_t from = static_cast<int64_t>(g) * head_dim_;
      kernels::add(head_dim_, sums.global_k + from, k + globals[g] * head_dim_);
      kernels::add(head_dim_, sums.global_v + from, v + globals[g] * head_dim_);
    }
  }

  const AttentionPlan& plan_;
  const int64_t head_dim_;
  const int64_t heads_;
  const AttentionSaved& saved_;
  const float* d_out_;
  const AttentionDropout* dropout_;
  const AttentionDerivatives& derivatives_;
  ThreadPool& pool_;
  const std::vector<uint8_t> adds_;
  const std::vector<Chunk> chunks_;
  std::vector<BackwardScratch> scratch_;  // per worker
  Arena arena_;                           // of the wave
  std::vector<float*> partials_;          // of the wave: by chunk, then head
};

}  // namespace

void attention_backward(const AttentionPlan& plan, int64_t head_dim, const AttentionSaved& saved,
                        const float* d_out, const AttentionDropout* dropout,
                        const AttentionDerivatives& derivatives, ThreadPool& pool) {
  const char* const place = "attention backward";
  if (head_dim < 1 || head_dim > kMaxHeadDim) {
    throw Error(ErrorCode::kInvalidArgument,
                "head_dim is " + std::to_string(head_dim) + "; allowed are 1 to " +
                    std::to_string(kMaxHeadDim),
                place);
  }
  if (dropout != nullptr && !dropout->rule.drops()) dropout = nullptr;
  if (dropout != nullptr && dropout->sequence_keys.size() != plan.pattern.lengths.size()) {
    throw Error(ErrorCode::kInternal,
                "dropout has " + std::to_string(dropout->sequence_keys.size()) + " keys for " +
                    std::to_string(plan.pattern.lengths.size()) + " sequences",
                place);
  }
  if (saved.type == DType::kBF16) {
    BatchBackward<BFloat16>(plan, head_dim, saved, d_out, dropout, derivatives, pool).run();
  } else {
    BatchBackward<float>(plan, head_dim, saved, d_out, dropout, derivatives, pool).run();
  }
}

}  // namespace longformer
