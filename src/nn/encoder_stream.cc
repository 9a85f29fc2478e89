#include "nn/encoder_stream.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "attention/align.h"
#include "base/thread_pool.h"

namespace longformer {
namespace {

constexpr int64_t kStepRows = 512;  // rows that enter at a time, at least
constexpr int64_t kStepRowsOfAThread = 128;
// A slice is never as short as a sequence that the plan cuts into smaller tiles.
constexpr int64_t kLeastSlice = 2 * kShortLength;

// How a layer's slice is sized and moved, in rows.
struct Geometry {
  int64_t left = 0;  // reach of the window
  int64_t right = 0;
  int64_t slack = 0;  // rows behind the reach that a tile's rounded span touches
  int64_t unit = 0;   // slices begin at multiples of it
  int64_t capacity = 0;
};

Geometry geometry_of(const StreamSettings& settings, size_t layer, int64_t step) {
  const int64_t dilation = settings.dilations[layer];
  const Window& window = settings.windows[layer];
  Geometry g;
  g.left = std::min(window.left * dilation, settings.rows);
  g.right = std::min(window.right * dilation, settings.rows);
  g.slack = kKeyAlign * dilation;
  // Row blocks begin there, and so does a multiple of kKeyAlign in every residue class.
  g.unit = std::lcm(dilation > 1 ? 2 * kQueryRows : kQueryRows, kKeyAlign * dilation);
  g.capacity = round_up(g.left + g.right + g.slack + step + 3 * g.unit + kLeastSlice, g.unit);
  return g;
}

int64_t step_for(int threads) { return std::max(kStepRows, threads * kStepRowsOfAThread); }

}  // namespace

struct EncoderStream::Layer {
  const EncoderLayer* weights = nullptr;
  Geometry geometry;
  const AttentionPlan* plan = nullptr;  // of the slice
  int64_t base = 0;                     // row of the sequence that the slice begins with
  int64_t have = 0;                     // rows [base, have) of the input are there
  int64_t done = 0;                     // rows [0, done) of the output were computed
  std::vector<float> x;                 // [capacity, hidden]
  Arena arena;
  KeyValuePlanes planes;
};

EncoderStream::EncoderStream(const std::vector<EncoderLayer>& layers,
                             const StreamSettings& settings, ThreadPool& pool)
    : settings_(settings),
      pool_(pool),
      hidden_(settings.pattern.heads * settings.head_dim),
      step_rows_(step_for(pool.threads())),
      layers_(layers.size()),
      scratch_(static_cast<size_t>(pool.threads())) {
  for (size_t l = 0; l < layers.size(); ++l) {
    Layer& layer = layers_[l];
    layer.weights = &layers[l];
    layer.geometry = geometry_of(settings_, l, step_rows_);
    const int64_t length = std::min(layer.geometry.capacity, settings_.rows);
    layer.x.resize(static_cast<size_t>(length * hidden_));
    layer.plan = plan_of(l, length);
    // The last slice may be laid out in a few rows more than a full one: each residue class rounds.
    const int64_t rows = layer.plan->key_rows + kKeyAlign * settings_.dilations[l];
    layer.planes = zeroed_planes(layer.arena, settings_.pattern.heads * rows * settings_.head_dim,
                                 plane_type(layers[l].attention));
  }
}

EncoderStream::~EncoderStream() = default;

int64_t EncoderStream::bytes_for(const std::vector<EncoderLayer>& layers,
                                 const StreamSettings& settings, int threads) {
  const int64_t hidden = settings.pattern.heads * settings.head_dim;
  int64_t bytes = 0;
  for (size_t l = 0; l < layers.size(); ++l) {
    const int64_t capacity = geometry_of(settings, l, step_for(threads)).capacity;
    const auto element = static_cast<int64_t>(dtype_size(plane_type(layers[l].attention)));
    bytes += std::min(capacity, settings.rows) * hidden * (4 + 2 * element);
  }
  return bytes;
}

const AttentionPlan* EncoderStream::plan_of(size_t layer, int64_t length) {
  const Window& window = settings_.windows[layer];
  const int64_t dilation = settings_.dilations[layer];
  std::unique_ptr<AttentionPlan>& plan = plans_[{window.left, window.right, dilation, length}];
  if (plan == nullptr) {
    AttentionPattern pattern = settings_.pattern;
    pattern.lengths = {length};
    pattern.window = window;
    pattern.dilation.clear();
    if (dilation != 1) pattern.dilation.assign(static_cast<size_t>(pattern.heads), dilation);
    plan = std::make_unique<AttentionPlan>(compile(pattern));
  }
  return plan.get();
}

// Moves the slice on where `count` more rows would not fit, as far as the rows to come allow.
void EncoderStream::make_room(size_t index, int64_t count) {
  Layer& layer = layers_[index];
  const Geometry& g = layer.geometry;
  if (layer.have - layer.base + count <= g.capacity) return;
  const int64_t unit = g.unit;
  int64_t base = std::max<int64_t>(0, layer.done - g.left) / unit * unit;
  base = std::min(base, std::max<int64_t>(0, settings_.rows - kLeastSlice) / unit * unit);
  move_slice(layer, base, plan_of(index, std::min(g.capacity, settings_.rows - base)));
}

void EncoderStream::move_slice(Layer& layer, int64_t base, const AttentionPlan* plan) {
  const int64_t kept = layer.have - base;
  std::memmove(layer.x.data(), layer.x.data() + (base - layer.base) * hidden_,
               static_cast<size_t>(kept * hidden_) * sizeof(float));
  const AttentionPlan& before = *layer.plan;
  const int64_t row_bytes =
      settings_.head_dim * static_cast<int64_t>(dtype_size(layer.planes.type));
  // Each head through a copy, since keys may move in both directions.
  std::vector<std::byte> moved(static_cast<size_t>(plan->key_rows * row_bytes));
  const bool grows = plan->key_rows > before.key_rows;
  for (void* side : {layer.planes.k, layer.planes.v}) {
    auto* planes = static_cast<std::byte*>(side);
    // In an order that does not overwrite heads that are still to be read.
    for (int64_t i = 0; i < settings_.pattern.heads; ++i) {
      const int64_t head = grows ? settings_.pattern.heads - 1 - i : i;
      const std::byte* from = planes + head * before.key_rows * row_bytes;
      std::fill(moved.begin(), moved.end(), std::byte{0});
      for (int64_t r = 0; r < kept; ++r) {
        std::memcpy(moved.data() + plan->groups[0].key_row[r] * row_bytes,
                    from + before.groups[0].key_row[r + base - layer.base] * row_bytes,
                    static_cast<size_t>(row_bytes));
      }
      std::memcpy(planes + head * plan->key_rows * row_bytes, moved.data(), moved.size());
    }
  }
  layer.base = base;
  layer.plan = plan;
}

void EncoderStream::push(int64_t count, const float* x, const Sink& sink) {
  make_room(0, count);
  Layer& first = layers_[0];
  std::copy_n(x, count * hidden_, first.x.data() + (first.have - first.base) * hidden_);
  advance(0, count, sink);
}

// `added` new rows stand behind the input of a layer: their keys and values, then all output rows
// that they complete, which are the next layer's new rows.
void EncoderStream::advance(size_t index, int64_t added, const Sink& sink) {
  Layer& layer = layers_[index];
  const int64_t fresh = layer.have - layer.base;
  layer.have += added;
  const LayerContext context{layer.plan, nullptr};
  resize_scratch(layer, {});
  pool_.run((added + kTileRows - 1) / kTileRows, [&](int64_t i, int worker) {
    const int64_t begin = fresh + i * kTileRows;
    tile_keys_values(*layer.weights, context, settings_.head_dim, layer.x.data(),
                     {begin, std::min(begin + kTileRows, fresh + added)}, layer.planes,
                     scratch_[worker]);
  });
  while (complete(index, sink)) {
  }
}

// Blocks behind the finished ones that can be computed: up to about step_rows_ rows.
std::vector<uint8_t> EncoderStream::ready_blocks(const Layer& layer, int64_t& end) const {
  const AttentionPlan& plan = *layer.plan;
  const int64_t slice_end = layer.base + plan.rows;
  const bool reaches_end = slice_end == settings_.rows;
  std::vector<uint8_t> blocks(plan.blocks.size(), 0);
  end = layer.done;
  for (size_t b = 0; b < blocks.size() && end - layer.done < step_rows_; ++b) {
    const int64_t block_end = layer.base + plan.blocks[b].end;
    if (block_end <= layer.done) continue;
    const int64_t seen = block_end + layer.geometry.right;
    if (layer.have < std::min(seen, settings_.rows)) break;
    if (!reaches_end && seen + layer.geometry.slack > slice_end) break;
    blocks[b] = 1;
    end = block_end;
  }
  return blocks;
}

void EncoderStream::resize_scratch(const Layer& layer, std::span<const RowTile> tiles) {
  for (TileScratch& scratch : scratch_) {
    scratch.resize(*layer.weights, *layer.plan, settings_.head_dim, tiles, kTileRows);
  }
}

// Computes output rows and hands them on; false where none can be computed.
bool EncoderStream::complete(size_t index, const Sink& sink) {
  Layer& layer = layers_[index];
  int64_t end = 0;
  const std::vector<uint8_t> blocks = ready_blocks(layer, end);
  const int64_t first = layer.done;
  if (end == first) return false;
  const std::vector<RowTile> tiles = make_row_tiles(*layer.plan, pool_.threads(), blocks);
  resize_scratch(layer, tiles);

  const bool last = index + 1 == layers_.size();
  if (!last) make_room(index + 1, end - first);
  if (last) out_.resize(static_cast<size_t>((end - first) * hidden_));
  Layer* next = last ? nullptr : &layers_[index + 1];
  float* y = last ? out_.data() : next->x.data() + (next->have - next->base) * hidden_;
  const LayerContext context{layer.plan, nullptr};
  pool_.run(static_cast<int64_t>(tiles.size()), [&](int64_t t, int worker) {
    TileScratch& scratch = scratch_[worker];
    const RowTile& tile = tiles[t];
    tile_attend(*layer.weights, context, settings_.head_dim, layer.x.data(), tile, layer.planes,
                nullptr, scratch.context_rows, scratch);
    tile_finish(*layer.weights, tile.rows(), scratch.context_rows,
                layer.x.data() + tile.begin * hidden_,
                y + (layer.base + tile.begin - first) * hidden_, scratch);
  });
  layer.done = end;
  if (last) {
    sink(first, out_);
  } else {
    advance(index + 1, end - first, sink);
  }
  return true;
}

}  // namespace longformer
