#include "models/memory_need.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/memory.h"
#include "kernels/gemm.h"
#include "longformer/error.h"
#include "models/weights.h"
#include "nn/encoder_stack.h"
#include "nn/layer_attention.h"

namespace longformer {
namespace {

constexpr uint64_t kAlwaysThere = 64 << 20;
// Measured, beyond the memory that is planned: code that runs for the first time, kernels that the
// matrix library generates, the heads of files, the stacks of threads.
constexpr uint64_t kLibraries = 4 << 20;
constexpr uint64_t kLibrariesOfAThread = 512 << 10;
// Bytes of a file that one touch maps: a large folio, or what the system maps around a page.
// Measured on files that had just been written, about this share lies in large ones.
constexpr double kLargeFolio = 2 << 20;
constexpr double kAroundAPage = 64 << 10;
constexpr double kInLargeFolios = 0.9;
// Of one token: its id, position and type.
constexpr uint64_t kTokenBytes = 3 * sizeof(int64_t);

uint64_t states(int64_t rows, int64_t hidden) {
  return static_cast<uint64_t>(rows * hidden) * sizeof(float);
}

kernels::PackedMatrix planned_matrix(int64_t out, int64_t in, const WeightTypes& types) {
  const bool too_wide = types.multiplied == DType::kI8 && in > kernels::kMaxInt8Features;
  return kernels::PackedMatrix::planned(out, in, too_wide ? DType::kF32 : types.multiplied);
}

uint64_t planes_need(const EncoderLayer& layer, const AttentionPlan& plan, int64_t head_dim) {
  return planes_bytes(plan.pattern.heads * plan.key_rows * head_dim, plane_type(layer.attention));
}

// Buffers of all threads for one layer.
uint64_t scratch_need(const EncoderLayer& layer, const AttentionPlan& plan, int64_t head_dim,
                      int threads) {
  if (by_columns(plan.rows, threads)) {
    return ColumnLayer::bytes_for(layer, plan, head_dim, threads);
  }
  return static_cast<uint64_t>(threads) *
         TileScratch::bytes_for(layer, plan, head_dim, make_row_tiles(plan, threads));
}

uint64_t plan_bytes(const AttentionPlan& plan) {
  const auto rows = static_cast<uint64_t>(plan.rows);
  return rows * (plan.groups.size() * 2 * sizeof(int32_t) + 1) +
         plan.tiles.size() * sizeof(QueryTile) + plan.ranges.size() * sizeof(KeyRange) +
         plan.excluded.size() * sizeof(int32_t);
}

uint64_t angles_need(const EncoderConfig& config, int64_t rows) {
  const std::set<double> thetas(config.rotary_theta.begin(), config.rotary_theta.end());
  return thetas.size() * states(rows, config.head_dim());
}

// Matrices by name: the type that each is multiplied in. Those of global rows are not packed.
std::map<std::string, DType> packed_types(const EncoderConfig& config, const Precision& precision) {
  std::map<std::string, DType> types;
  for (const std::string& name : linear_weights(config)) types[name] = precision.linear.multiplied;
  for (const std::string& name : outer_weights(config)) types[name] = precision.outer.multiplied;
  return types;
}

struct PackedSizes {
  uint64_t bytes = 0;    // of all that is held
  uint64_t largest = 0;  // elements of the largest matrix
};

PackedSizes packed_sizes(const EncoderConfig& config, const Precision& precision) {
  const std::map<std::string, DType> types = packed_types(config, precision);
  PackedSizes sizes;
  for (const io::ExpectedTensor& tensor : expected_tensors(config)) {
    const auto count = static_cast<uint64_t>(element_count(tensor.shape));
    const auto type = types.find(tensor.name);
    if (type == types.end()) {
      if (tensor.shape.size() == 1) sizes.bytes += count * sizeof(float);
      continue;
    }
    if (is_global_projection(tensor.name)) continue;
    sizes.bytes += count * dtype_size(type->second);
    sizes.largest = std::max(sizes.largest, count);
  }
  return sizes;
}

bool converts(const EncoderConfig& config, const Precision& precision, DType stored) {
  return config.int8_weights || precision.linear.rounded != DType::kF32 || stored != DType::kF32;
}

// What `touches` anywhere in that many bytes map, `unit` bytes each.
double mapped_in_units(double bytes, double touches, double unit) {
  const double units = std::max(1.0, bytes / unit);
  return bytes * (1.0 - std::pow(1.0 - 1.0 / units, touches));
}

uint64_t mapped_of(uint64_t bytes, int64_t touches) {
  const auto part = [&](double share, double unit) {
    return mapped_in_units(share * static_cast<double>(bytes), share * static_cast<double>(touches),
                           unit);
  };
  return static_cast<uint64_t>(part(kInLargeFolios, kLargeFolio) +
                               part(1.0 - kInLargeFolios, kAroundAPage));
}

uint64_t file_pages_need(const EncodeNeed& batch, DType stored) {
  const EncoderConfig& config = batch.config;
  const AttentionPattern& pattern = batch.plans.of(0).pattern;
  const DType tables = config.int8_weights ? DType::kBF16 : stored;
  const uint64_t row = static_cast<uint64_t>(config.hidden_size) * dtype_size(tables);
  uint64_t bytes =
      mapped_of(static_cast<uint64_t>(config.vocab_size) * row, batch.plans.of(0).rows);
  if (config.names->position_embeddings != nullptr) {
    const int64_t longest = *std::max_element(pattern.lengths.begin(), pattern.lengths.end());
    bytes += static_cast<uint64_t>(std::min(longest, config.position_rows)) * row;
  }
  if (batch.plans.of(0).global_rows.empty()) return bytes;
  const DType linear = config.int8_weights ? DType::kI8 : stored;
  for (const io::ExpectedTensor& tensor : expected_tensors(config)) {
    if (!is_global_projection(tensor.name) || tensor.shape.size() != 2) continue;
    bytes += static_cast<uint64_t>(element_count(tensor.shape)) * dtype_size(linear);
  }
  return bytes;
}

// The head is packed when the encoder stands, by one thread, and computes when its layers are done.
void add_head(const HeadConfig& head, const EncodeNeed& batch, MemoryEstimate& need) {
  const EncoderConfig& config = batch.config;
  const int64_t hidden = config.hidden_size;
  const auto outputs = static_cast<uint64_t>(head.info.outputs);
  const WeightTypes types =
      head.info.task == Task::kMaskedLm ? batch.precision.outer : WeightTypes{};
  need.weights += outputs * static_cast<uint64_t>(hidden) * dtype_size(types.multiplied);
  if (head.has_output_bias) need.weights += outputs * sizeof(float);
  if (!head.dense.empty()) need.weights += states(hidden + 1, hidden);
  const AttentionPattern& pattern = batch.plans.of(0).pattern;
  const bool by_token = head.rows == HeadRows::kTokens;
  const auto rows = by_token ? batch.plans.of(0).rows : std::ssize(pattern.lengths);
  need.activations += states(rows, head.info.outputs);
  need.activations +=
      head_scratch_bytes(hidden, head.info.outputs, types.multiplied, rows, batch.threads);
  if (!by_token) need.activations += states(rows, hidden);
}

}  // namespace

EncoderLayer planned_layer(const EncoderConfig& config, const Precision& precision) {
  const int64_t hidden = config.hidden_size;
  const int64_t gates = config.feed_forward == FeedForwardKind::kGated ? 2 : 1;
  EncoderLayer layer;
  AttentionWeights& attention = layer.attention;
  for (Linear* linear : {&attention.query, &attention.key, &attention.value, &attention.output}) {
    linear->weight = planned_matrix(hidden, hidden, precision.linear);
  }
  attention.placement = config.norm_placement;
  FeedForwardWeights& feed_forward = layer.feed_forward;
  feed_forward.inner.weight =
      planned_matrix(gates * config.intermediate_size, hidden, precision.linear);
  feed_forward.outer.weight = planned_matrix(hidden, config.intermediate_size, precision.outer);
  feed_forward.placement = config.norm_placement;
  feed_forward.kind = config.feed_forward;
  return layer;
}

uint64_t weights_need(const EncoderConfig& config, const Precision& precision) {
  return packed_sizes(config, precision).bytes;
}

uint64_t load_need(const EncoderConfig& config, const Precision& precision, int threads,
                   DType stored) {
  const PackedSizes sizes = packed_sizes(config, precision);
  if (!converts(config, precision, stored)) return sizes.bytes;
  return sizes.bytes + static_cast<uint64_t>(threads) * sizes.largest * sizeof(float);
}

uint64_t encode_need(const EncodeNeed& batch) {
  const EncoderConfig& config = batch.config;
  const EncoderLayer layer = planned_layer(config, batch.precision);
  const int64_t head_dim = config.head_dim();
  uint64_t planes = 0, scratch = 0, global = 0, plans = 0, probe = 0;
  for (const AttentionPlan* plan : batch.plans.distinct()) {
    planes = std::max(planes, planes_need(layer, *plan, head_dim));
    scratch = std::max(scratch, scratch_need(layer, *plan, head_dim, batch.threads));
    global = std::max(global, GlobalAttention::bytes_for(*plan, head_dim, batch.threads));
    plans += plan_bytes(*plan);
    if (!batch.attentions) continue;
    probe = std::max(probe, AttentionProbe::bytes_for(layer, *plan, head_dim, batch.threads));
  }
  const int64_t rows = batch.plans.of(0).rows;
  const auto copies = static_cast<uint64_t>(batch.hidden_states ? config.layers + 2 : 1);
  return copies * states(rows, config.hidden_size) + angles_need(config, rows) + planes + scratch +
         global + plans + probe + static_cast<uint64_t>(rows) * kTokenBytes;
}

MemoryEstimate estimate_memory(const EncodeNeed& batch, const std::optional<HeadConfig>& head,
                               DType stored) {
  const PackedSizes sizes = packed_sizes(batch.config, batch.precision);
  const auto threads = static_cast<uint64_t>(batch.threads);
  MemoryEstimate need;
  need.weights = sizes.bytes;
  need.loading = load_need(batch.config, batch.precision, batch.threads, stored) - sizes.bytes;
  need.activations = encode_need(batch);
  need.file_pages = file_pages_need(batch, stored);
  if (head) add_head(*head, batch, need);
  need.libraries = kLibraries + threads * kLibrariesOfAThread;
  // Each thread has the pages of one matrix mapped while it packs it.
  const DType file_type = batch.config.int8_weights ? DType::kI8 : stored;
  const uint64_t packing = threads * sizes.largest * dtype_size(file_type);
  // Pages of the head's matrix while it is packed, and what it is converted to: given back before a
  // batch comes. Measured: by then half of the pages are gone.
  uint64_t of_head = 0;
  if (head) {
    of_head = states(head->info.outputs, batch.config.hidden_size);
    if (converts(batch.config, batch.precision, stored)) of_head += of_head / 2;
  }
  need.peak = need.libraries + need.weights + need.loading +
              std::max({packing, of_head, need.activations + need.file_pages});
  return need;
}

void check_room(uint64_t needed, uint64_t held, const std::string& what, const std::string& advice,
                const std::filesystem::path& root) {
  const uint64_t more = needed > held ? needed - held : 0;
  if (more < kAlwaysThere) return;
  const MemoryRoom room = memory_room(root);
  if (more <= room.bytes) return;
  throw Error(ErrorCode::kInvalidArgument, what + " about " + memory_text(needed) +
                                               " of memory, and " +
                                               memory_text(room.bytes + std::min(held, needed)) +
                                               " are available (" + room.limit + "): " + advice);
}

}  // namespace longformer
