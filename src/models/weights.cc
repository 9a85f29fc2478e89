#include "models/weights.h"

#include <map>

#include "base/thread_pool.h"
#include "longformer/error.h"

namespace longformer {
namespace {

std::string layer_prefix(const EncoderConfig& config, int64_t layer) {
  return config.names->layers + std::to_string(layer) + ".";
}

constexpr const char* kGlobal = "_global";

bool has_attention_norm(const EncoderConfig& config, int64_t layer) {
  return layer > 0 || config.first_norm;
}

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

  // The rows of `part` of `parts` equal parts of a layer; a bias that the model does not have is 0.
  Linear linear(const std::string& name, int64_t part = 0, int64_t parts = 1) const {
    const Tensor weight = tensor(name + ".weight");
    const Matrix matrix(weight);
    const int64_t rows = weight.shape[0] / parts;
    const int64_t cols = weight.shape[1];
    Linear linear{kernels::PackedMatrix::pack(matrix.data() + part * rows * cols, rows, cols),
                  bias(name, part * rows, rows)};
    if (part + 1 == parts) weight.release_pages();
    return linear;
  }

  GlobalProjection global_projection(const std::string& name) const {
    return {Matrix(tensor(name + ".weight")), vector(name + ".bias")};
  }

  LayerNorm norm(const std::string& name, float eps) const {
    std::vector<float> gamma = vector(name + ".weight");
    const int64_t size = static_cast<int64_t>(gamma.size());
    return {std::move(gamma), bias(name, 0, size), eps};
  }

 private:
  std::vector<float> bias(const std::string& name, int64_t first, int64_t count) const {
    if (sources_.count(name + ".bias") == 0) return std::vector<float>(static_cast<size_t>(count));
    const std::vector<float> all = vector(name + ".bias");
    return {all.begin() + first, all.begin() + first + count};
  }

  const io::Checkpoint& checkpoint_;
  std::map<std::string, std::string> sources_;
};

AttentionWeights read_attention(const WeightReader& reader, const EncoderConfig& config,
                                int64_t index) {
  const TensorNames& names = *config.names;
  const std::string prefix = layer_prefix(config, index);
  AttentionWeights attention;
  if (names.fused != nullptr) {
    attention.query = reader.linear(prefix + names.fused, 0, 3);
    attention.key = reader.linear(prefix + names.fused, 1, 3);
    attention.value = reader.linear(prefix + names.fused, 2, 3);
  } else {
    attention.query = reader.linear(prefix + names.query);
    attention.key = reader.linear(prefix + names.key);
    attention.value = reader.linear(prefix + names.value);
  }
  if (config.global_attention) {
    attention.query_global = reader.global_projection(prefix + names.query + kGlobal);
    attention.key_global = reader.global_projection(prefix + names.key + kGlobal);
    attention.value_global = reader.global_projection(prefix + names.value + kGlobal);
  }
  attention.output = reader.linear(prefix + names.attention_output);
  attention.placement = config.norm_placement;
  if (has_attention_norm(config, index)) {
    attention.norm = reader.norm(prefix + names.attention_norm, config.layer_norm_eps);
  }
  return attention;
}

EncoderLayer read_layer(const WeightReader& reader, const EncoderConfig& config, int64_t index) {
  const TensorNames& names = *config.names;
  const std::string prefix = layer_prefix(config, index);
  EncoderLayer layer;
  layer.attention = read_attention(reader, config, index);
  layer.feed_forward.inner = reader.linear(prefix + names.inner);
  layer.feed_forward.outer = reader.linear(prefix + names.outer);
  layer.feed_forward.norm = reader.norm(prefix + names.feed_forward_norm, config.layer_norm_eps);
  layer.feed_forward.placement = config.norm_placement;
  layer.feed_forward.kind = config.feed_forward;
  layer.feed_forward.activation = config.activation;
  return layer;
}

PositionTable read_positions(const WeightReader& reader, const EncoderConfig& config) {
  using Reading = PositionTable::Reading;
  EmbeddingTable table(reader.tensor(std::string(config.names->position_embeddings) + ".weight"));
  Reading reading = Reading::kAsStored;
  if (config.position_scheme == PositionScheme::kRepeat) reading = Reading::kRepeat;
  if (config.position_scheme == PositionScheme::kExtend) reading = Reading::kInterpolate;
  return PositionTable(std::move(table), reading, config.reserved_rows(), config.max_tokens());
}

EmbeddingWeights read_embeddings(const WeightReader& reader, const EncoderConfig& config) {
  const TensorNames& names = *config.names;
  EmbeddingWeights embeddings;
  embeddings.word = EmbeddingTable(reader.tensor(std::string(names.word_embeddings) + ".weight"));
  if (names.position_embeddings != nullptr) {
    embeddings.position = read_positions(reader, config);
    embeddings.type = EmbeddingTable(reader.tensor(std::string(names.type_embeddings) + ".weight"));
  }
  embeddings.norm = reader.norm(names.embedding_norm, config.layer_norm_eps);
  return embeddings;
}

// Collects what a config asks for.
class TensorList {
 public:
  explicit TensorList(const EncoderConfig& config) : config_(config) {}

  void add(const std::string& name, Shape shape, const std::string& fallback = {}) {
    tensors_.push_back({name, std::move(shape), false, fallback});
  }

  void add_linear(const std::string& name, int64_t out, int64_t in, bool bias) {
    add(name + ".weight", {out, in});
    if (bias) add(name + ".bias", {out});
  }

  void add_norm(const std::string& name) {
    add(name + ".weight", {config_.hidden_size});
    if (config_.norm_bias) add(name + ".bias", {config_.hidden_size});
  }

  void add_embeddings() {
    const TensorNames& names = *config_.names;
    const int64_t hidden = config_.hidden_size;
    add(std::string(names.word_embeddings) + ".weight", {config_.vocab_size, hidden});
    if (names.position_embeddings != nullptr) {
      add(std::string(names.position_embeddings) + ".weight", {config_.position_rows, hidden});
      add(std::string(names.type_embeddings) + ".weight", {config_.type_vocab_size, hidden});
    }
    add_norm(names.embedding_norm);
  }

  void add_projections(const std::string& prefix) {
    const TensorNames& names = *config_.names;
    const int64_t hidden = config_.hidden_size;
    if (names.fused != nullptr) {
      return add_linear(prefix + names.fused, 3 * hidden, hidden, config_.attention_bias);
    }
    for (const char* name : {names.query, names.key, names.value})
      add_linear(prefix + name, hidden, hidden, config_.attention_bias);
    if (!config_.global_attention) return;
    // A file without them is a model before conversion was finished: the local projections serve,
    // and the report says so.
    for (const char* name : {names.query, names.key, names.value}) {
      const std::string local = prefix + name;
      add(local + kGlobal + ".weight", {hidden, hidden}, local + ".weight");
      add(local + kGlobal + ".bias", {hidden}, local + ".bias");
    }
  }

  void add_layer(int64_t layer) {
    const TensorNames& names = *config_.names;
    const std::string prefix = layer_prefix(config_, layer);
    const int64_t hidden = config_.hidden_size;
    const int64_t inner = config_.intermediate_size;
    add_projections(prefix);
    add_linear(prefix + names.attention_output, hidden, hidden, config_.attention_bias);
    if (has_attention_norm(config_, layer)) add_norm(prefix + names.attention_norm);
    const int64_t gates = config_.feed_forward == FeedForwardKind::kGated ? 2 : 1;
    add_linear(prefix + names.inner, gates * inner, hidden, config_.feed_forward_bias);
    add_linear(prefix + names.outer, hidden, inner, config_.feed_forward_bias);
    add_norm(prefix + names.feed_forward_norm);
  }

  void add_head() {
    const TensorNames& names = *config_.names;
    const int64_t hidden = config_.hidden_size;
    if (names.final_norm != nullptr) add_norm(names.final_norm);
    if (names.pooler == nullptr) return;
    tensors_.push_back({std::string(names.pooler) + ".weight", {hidden, hidden}, true, {}});
    tensors_.push_back({std::string(names.pooler) + ".bias", {hidden}, true, {}});
  }

  std::vector<io::ExpectedTensor> take() { return std::move(tensors_); }

 private:
  const EncoderConfig& config_;
  std::vector<io::ExpectedTensor> tensors_;
};

}  // namespace

std::vector<io::ExpectedTensor> expected_tensors(const EncoderConfig& config) {
  TensorList list(config);
  list.add_embeddings();
  for (int64_t layer = 0; layer < config.layers; ++layer) list.add_layer(layer);
  list.add_head();
  return list.take();
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
  weights.embeddings = read_embeddings(reader, config);
  weights.layers.resize(static_cast<size_t>(config.layers));
  pool.run(config.layers,
           [&](int64_t layer, int) { weights.layers[layer] = read_layer(reader, config, layer); });
  if (config.names->final_norm != nullptr) {
    weights.final_norm = reader.norm(config.names->final_norm, config.layer_norm_eps);
  }
  if (config.names->pooler == nullptr) return weights;
  const std::string pooler = config.names->pooler;
  weights.has_pooler = reader.has(pooler + ".weight") && reader.has(pooler + ".bias");
  if (weights.has_pooler)
    pool.run(1, [&](int64_t, int) { weights.pooler = reader.linear(pooler); });
  return weights;
}

}  // namespace longformer
