// What conversions share: the files that go along with the weights (tokenizer, modules, documents),
// and what is refused in the weights. Internal to this folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace longformer {

// Copies the known files of `source` and its module directories ("1_Pooling"); returns their names,
// sorted. Throws kInvalidFile for a link that leads out of the model, or a file over the limit.
std::vector<std::string> copy_companions(const std::filesystem::path& source,
                                         const std::filesystem::path& destination);

// Published files carry the short model's lengths; a long model's files must not cut its texts.
// Without a tokenizer class readers would take the one that goes with "longformer", so the one of
// the source's `model_type` is written.
void lengthen_companions(const std::filesystem::path& directory, const std::string& model_type,
                         int64_t max_tokens);

// A value that is not finite spreads over a whole text; where it comes from is seen only in the
// weights. Throws kInvalidFile naming the tensor.
void check_finite(const Tensor& tensor, const std::string& name,
                  const std::filesystem::path& source);

}  // namespace longformer
