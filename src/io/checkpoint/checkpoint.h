// The weights of a model directory by name: the first of model.safetensors, the shards of
// model.safetensors.index.json, pytorch_model.bin, the shards of pytorch_model.bin.index.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "longformer/encoder.h"
#include "tensor/tensor.h"

namespace longformer::io {

class Checkpoint {
 public:
  // Throws kNotFound when the directory or its weights do not exist (naming what was looked for),
  // kInvalidFile for broken files.
  static Checkpoint open(const std::filesystem::path& directory);

  const std::vector<std::string>& names() const;  // in file order
  bool contains(const std::string& name) const;
  // A view of the mapping; for tensors that a .bin holds in another order than row-major, a copy.
  // Throws kNotFound, and kInvalidFile for what a .bin would make by calling a function.
  Tensor tensor(const std::string& name) const;
  const Shape& shape(const std::string& name) const;  // throws as above, copies nothing
  // "module name" of the functions that a .bin asks to call and that were not: objects of trainers.
  const std::vector<std::string>& refused() const;
  const std::filesystem::path& directory() const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

// A tensor that a model wants.
struct ExpectedTensor {
  std::string name;  // name inside the base model, e.g. "embeddings.word_embeddings.weight"
  Shape shape;
  bool optional = false;  // absent by design is fine (pooler)
  std::string fallback;   // name of another expected tensor whose values serve when this is absent
                          // ("" = none)
};

struct ResolvedTensor {
  std::string name;    // as expected
  std::string source;  // name in the checkpoint; empty: missing
};

struct Resolution {
  std::vector<ResolvedTensor> tensors;  // one an expected tensor, same order
  NameReport report;
};

// Matches names: wrapper prefixes ("module.", "model.") and base prefixes (e.g. "bert.") are
// stripped where that makes names match, LayerNorm.gamma/beta renamed, buffers (position_ids, …)
// ignored. Where the word embedding is absent, the decoder that is tied to it serves. The report:
// `loaded` and `missing` hold names as expected, in that order; `unexpected` names of the
// checkpoint, sorted with numbers as numbers; `converted` what served as a fallback
// ("query -> query_global", not in `loaded`) or was renamed ("….gamma -> ….weight", also in
// `loaded`). Throws kInvalidFile naming the tensors for a missing core tensor (with the prefixes
// that were tried), a wrong shape (both shapes), two tensors that would serve as one (both names).
Resolution resolve_names(const Checkpoint& checkpoint, const std::vector<ExpectedTensor>& expected,
                         const std::vector<std::string>& base_prefixes);

}  // namespace longformer::io
