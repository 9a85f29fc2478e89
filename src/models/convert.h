// A long model from a short one, and a model in another precision. File to file, tensor by tensor,
// by name: no network is built but for the check at the end.
//
// Long models. The result is a Longformer that computes what the short model computes wherever its
// window covers the text and the text is no longer than the position period. Sources: the recipe of
// the Longformer paper (2020), section 5, with the row rule of each family:
//   with p = pad_token_id, P = period, o = old rows; N + p + 1 rows in all:
//   BERT             starts at row 0, Longformer at p + 1: rows 0 … p = o[0], row p + 1 + k = o[k
//   mod P] RoBERTa, XLM-R   start at p + 1 too: rows 0 … p = o[0 … p], row p + 1 + k = o[p + 1 + k
//   mod P]
// query, key and value serve as *_global too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "longformer/encoder.h"
#include "tensor/dtype.h"

namespace longformer {

enum class LongModelHead {
  kDropped,  // the bare encoder
  kKept,     // with the head of a masked language model, where the source has one
};
enum class NewPositions {
  kCopied,  // as below
  kRandom,  // from N(0, 0.02), but for those in front of the first token: what copying is worth
};

struct LongModelSettings {
  int64_t max_tokens = 0;                  // N, special tokens included
  int64_t attention_window = 0;            // two-sided width, the same in each layer
  std::optional<int64_t> position_period;  // P; default: all rows that tokens of the source read
  std::optional<int64_t> cls_token_id;     // written to config.json where known
  std::optional<int64_t> sep_token_id;
  LongModelHead head = LongModelHead::kDropped;
  NewPositions new_positions = NewPositions::kCopied;
  uint64_t seed = 0;  // of random positions
  LoadOptions load;   // threads of the check, which random positions make pointless
};

struct ConvertReport {
  int64_t tensors = 0;  // written
  std::vector<std::string>
      dropped;  // tensors of the source that the result has no place for (task heads)
  std::vector<std::string> refused;  // functions that a .bin asked to call, which were not called
  std::vector<std::string> files;    // tokenizer and module files that went along
  int64_t checked_tokens = 0;        // length of the text that both models read
  double largest_difference = 0;     // between their hidden states, all layers
};

// Largest difference of a hidden state that the check lets pass (float32 rounding of another order
// of sums).
inline constexpr double kConvertTolerance = 1e-4;

// Writes `destination`, which must not exist or be empty: config.json, model.safetensors, tokenizer
// files without truncation, padding or a shorter length, pooling modules, licence. Then both models
// read one random text and must agree. Nothing is left behind on an error. Throws kUnsupported for
// families and position kinds that have no recipe, kInvalidArgument for settings out of range,
// kInvalidFile for broken sources, kInternal when the two models differ.
ConvertReport convert_to_long(const std::filesystem::path& source,
                              const std::filesystem::path& destination,
                              const LongModelSettings& settings);

// The same model with its floating-point tensors stored as F32, BF16 or F16; int8 weights are
// widened. Or, with kI8, the matrices of its linear layers as int8 (models/stored_weights.h; those
// that are so already stay), its embeddings as BF16 and all else, task heads too, as F32. Other
// tensors and all other files stay. Throws kInvalidArgument for other types, kInvalidFile naming a
// tensor whose values F16 or int8 cannot hold, and under kI8 what reading the model throws.
ConvertReport convert_dtype(const std::filesystem::path& source,
                            const std::filesystem::path& destination, DType dtype);

}  // namespace longformer
