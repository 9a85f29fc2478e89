#include "train/data/split.h"

#include "base/random.h"
#include "io/json.h"
#include "longformer/error.h"
#include "train/data/example_sink.h"

namespace longformer::train {
namespace {

// FNV-1a; random_bits mixes it.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ULL;
  return hash;
}

bool for_evaluation(std::string_view group, double share, uint64_t seed) {
  return random_uniform(seed, hash_of(group)) < share;
}

}  // namespace

void check_split(const Split& split) {
  if (split.share >= 0 && split.share <= 1) return;
  throw Error(ErrorCode::kInvalidArgument, "the share of rows for evaluation must be 0 to 1");
}

bool takes(const Split& split, std::string_view group) {
  if (split.side == SplitSide::kAll) return true;
  return for_evaluation(group, split.share, split.seed) == (split.side == SplitSide::kEvaluation);
}

std::string group_of(const Split& split, const io::Row& row, const std::string& otherwise) {
  if (split.group_field.empty()) return otherwise;
  const io::Cell* const cell = row.find(split.group_field);
  const std::string field = io::short_value(io::Json(split.group_field));
  if (cell == nullptr || cell->kind == io::Cell::Kind::kNull) {
    throw BadExample("has no field " + field + ", by which the data is split");
  }
  if (cell->kind != io::Cell::Kind::kText && cell->kind != io::Cell::Kind::kNumber) {
    throw BadExample("the field " + field +
                     ", by which the data is split, must be a string or a number");
  }
  return cell->text;
}

std::vector<uint8_t> split_by_group(std::span<const io::Row> rows, const std::string& field,
                                    double share, uint64_t seed) {
  const Split split{SplitSide::kEvaluation, field, share, seed};
  check_split(split);
  std::vector<uint8_t> sides;
  for (const io::Row& row : rows) {
    try {
      sides.push_back(takes(split, group_of(split, row, std::to_string(row.record))) ? 1 : 0);
    } catch (const BadExample& bad) {
      throw Error(ErrorCode::kInvalidArgument, bad.what(), "line " + std::to_string(row.line));
    }
  }
  return sides;
}

std::string split_fact(const Split& split) {
  if (split.side == SplitSide::kAll) return {};
  const bool evaluation = split.side == SplitSide::kEvaluation;
  return std::string("split ") + (evaluation ? "evaluation " : "training ") +
         std::to_string(split.share) + " by " +
         (split.group_field.empty() ? "default" : split.group_field) + " seed " +
         std::to_string(split.seed) + "\n";
}

}  // namespace longformer::train
