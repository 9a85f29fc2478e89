#include "models/memory_need.h"

#include <algorithm>
#include <map>

#include "attention/align.h"
#include "base/memory.h"
#include "kernels/gemm.h"
#include "longformer/error.h"
#include "models/weights.h"
#include "nn/layer_attention.h"

namespace longformer {
namespace {

constexpr uint64_t kAlwaysThere = 64 << 20;

uint64_t states(int64_t rows, int64_t hidden) {
  return static_cast<uint64_t>(rows * hidden) * sizeof(float);
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

}  // namespace

uint64_t load_need(const EncoderConfig& config, const Precision& precision, int threads) {
  std::map<std::string, DType> types;
  for (const std::string& name : linear_weights(config)) types[name] = precision.linear.multiplied;
  for (const std::string& name : outer_weights(config)) types[name] = precision.outer.multiplied;
  uint64_t packed = 0;
  uint64_t largest = 0;
  for (const io::ExpectedTensor& tensor : expected_tensors(config)) {
    const auto type = types.find(tensor.name);
    if (type == types.end() || is_global_projection(tensor.name)) continue;
    const auto count = static_cast<uint64_t>(element_count(tensor.shape));
    packed += count * dtype_size(type->second);
    largest = std::max(largest, count);
  }
  const bool converts = config.int8_weights || precision.linear.rounded != DType::kF32;
  return packed + (converts ? static_cast<uint64_t>(threads) * largest * sizeof(float) : 0);
}

uint64_t encode_need(const EncodeNeed& batch) {
  uint64_t planes = 0, scratch = 0, global = 0, probe = 0;
  const AttentionPlan* last = nullptr;
  for (size_t l = 0; l < batch.layers.size(); ++l) {
    const AttentionPlan& plan = *batch.contexts[l].plan;
    if (&plan == last) continue;
    last = &plan;
    planes = std::max(planes, planes_need(batch.layers[l], plan, batch.head_dim));
    scratch = std::max(scratch, scratch_need(batch.layers[l], plan, batch.head_dim, batch.threads));
    global = std::max(global, GlobalAttention::bytes_for(plan, batch.head_dim, batch.threads));
    if (!batch.attentions) continue;
    probe = std::max(
        probe, AttentionProbe::bytes_for(batch.layers[l], plan, batch.head_dim, batch.threads));
  }
  const uint64_t copies = batch.hidden_states ? batch.layers.size() + 2 : 1;
  const int64_t hidden = last->pattern.heads * batch.head_dim;
  return copies * states(last->rows, hidden) + planes + scratch + global + probe;
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
