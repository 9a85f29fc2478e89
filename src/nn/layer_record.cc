#include "nn/layer_record.h"

#include <cstring>

namespace longformer {
namespace {

int64_t kept_rows(const EncoderLayer& layer) {
  return layer.attention.placement == NormPlacement::kPost ? 3 : 2;
}

}  // namespace

size_t LayerRecord::bytes_for(const EncoderLayer& layer, const AttentionPlan& plan,
                              int64_t head_dim) {
  const int64_t heads = plan.pattern.heads;
  const size_t element = dtype_size(plane_type(layer.attention));
  const int64_t query_rows = QueryPlanes::rows_needed(plan, nullptr);
  return Arena::bytes_for(heads * query_rows * head_dim, element) +
         2 * Arena::bytes_for(heads * plan.key_rows * head_dim, element) +
         Arena::bytes_for(heads * query_rows) +
         static_cast<size_t>(kept_rows(layer)) * Arena::bytes_for(plan.rows * heads * head_dim);
}

void LayerRecord::resize(const EncoderLayer& layer, const AttentionPlan& plan, int64_t head_dim) {
  const int64_t heads = plan.pattern.heads;
  const int64_t hidden = heads * head_dim;
  const auto element = static_cast<int64_t>(dtype_size(plane_type(layer.attention)));
  arena_.reset(bytes_for(layer, plan, head_dim));
  // Rows that no token owns are multiplied too and must be zeros.
  const auto plane = [&](int64_t rows) -> void* {
    std::byte* const bytes = arena_.take<std::byte>(rows * hidden * element);
    std::memset(bytes, 0, static_cast<size_t>(rows * hidden * element));
    return bytes;
  };
  queries.type = planes.type = plane_type(layer.attention);
  queries.plane_rows = QueryPlanes::rows_needed(plan, nullptr);
  queries.tile = nullptr;
  queries.q = plane(queries.plane_rows);
  planes.k = plane(plan.key_rows);
  planes.v = plane(plan.key_rows);
  logsumexp = arena_.floats(heads * queries.plane_rows);
  context = arena_.floats(plan.rows * hidden);
  attention_sums = arena_.floats(plan.rows * hidden);
  outer_sums = kept_rows(layer) == 3 ? arena_.floats(plan.rows * hidden) : nullptr;
}

}  // namespace longformer
