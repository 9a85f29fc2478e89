#include "models/trainable_model.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/random.h"
#include "base/thread_pool.h"
#include "io/checkpoint/checkpoint.h"
#include "kernels/isa.h"
#include "kernels/rowwise.h"
#include "kernels/rowwise_backward.h"
#include "models/anomaly.h"
#include "models/batch_contexts.h"
#include "models/check_tensors.h"
#include "models/complexity.h"
#include "models/fresh_weights.h"
#include "models/head_rows.h"
#include "models/head_weights.h"
#include "models/memory_need.h"
#include "models/overrides.h"
#include "models/parameter_names.h"
#include "models/precision.h"
#include "models/task_loss.h"
#include "models/weights.h"
#include "nn/pooler.h"

namespace longformer {
namespace {

constexpr int64_t kRowsPerTask = 64;

// Keys of the draws: one for each place in the model where something is dropped, sequence and row.
class DropoutKeys {
 public:
  DropoutKeys(uint64_t step, const TrainingBatch& batch) : lengths_(batch.input.lengths) {
    uint64_t ordinal = 0;
    for (size_t s = 0; s < lengths_.size(); ++s) {
      const uint64_t sample = batch.samples.empty() ? s : batch.samples[s];
      const bool again = s > 0 && !batch.samples.empty() && sample == batch.samples[s - 1];
      ordinal = again ? ordinal + 1 : 0;  // the choices of a question are one sample
      sequences_.push_back(random_bits(random_bits(step, sample), ordinal));
    }
  }

  std::vector<uint64_t> of_sequences(int64_t place) const {
    std::vector<uint64_t> keys;
    for (const uint64_t sequence : sequences_) {
      keys.push_back(random_bits(sequence, static_cast<uint64_t>(place)));
    }
    return keys;
  }
  // One a row of the batch.
  std::vector<uint64_t> of_rows(int64_t place) const {
    std::vector<uint64_t> keys;
    for (size_t s = 0; s < lengths_.size(); ++s) {
      const uint64_t key = random_bits(sequences_[s], static_cast<uint64_t>(place));
      for (int64_t t = 0; t < lengths_[s]; ++t) {
        keys.push_back(random_bits(key, static_cast<uint64_t>(t)));
      }
    }
    return keys;
  }

 private:
  const std::vector<int64_t>& lengths_;
  std::vector<uint64_t> sequences_;
};

// Places of DropoutKeys.
constexpr int64_t kEmbeddingPlace = 0;
constexpr int64_t kHeadInPlace = 1;
constexpr int64_t kHeadOutPlace = 2;
constexpr int64_t layer_place(int64_t layer, int64_t site) { return 3 + 3 * layer + site; }

// Puts the labels of a new head into the config. Returns whether they are others than it had.
bool set_labels(const TrainableOptions& options, io::Config& config) {
  if (!options.problem_type.empty()) config.set("problem_type", options.problem_type);
  if (options.labels.empty()) return false;
  std::vector<std::pair<std::string, std::string>> names;
  io::Config numbered;
  for (size_t i = 0; i < options.labels.size(); ++i) {
    names.emplace_back(std::to_string(i), options.labels[i]);
    numbered.set(names.back().first, options.labels[i]);
  }
  const bool same = config.string_map("id2label") == names;
  config.set("id2label", numbered);
  return !same;
}

}  // namespace

struct TrainableModel::Impl {
  EncoderConfig config;
  HeadConfig head;
  DropoutSettings dropout;
  TrainableOptions options;
  Precision precision;
  std::shared_ptr<ThreadPool> pool;
  std::vector<std::string> overrides;
  bool new_labels = false;
  std::map<std::string, std::string> sources;  // names of the model -> of the parameters
  ParameterSet parameters{{}};
  StackTraining stack;

  WeightReader reader() const { return WeightReader(parameters, sources, precision); }
  void load_values(const std::filesystem::path& directory);
  std::vector<LayerDropout> layer_dropout(const DropoutKeys& keys) const;
  bool lower_parts_are_frozen() const;
  int64_t lowest_layer(const std::vector<TrainedLayer>& trained) const;
  Head read_head_now() const;
  bool reads_all(const TaskLoss& loss, const TrainingBatch& batch) const;
  std::vector<float> head_states(const TaskLoss& loss, const TrainingBatch& batch,
                                 std::vector<float> x) const;
  HeadDropout head_dropout(const TaskLoss& loss, const TrainingBatch& batch,
                           const DropoutKeys& keys) const;
  double run_head(const TaskLoss& loss, const TrainingBatch& batch, const DropoutKeys* keys,
                  double scale, std::vector<float>& x) const;
  void embed(const EmbeddingWeights& weights, const EncoderInput& input, const EncoderBatch& batch,
             const DropoutKeys* keys, float* x) const;
  void embed_backward(const EmbeddingWeights& weights, const EncoderInput& input,
                      const EncoderBatch& batch, const DropoutKeys* keys, float* d_x) const;
  void final_norm(int64_t rows, const float* x, float* y) const;
  void final_norm_backward(int64_t rows, const float* x, float* d) const;
};

TrainableModel::TrainableModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TrainableModel::TrainableModel(TrainableModel&&) noexcept = default;
TrainableModel& TrainableModel::operator=(TrainableModel&&) noexcept = default;
TrainableModel::~TrainableModel() = default;

const TaskInfo& TrainableModel::info() const { return impl_->head.info; }
const EncoderConfig& TrainableModel::config() const { return impl_->config; }
const std::shared_ptr<ThreadPool>& TrainableModel::pool() const { return impl_->pool; }
const std::vector<std::string>& TrainableModel::overrides() const { return impl_->overrides; }
ParameterSet& TrainableModel::parameters() { return impl_->parameters; }
const ParameterSet& TrainableModel::parameters() const { return impl_->parameters; }

TrainableModel TrainableModel::load(const std::filesystem::path& directory,
                                    const TrainableOptions& options) {
  kernels::apply_isa_limit_from_environment();
  io::Config config = io::Config::read(directory / "config.json");
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  impl->new_labels = set_labels(options, config);
  impl->config = read_encoder_config(config);
  impl->head = read_head_config(config, impl->config, options.task);
  impl->dropout = read_dropout(config, impl->config, impl->head);
  const LoadOptions& load = options.task.load;
  if (impl->config.int8_weights || load.compute == Compute::kInt8) {
    throw Error(
        ErrorCode::kUnsupported,
        "training needs floating weights, in f32 or bf16; take the checkpoint that the int8 "
        "one was made from",
        config.place());
  }
  if (load.positions != PositionScheme::kTrained) {
    throw Error(ErrorCode::kUnsupported,
                "training keeps the position table as it is stored; make a longer one first "
                "(longformer convert)");
  }
  impl->overrides = apply_overrides(load, impl->config);
  impl->pool = load.pool ? load.pool : std::make_shared<ThreadPool>(load.threads);
  impl->precision = choose_precision(load.compute, false, processor_arithmetic());
  // Weights that are rounded and then multiplied in f32 would save nothing.
  if (impl->precision.linear.multiplied == DType::kF32) impl->precision = Precision{};
  ModelNames names = parameter_names(impl->config, impl->head);
  impl->sources = std::move(names.sources);
  impl->parameters = ParameterSet(std::move(names.specs));
  if (options.start == StartWeights::kFresh) {
    fill_fresh(impl->parameters, impl->sources, impl->config, impl->head, options.task.seed);
  } else {
    impl->load_values(directory);
  }
  for (const Parameter& parameter : impl->parameters.all()) {
    impl->parameters.train(parameter.spec.name);
  }
  return TrainableModel(std::move(impl));
}

void TrainableModel::Impl::load_values(const std::filesystem::path& directory) {
  const io::Checkpoint checkpoint = io::Checkpoint::open(directory);
  std::vector<io::ExpectedTensor> expected = expected_tensors(config);
  for (const io::ExpectedTensor& tensor : expected_head_tensors(head, config)) {
    const bool output = tensor.name.starts_with(head.output + ".") ||
                        tensor.name == head.output_bias || tensor.name == head.tied_bias;
    if (!output || !new_labels) expected.push_back(tensor);
  }
  const io::Resolution resolution = io::resolve_names(checkpoint, expected, config.name_prefixes);
  const Precision stored;
  const WeightReader reader(checkpoint, resolution, stored);
  head.info.new_tensors = absent_head_tensors(reader, head, config);
  if (!head.info.new_tensors.empty() && !options.task.allow_new_head) {
    refuse_absent_head(head.info.new_tensors, head, checkpoint.directory().string());
  }
  if (options.task.load.check_tensors) check_tensors(checkpoint, resolution, *pool);
  const NewTensors fresh(head.initializer_range, options.task.seed);
  for (const auto& [name, source] : sources) {
    if (source.empty()) continue;
    Parameter& parameter = parameters.at(source);
    const std::span<float> values(parameter.value, static_cast<size_t>(parameter.elements));
    const Shape& shape = parameter.spec.shape;
    if (reader.has(name)) {
      const Tensor tensor = reader.tensor(name);
      to_f32(tensor, values);
      tensor.release_pages();
    } else if (shape.size() == 2) {
      const std::vector<float> matrix = fresh.matrix(name, shape[0], shape[1]);
      std::copy(matrix.begin(), matrix.end(), values.begin());
    } else {
      std::fill(values.begin(), values.end(), name.ends_with(".weight") ? 1.0f : 0.0f);
    }
  }
}

std::vector<LayerDropout> TrainableModel::Impl::layer_dropout(const DropoutKeys& keys) const {
  std::vector<LayerDropout> result(static_cast<size_t>(config.layers));
  for (int64_t l = 0; l < config.layers; ++l) {
    LayerDropout& layer = result[static_cast<size_t>(l)];
    layer.attention_keys = keys.of_sequences(layer_place(l, 0));
    layer.attention = {kernels::dropout_rule(dropout.attention), layer.attention_keys};
    layer.attention_output = kernels::dropout_rule(dropout.attention_output);
    layer.attention_rows = keys.of_rows(layer_place(l, 1));
    layer.feed_forward = kernels::dropout_rule(dropout.feed_forward);
    layer.feed_forward_rows = keys.of_rows(layer_place(l, 2));
  }
  return result;
}

// Nothing below layer 0 is trained.
bool TrainableModel::Impl::lower_parts_are_frozen() const {
  const EmbeddingGradients gradients = embedding_gradients(parameters, sources, config);
  // Where the word table is the output matrix too, it has a gradient of its own from there; what
  // comes from below is part of it all the same.
  return gradients.word == nullptr && gradients.position == nullptr && gradients.type == nullptr &&
         gradients.gamma == nullptr && gradients.beta == nullptr;
}

int64_t TrainableModel::Impl::lowest_layer(const std::vector<TrainedLayer>& trained) const {
  if (!lower_parts_are_frozen()) return 0;
  int64_t layer = 0;
  while (layer < config.layers && is_frozen(trained[static_cast<size_t>(layer)])) ++layer;
  return layer;
}

void TrainableModel::Impl::embed(const EmbeddingWeights& weights, const EncoderInput& input,
                                 const EncoderBatch& batch, const DropoutKeys* keys,
                                 float* x) const {
  embedding(weights, batch.rows, config.hidden_size, input.input_ids.data(), batch.positions.data(),
            batch.types.data(), x, *pool);
  const kernels::DropoutRule rule = kernels::dropout_rule(dropout.embedding);
  if (keys == nullptr || !rule.drops()) return;
  const std::vector<uint64_t> rows = keys->of_rows(kEmbeddingPlace);
  kernels::dropout_rows(batch.rows, config.hidden_size, rule, rows.data(), 0, 1, x,
                        config.hidden_size);
}

void TrainableModel::Impl::embed_backward(const EmbeddingWeights& weights,
                                          const EncoderInput& input, const EncoderBatch& batch,
                                          const DropoutKeys* keys, float* d_x) const {
  const kernels::DropoutRule rule = kernels::dropout_rule(dropout.embedding);
  if (keys != nullptr && rule.drops()) {
    const std::vector<uint64_t> rows = keys->of_rows(kEmbeddingPlace);
    kernels::dropout_rows(batch.rows, config.hidden_size, rule, rows.data(), 0, 1, d_x,
                          config.hidden_size);
  }
  embedding_backward(weights, batch.rows, config.hidden_size, input.input_ids.data(),
                     batch.positions.data(), batch.types.data(), d_x,
                     embedding_gradients(parameters, sources, config), *pool);
}

void TrainableModel::Impl::final_norm(int64_t rows, const float* x, float* y) const {
  const LayerNorm norm = reader().norm(config.names->final_norm, config.layer_norm_eps);
  pool->run((rows + kRowsPerTask - 1) / kRowsPerTask, [&](int64_t task, int) {
    const int64_t at = task * kRowsPerTask * config.hidden_size;
    kernels::layer_norm(std::min(kRowsPerTask, rows - task * kRowsPerTask), config.hidden_size,
                        x + at, norm.gamma.data(), norm.beta.data(), norm.eps, y + at);
  });
}

void TrainableModel::Impl::final_norm_backward(int64_t rows, const float* x, float* d) const {
  const LayerNorm norm = reader().norm(config.names->final_norm, config.layer_norm_eps);
  const NormGradient to = norm_gradient(parameters, sources, config.names->final_norm);
  // One after the other: rows are few beside what the layers cost.
  kernels::layer_norm_backward(rows, config.hidden_size, x, norm.gamma.data(), norm.eps, d, d,
                               to.gamma, to.beta);
}

Head TrainableModel::Impl::read_head_now() const {
  Head weights;
  pool->run(1,
            [&](int64_t, int) { weights = read_head(reader(), head, config, precision, nullptr); });
  return weights;
}

bool TrainableModel::Impl::reads_all(const TaskLoss& loss, const TrainingBatch& batch) const {
  return head.rows != HeadRows::kMean &&
         loss.head_rows() == static_cast<int64_t>(batch.input.input_ids.size());
}

// Of the states x [rows, hidden], those that the head reads.
std::vector<float> TrainableModel::Impl::head_states(const TaskLoss& loss,
                                                     const TrainingBatch& batch,
                                                     std::vector<float> x) const {
  if (reads_all(loss, batch)) return x;
  if (head.rows == HeadRows::kMean) return mean_rows(batch.input, config.hidden_size, x.data());
  return gather_rows(x.data(), config.hidden_size, loss.rows());
}

HeadDropout TrainableModel::Impl::head_dropout(const TaskLoss& loss, const TrainingBatch& batch,
                                               const DropoutKeys& keys) const {
  HeadDropout drop{
      kernels::dropout_rule(dropout.head_in), kernels::dropout_rule(dropout.head_out), {}, {}};
  const auto of_head = [&](int64_t place) {
    if (head.rows == HeadRows::kMean) return keys.of_sequences(place);
    const std::vector<uint64_t> all = keys.of_rows(place);
    if (reads_all(loss, batch)) return all;
    std::vector<uint64_t> some;
    for (const int64_t row : loss.rows()) some.push_back(all[static_cast<size_t>(row)]);
    return some;
  };
  if (drop.in.drops()) drop.in_rows = of_head(kHeadInPlace);
  if (drop.out.drops()) drop.out_rows = of_head(kHeadOutPlace);
  return drop;
}

// x: the states, [rows, hidden]; becomes the derivative by them. Returns the sum of the losses.
double TrainableModel::Impl::run_head(const TaskLoss& loss, const TrainingBatch& batch,
                                      const DropoutKeys* keys, double scale,
                                      std::vector<float>& x) const {
  const int64_t hidden = config.hidden_size;
  std::vector<float> states = head_states(loss, batch, x);
  HeadDropout drop;
  if (keys != nullptr) drop = head_dropout(loss, batch, *keys);
  double sum = 0;
  train_head(
      read_head_now(), trained_head(parameters, sources, head, config),
      keys == nullptr ? nullptr : &drop, loss.head_rows(), hidden, loss.chunk_rows(),
      [&](int64_t first, int64_t count, float* logits) {
        sum += loss.apply(first, count, scale, logits, *pool);
      },
      states.data(), *pool);
  if (reads_all(loss, batch)) {
    x = std::move(states);
  } else if (head.rows == HeadRows::kMean) {
    mean_rows_backward(batch.input, hidden, states.data(), x.data());
  } else {
    std::fill(x.begin(), x.end(), 0.0f);
    for (size_t i = 0; i < loss.rows().size(); ++i) {
      std::copy_n(states.data() + i * static_cast<size_t>(hidden), hidden,
                  x.data() + loss.rows()[i] * hidden);
    }
  }
  return sum;
}

// A batch on its way through the model: everything that a step refers to, and its parts in order.
class TrainableModel::Pass {
 public:
  Pass(Impl& model, const TrainingBatch& given, std::optional<uint64_t> dropout_key)
      : m_(model), batch_(given) {
    set_default_global(m_.head.info, batch_.input);
    rows_ = prepare_batch(m_.config, batch_.input);
    loss_.emplace(m_.head, batch_, m_.options.label_smoothing);
    if (empty()) return;
    contexts_.emplace(m_.config, batch_.input, rows_, *m_.pool);
    if (dropout_key) {
      keys_.emplace(*dropout_key, batch_);
      dropout_ = m_.layer_dropout(*keys_);
    }
    reader_.emplace(m_.reader());
    embeddings_ = read_embeddings(*reader_, m_.config);
    trained_ = trained_layers(m_.parameters, m_.sources, m_.config);
    step_.layer = [this](int64_t layer) { return read_layer(*reader_, m_.config, layer); };
    step_.contexts = contexts_->contexts();
    step_.trained = trained_;
    step_.dropout = dropout_;
    step_.head_dim = m_.config.head_dim();
    step_.lowest = m_.lowest_layer(trained_);
    step_.activations = m_.options.activations;
  }

  bool empty() const { return rows_.rows == 0 || loss_->labels() == 0; }
  const TaskLoss& loss() const { return *loss_; }
  const TrainingBatch& batch() const { return batch_; }
  const DropoutKeys* keys() const { return keys_ ? &*keys_ : nullptr; }

  // Must outlive the pass.
  void watch(AnomalyFinder& finder) {
    finder_ = &finder;
    step_.observer = [this](Direction direction, int64_t layer, const float* rows) {
      look((direction == Direction::kForward ? "the output of layer "
                                             : "the derivative by the input of layer ") +
               std::to_string(layer),
           rows);
    };
  }

  // The states that the head reads, [rows, hidden].
  std::vector<float> forward() {
    const int64_t hidden = m_.config.hidden_size;
    float* const embedded = m_.stack.begin(m_.config.layers, rows_.rows, hidden);
    m_.embed(embeddings_, batch_.input, rows_, keys(), embedded);
    look("the embeddings", embedded);
    last_ = m_.stack.forward(step_, *m_.pool);
    std::vector<float> x(last_, last_ + rows_.rows * hidden);
    if (has_final_norm()) m_.final_norm(rows_.rows, last_, x.data());
    return x;
  }

  // d: by these states.
  void backward(std::vector<float>& d) {
    look("the derivative by what the head reads", d.data());
    if (has_final_norm()) m_.final_norm_backward(rows_.rows, last_, d.data());
    m_.stack.backward(step_, d.data(), *m_.pool);
    if (m_.lower_parts_are_frozen()) return;
    m_.embed_backward(embeddings_, batch_.input, rows_, keys(), d.data());
  }

 private:
  void look(const std::string& what, const float* rows) {
    if (finder_ != nullptr) finder_->rows(what, m_.config.hidden_size, rows);
  }
  bool has_final_norm() const { return m_.config.names->final_norm != nullptr; }

  Impl& m_;
  TrainingBatch batch_;
  EncoderBatch rows_;
  std::optional<TaskLoss> loss_;
  std::optional<BatchContexts> contexts_;
  std::optional<DropoutKeys> keys_;
  std::vector<LayerDropout> dropout_;
  std::optional<WeightReader> reader_;
  EmbeddingWeights embeddings_;
  std::vector<TrainedLayer> trained_;
  StackStep step_;
  const float* last_ = nullptr;  // of the stack
  AnomalyFinder* finder_ = nullptr;
};

TrainingLoss TrainableModel::accumulate(const TrainingBatch& batch, const TrainingPass& options) {
  Pass pass(*impl_, batch, options.dropout);
  if (pass.empty()) return {};
  std::vector<float> x = pass.forward();
  const double sum = impl_->run_head(pass.loss(), pass.batch(), pass.keys(), options.scale, x);
  pass.backward(x);
  return {sum, pass.loss().labels()};
}

std::string TrainableModel::find_anomaly(const TrainingBatch& batch, const TrainingPass& options) {
  Pass pass(*impl_, batch, options.dropout);
  AnomalyFinder finder(pass.batch().input.lengths);
  finder.parameters(impl_->parameters);
  if (pass.empty()) return finder.found();
  pass.watch(finder);
  std::vector<float> x = pass.forward();
  finder.number("the loss",
                impl_->run_head(pass.loss(), pass.batch(), pass.keys(), options.scale, x));
  pass.backward(x);
  return finder.found();
}

TrainingLoss TrainableModel::evaluate(const TrainingBatch& batch, const LogitsSink& sink) {
  Impl& m = *impl_;
  Pass pass(m, batch, std::nullopt);
  if (pass.empty()) return {};
  const TaskLoss& loss = pass.loss();
  std::vector<float> states = m.head_states(loss, pass.batch(), pass.forward());
  const Head head = m.read_head_now();
  const int64_t hidden = m.config.hidden_size;
  double sum = 0;
  std::vector<float> logits;
  for (int64_t first = 0; first < loss.head_rows(); first += loss.chunk_rows()) {
    const int64_t count = std::min(loss.chunk_rows(), loss.head_rows() - first);
    logits.resize(static_cast<size_t>(count * m.head.info.outputs));
    longformer::run_head(head, count, hidden, states.data() + first * hidden, logits.data(),
                         *m.pool);
    if (sink) sink(loss, first, count, logits.data());
    sum += loss.apply(first, count, 1.0, logits.data(), *m.pool);
  }
  return {sum, loss.labels()};
}

double TrainableModel::flop(const TrainingBatch& given) const {
  const Impl& m = *impl_;
  TrainingBatch batch = given;
  set_default_global(m.head.info, batch.input);
  const EncoderBatch rows = prepare_batch(m.config, batch.input);
  const TaskLoss loss(m.head, batch, m.options.label_smoothing);
  const std::vector<TrainedLayer> trained = trained_layers(m.parameters, m.sources, m.config);
  const int64_t lowest = m.lowest_layer(trained);
  // Products of a layer's forward pass, of its derivatives by inputs, and of those by weights.
  const auto passes = [&](int64_t layer) {
    if (layer < lowest) return 1.0;
    return is_frozen(trained[static_cast<size_t>(layer)]) ? 2.0 : 3.0;
  };
  const double of_labels =
      m.head.rows == HeadRows::kTokens && rows.rows > 0
          ? static_cast<double>(loss.head_rows()) / static_cast<double>(rows.rows)
          : 1.0;
  std::map<std::pair<int64_t, int64_t>, double> of_lengths;  // by length and global tokens
  double sum = 0;
  int64_t first = 0;
  for (const int64_t length : batch.input.lengths) {
    int64_t globals = 0;
    for (int64_t t = 0; t < length && !batch.input.global_attention_mask.empty(); ++t) {
      globals += batch.input.global_attention_mask[static_cast<size_t>(first + t)] != 0 ? 1 : 0;
    }
    first += length;
    const auto [found, fresh] = of_lengths.try_emplace({length, globals}, 0.0);
    if (fresh && length > 0) {
      const LayerPlans plans(m.config, plain_pattern(m.config, 1, length, globals));
      for (const ModuleCost& module : module_costs(m.config, m.head, plans)) {
        const auto count = static_cast<double>(module.cost.count(Convention::kExact));
        found->second += 2.0 * count * (module.layer ? passes(*module.layer) : 3.0 * of_labels);
      }
    }
    sum += found->second;
  }
  return sum;
}

uint64_t TrainableModel::bytes_for(const TrainingBatch& given) const {
  const Impl& m = *impl_;
  TrainingBatch batch = given;
  set_default_global(m.head.info, batch.input);
  const TaskLoss loss(m.head, batch, m.options.label_smoothing);
  LayerPlans plans(m.config, attention_pattern(m.config, batch.input));
  std::vector<const AttentionPlan*> of_layers;
  for (int64_t l = 0; l < m.config.layers; ++l) of_layers.push_back(&plans.of(l));
  const EncoderLayer layer = planned_layer(m.config, m.precision);
  const bool wide = m.head.info.task == Task::kMaskedLm;
  const int threads = m.pool->threads();
  const uint64_t layers = weights_need(m.config, m.precision);
  const auto share = std::min<int64_t>(threads, m.config.layers);
  return StackTraining::bytes_for(layer, of_layers, m.config.head_dim(), m.options.activations,
                                  threads) +
         (m.options.activations == Activations::kKept
              ? layers
              : layers * static_cast<uint64_t>(share) / static_cast<uint64_t>(m.config.layers)) +
         head_backward_bytes(m.config.hidden_size, m.head.info.outputs,
                             wide ? m.precision.outer.multiplied : DType::kF32, loss.head_rows(),
                             threads);
}

}  // namespace longformer
