// The weights of a head, from a checkpoint or from what is being trained.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/heads.h"
#include "models/precision.h"
#include "models/weight_reader.h"
#include "nn/head.h"

namespace longformer {

// Tensors of the head that the reader lacks, by their names in the model.
std::vector<std::string> absent_head_tensors(const WeightReader& reader, const HeadConfig& head,
                                             const EncoderConfig& encoder);
// Throws kInvalidFile naming them.
[[noreturn]] void refuse_absent_head(const std::vector<std::string>& absent, const HeadConfig& head,
                                     const std::string& place);

// The numbers of a new head: matrices from N(0, range), norms 1, biases 0. Draws beyond `cutoff`
// deviations are drawn again; 0: none are.
class NewTensors {
 public:
  NewTensors(double range, uint64_t seed, double cutoff = 0)
      : range_(range), seed_(seed), cutoff_(cutoff) {}
  // A function of seed, name and place alone.
  std::vector<float> matrix(const std::string& name, int64_t rows, int64_t cols) const;

 private:
  double range_;
  uint64_t seed_;
  double cutoff_;
};

// The head in f32, but for an output over a vocabulary, which is rounded as the encoder is. fresh:
// what stands in for absent tensors; null where none are. On a pool thread.
Head read_head(const WeightReader& reader, const HeadConfig& head, const EncoderConfig& encoder,
               const Precision& precision, const NewTensors* fresh);

}  // namespace longformer
