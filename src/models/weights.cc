#include "models/weights.h"

#include <map>

#include "base/thread_pool.h"
#include "longformer/error.h"

namespace longformer {
namespace {

std::string layer_prefix(int64_t layer) { return "encoder.layer." + std::to_string(layer) + "."; }

// Hands out resolved tensors by the model's names.
class WeightReader {
 public:
  WeightReader(const io::Checkpoint& checkpoint, const io::Resolution& resolution)
      : checkpoint_(checkpoint) {
    for (const io::ResolvedTensor& tensor : resolution.tensors)
      sources_[tensor.name] = tensor.source;
  }

  bool has(const std::string& name) const { return !sources_.at(name).empty(); }

  Tensor tensor(const std::string& name) const {
    Tensor tensor = checkpoint_.tensor(sources_.at(name));
    if (!is_floating(tensor.dtype)) {
      throw Error(ErrorCode::kInvalidFile,
                  "tensor \"" + sources_.at(name) + "\" holds " +
                      std::string(dtype_name(tensor.dtype)) +
                      "; weights must be F32, F16, BF16 or F64",
                  checkpoint_.directory().string());
    }
    return tensor;
  }

  std::vector<float> vector(const std::string& name) const { return to_f32(tensor(name)); }

  Linear linear(const std::string& name) const {
    const Tensor weight = tensor(name + ".weight");
    const Matrix matrix(weight);
    Linear linear{kernels::PackedMatrix::pack(matrix.data(), weight.shape[0], weight.shape[1]),
                  vector(name + ".bias")};
    weight.release_pages();
    return linear;
  }

  GlobalProjection global_projection(const std::string& name) const {
    return {Matrix(tensor(name + ".weight")), vector(name + ".bias")};
  }

  LayerNorm norm(const std::string& name, float eps) const {
    return {vector(name + ".weight"), vector(name + ".bias"), eps};
  }

 private:
  const io::Checkpoint& checkpoint_;
  std::map<std::string, std::string> sources_;
};

EncoderLayer read_layer(const WeightReader& reader, const EncoderConfig& config, int64_t index) {
  const std::string prefix = layer_prefix(index);
  const std::string self = prefix + "attention.self.";
  EncoderLayer layer;
  layer.attention.query = reader.linear(self + "query");
  layer.attention.key = reader.linear(self + "key");
  layer.attention.value = reader.linear(self + "value");
  layer.attention.output = reader.linear(prefix + "attention.output.dense");
  layer.attention.norm = reader.norm(prefix + "attention.output.LayerNorm", config.layer_norm_eps);
  if (config.global_attention) {
    layer.attention.query_global = reader.global_projection(self + "query_global");
    layer.attention.key_global = reader.global_projection(self + "key_global");
    layer.attention.value_global = reader.global_projection(self + "value_global");
  }
  layer.feed_forward.inner = reader.linear(prefix + "intermediate.dense");
  layer.feed_forward.outer = reader.linear(prefix + "output.dense");
  layer.feed_forward.norm = reader.norm(prefix + "output.LayerNorm", config.layer_norm_eps);
  layer.feed_forward.activation = config.activation;
  return layer;
}

}  // namespace

std::vector<io::ExpectedTensor> expected_tensors(const EncoderConfig& config) {
  std::vector<io::ExpectedTensor> tensors;
  const int64_t hidden = config.hidden_size;
  const auto add = [&](const std::string& name, Shape shape, const std::string& fallback = {}) {
    tensors.push_back({name, std::move(shape), false, fallback});
  };
  const auto add_linear = [&](const std::string& name, int64_t out, int64_t in) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  };
  const auto add_norm = [&](const std::string& name) {
    add(name + ".weight", {hidden});
    add(name + ".bias", {hidden});
  };
  add("embeddings.word_embeddings.weight", {config.vocab_size, hidden});
  add("embeddings.position_embeddings.weight", {config.position_rows, hidden});
  add("embeddings.token_type_embeddings.weight", {config.type_vocab_size, hidden});
  add_norm("embeddings.LayerNorm");
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string prefix = layer_prefix(layer);
    const std::string self = prefix + "attention.self.";
    for (const char* projection : {"query", "key", "value"})
      add_linear(self + projection, hidden, hidden);
    if (config.global_attention) {
      // A file without them is a model before conversion was finished: the local projections serve,
      // and the report says so.
      for (const std::string projection : {"query", "key", "value"}) {
        add(self + projection + "_global.weight", {hidden, hidden}, self + projection + ".weight");
        add(self + projection + "_global.bias", {hidden}, self + projection + ".bias");
      }
    }
    add_linear(prefix + "attention.output.dense", hidden, hidden);
    add_norm(prefix + "attention.output.LayerNorm");
    add_linear(prefix + "intermediate.dense", config.intermediate_size, hidden);
    add_linear(prefix + "output.dense", hidden, config.intermediate_size);
    add_norm(prefix + "output.LayerNorm");
  }
  tensors.push_back({"pooler.dense.weight", {hidden, hidden}, true, {}});
  tensors.push_back({"pooler.dense.bias", {hidden}, true, {}});
  return tensors;
}

EncoderWeights load_weights(const io::Checkpoint& checkpoint, const EncoderConfig& config,
                            ThreadPool& pool) {
  const std::vector<io::ExpectedTensor> expected = expected_tensors(config);
  const io::Resolution resolution = io::resolve_names(checkpoint, expected, config.name_prefixes);
  const WeightReader reader(checkpoint, resolution);
  EncoderWeights weights;
  weights.names = resolution.report;
  for (const io::ExpectedTensor& tensor : expected) {
    if (reader.has(tensor.name)) weights.parameters += element_count(tensor.shape);
  }
  weights.embeddings.word = EmbeddingTable(reader.tensor("embeddings.word_embeddings.weight"));
  weights.embeddings.position =
      EmbeddingTable(reader.tensor("embeddings.position_embeddings.weight"));
  weights.embeddings.type =
      EmbeddingTable(reader.tensor("embeddings.token_type_embeddings.weight"));
  weights.embeddings.norm = reader.norm("embeddings.LayerNorm", config.layer_norm_eps);
  weights.layers.resize(static_cast<size_t>(config.layers));
  pool.run(config.layers,
           [&](int64_t layer, int) { weights.layers[layer] = read_layer(reader, config, layer); });
  weights.has_pooler = reader.has("pooler.dense.weight") && reader.has("pooler.dense.bias");
  if (weights.has_pooler)
    pool.run(1, [&](int64_t, int) { weights.pooler = reader.linear("pooler.dense"); });
  return weights;
}

}  // namespace longformer
