// Small random checkpoints for tests, and the dense double-precision encoder that they are compared
// with.
#pragma once

#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "io/checkpoint/safetensors.h"
#include "io/files.h"
#include "longformer/encoder.h"
#include "models/family.h"
#include "models/weights.h"

namespace longformer::test {

// A directory that is removed again.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "longformer-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

using Tensors = std::map<std::string, std::vector<float>>;

// Random weights for every tensor that the config asks for: normal with the given deviation, norms
// around 1.
inline Tensors random_tensors(const EncoderConfig& config, uint32_t seed, float deviation = 0.1f) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0f, deviation);
  Tensors tensors;
  for (const io::ExpectedTensor& expected : expected_tensors(config)) {
    std::vector<float> values(static_cast<size_t>(element_count(expected.shape)));
    const bool around_one =
        expected.name.ends_with("orm.weight");  // "….LayerNorm.weight", "….attn_norm.weight"
    for (float& value : values) value = normal(engine) + (around_one ? 1.0f : 0.0f);
    tensors[expected.name] = std::move(values);
  }
  return tensors;
}

inline void write_checkpoint(const std::filesystem::path& directory, const std::string& config_json,
                             const EncoderConfig& config, const Tensors& tensors,
                             const std::string& prefix = "") {
  io::write_file_atomic(directory / "config.json", config_json);
  std::vector<io::NamedTensor> named;
  for (const io::ExpectedTensor& expected : expected_tensors(config)) {
    const auto found = tensors.find(expected.name);
    if (found == tensors.end()) continue;
    named.push_back({prefix + expected.name,
                     make_tensor(expected.shape, std::span<const float>(found->second))});
  }
  io::write_safetensors(directory / "model.safetensors", named);
}

// What the encoder should give, in double precision, straight from the definition of the families
// and of count().
struct ReferenceStates {
  std::vector<std::vector<double>> hidden;  // embeddings and each layer, [rows, hidden_size]
  std::vector<double> last;                 // [rows, hidden_size], behind the final norm
  std::vector<double> pooled;               // [sequences, hidden_size]; empty without a pooler
};
ReferenceStates reference_encoder(const EncoderConfig& config, const Tensors& tensors,
                                  const EncoderInput& input);

}  // namespace longformer::test
