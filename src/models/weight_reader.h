// Resolved tensors of a checkpoint by the model's names, in the form that operations take them.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint.h"
#include "models/precision.h"
#include "nn/parameters.h"
#include "ops/attention_block.h"
#include "ops/weights.h"

namespace longformer {

// Matrices are packed: call linear(), outer(), packed() and fused() on a pool thread. Throws
// kInvalidFile for tensors that do not hold floating point numbers, as models/stored_weights.h.
class WeightReader {
 public:
  // Refers to checkpoint and precision.
  WeightReader(const io::Checkpoint& checkpoint, const io::Resolution& resolution,
               const Precision& precision);
  // From what is being trained. sources: names of the model -> of the parameters. Refers to
  // parameters and precision; what it gives shares the memory of tables and global projections.
  WeightReader(const ParameterSet& parameters, std::map<std::string, std::string> sources,
               const Precision& precision);

  bool has(const std::string& name) const {
    const auto source = sources_.find(name);
    return source != sources_.end() && !source->second.empty();
  }

  // As stored, floating.
  Tensor tensor(const std::string& name) const;
  std::vector<float> vector(const std::string& name) const;
  Matrix matrix(const std::string& name) const;

  // A linear layer called `name`: its matrix and, where the model has one, its bias.
  Linear linear(const std::string& name) const { return packed(name, precision_.linear); }
  Linear outer(const std::string& name) const { return packed(name, precision_.outer); }
  Linear packed(const std::string& name, const WeightTypes& types) const;
  // Three linear layers whose matrices lie one above the other.
  std::array<Linear, 3> fused(const std::string& name) const;
  GlobalProjection global_projection(const std::string& name) const;
  LayerNorm norm(const std::string& name, float eps) const;
  // Zeros where the model has no such tensor, or the checkpoint lacks it.
  std::vector<float> bias(const std::string& name, int64_t first, int64_t count) const;

 private:
  template <int64_t parts>
  std::array<Linear, parts> linears(const std::string& name, const WeightTypes& types) const;

  std::function<Matrix(const std::string& source)> read_;  // floating
  std::function<Matrix(const std::string& source, const std::string& scales)> read_int8_;
  const Precision& precision_;
  std::map<std::string, std::string> sources_;
};

// Rows [first, first + rows) of a matrix, rounded and packed as `types` says. On a pool thread.
kernels::PackedMatrix pack_rows(const Matrix& matrix, int64_t first, int64_t rows,
                                const WeightTypes& types);

}  // namespace longformer
