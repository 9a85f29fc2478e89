#include "longformer/encoder.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "attention/plan.h"
#include "base/limits.h"
#include "base/thread_pool.h"
#include "io/checkpoint/checkpoint.h"
#include "io/config.h"
#include "kernels/isa.h"
#include "kernels/rowwise.h"
#include "models/batch_contexts.h"
#include "models/encoder_batch.h"
#include "models/family.h"
#include "models/layer_plans.h"
#include "models/memory_need.h"
#include "models/overrides.h"
#include "models/weights.h"
#include "nn/encoder_stack.h"
#include "nn/encoder_stream.h"
#include "nn/layer_attention.h"
#include "nn/pooler.h"

namespace longformer {

struct Encoder::Impl {
  EncoderConfig config;
  EncoderWeights weights;
  EncoderInfo info;
  std::shared_ptr<ThreadPool> pool;
  EncoderWorkspace workspace;

  void stream(const EncoderInput& input, const EncoderBatch& batch, const EncodeOptions& options,
              EncoderOutput& output);
  void show_attention(int64_t layer, const std::vector<LayerContext>& contexts, const float* x,
                      const EncodeOptions& options);
};

Encoder::Encoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder& Encoder::operator=(Encoder&&) noexcept = default;
Encoder::~Encoder() = default;

const EncoderInfo& Encoder::info() const { return impl_->info; }
const NameReport& Encoder::names() const { return impl_->weights.names; }
const std::shared_ptr<ThreadPool>& Encoder::pool() const { return impl_->pool; }

namespace {

EncoderInfo describe(const EncoderConfig& config, const EncoderWeights& weights) {
  EncoderInfo info;
  info.model_type = config.model_type;
  info.model_class = config.model_class;
  info.vocab_size = config.vocab_size;
  info.hidden_size = config.hidden_size;
  info.layers = config.layers;
  info.heads = config.heads;
  info.max_tokens = config.max_tokens();
  info.type_vocab_size = config.type_vocab_size;
  info.pad_token_id = config.pad_token_id;
  info.attention_window = config.attention_window;
  info.attention_dilation = config.attention_dilation;
  info.has_pooler = weights.has_pooler;
  info.parameters = weights.parameters;
  info.compute = weights.precision.compute;
  info.computed = weights.precision.computed;
  return info;
}

}  // namespace

Encoder Encoder::load(const std::filesystem::path& directory, const LoadOptions& options) {
  kernels::apply_isa_limit_from_environment();
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    throw Error(ErrorCode::kNotFound,
                "no such directory; give a directory with config.json and model.safetensors",
                directory.string());
  }
  auto impl = std::make_unique<Impl>();
  impl->config = read_encoder_config(io::Config::read(directory / "config.json"));
  std::vector<std::string> overrides = apply_overrides(options, impl->config);
  impl->pool = options.pool ? options.pool : std::make_shared<ThreadPool>(options.threads);
  const Precision precision =
      choose_precision(options.compute, impl->config.int8_weights, processor_arithmetic());
  impl->weights = load_weights(io::Checkpoint::open(directory), impl->config,
                               {precision, options.check_tensors}, *impl->pool);
  impl->info = describe(impl->config, impl->weights);
  impl->info.overrides = std::move(overrides);
  return Encoder(std::move(impl));
}

namespace {

constexpr int64_t kNormRowsPerTask = 64;

void normalize(const LayerNorm& norm, int64_t rows, int64_t cols, float* x, ThreadPool& pool) {
  pool.run((rows + kNormRowsPerTask - 1) / kNormRowsPerTask, [&](int64_t task, int) {
    const int64_t first = task * kNormRowsPerTask;
    float* from = x + first * cols;
    kernels::layer_norm(std::min(kNormRowsPerTask, rows - first), cols, from, norm.gamma.data(),
                        norm.beta.data(), norm.eps, from);
  });
}

}  // namespace

namespace {

// Texts below this are computed as a whole even where they could stream: it is faster.
constexpr int64_t kStreamRows = 8192;

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

// The rows that are marked.
std::vector<int64_t> wanted_rows(const EncodeOptions& options, int64_t rows) {
  if (options.wanted.empty()) return {};
  if (static_cast<int64_t>(options.wanted.size()) != rows) {
    refuse("wanted holds " + std::to_string(options.wanted.size()) + " values for " +
           std::to_string(rows) + " tokens; give one a token, or none");
  }
  std::vector<int64_t> wanted;
  for (int64_t row = 0; row < rows; ++row) {
    if (options.wanted[static_cast<size_t>(row)] != 0) wanted.push_back(row);
  }
  if (wanted.empty()) refuse("wanted marks no token; mark those whose state is read");
  return wanted;
}

std::vector<int64_t> merged(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

// Zeros in all rows of x [rows, cols] but those wanted.
void clear_others(const std::vector<int64_t>& wanted, int64_t rows, int64_t cols, float* x) {
  auto next = wanted.begin();
  for (int64_t row = 0; row < rows; ++row) {
    if (next != wanted.end() && *next == row) {
      ++next;
    } else {
      std::fill_n(x + row * cols, cols, 0.0f);
    }
  }
}

void check_options(const EncodeOptions& options) {
  if (options.receive && (options.hidden_states || !options.wanted.empty() || options.attentions)) {
    refuse("receive cannot be combined with hidden_states, wanted or attentions");
  }
}

}  // namespace

bool Encoder::streams(const EncoderInput& input) const {
  const EncoderConfig& config = impl_->config;
  if (config.position_kind != PositionKind::kTable || config.attention_window.empty()) return false;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    if (config.window_of(layer) == 0) return false;
  }
  const auto is_set = [](uint8_t value) { return value != 0; };
  return std::none_of(input.global_attention_mask.begin(), input.global_attention_mask.end(),
                      is_set) &&
         std::all_of(input.attention_mask.begin(), input.attention_mask.end(), is_set);
}

// Each sequence by itself, a step of rows after the other.
void Encoder::Impl::stream(const EncoderInput& input, const EncoderBatch& batch,
                           const EncodeOptions& options, EncoderOutput& output) {
  StreamSettings settings;
  settings.head_dim = config.head_dim();
  settings.pattern.heads = config.heads;
  settings.pattern.masked_query = config.masked_query;
  AttentionPattern pattern;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    set_layer(config, layer, pattern);
    settings.windows.push_back(*pattern.window);
    settings.dilations.push_back(config.dilation_of(layer));
  }
  const bool pools = options.pooler && weights.has_pooler;
  std::vector<float> first_states;
  for (size_t s = 0; s < input.lengths.size(); ++s) {
    const int64_t begin = batch.first_rows[s];
    settings.rows = input.lengths[s];
    check_room(
        static_cast<uint64_t>(EncoderStream::bytes_for(weights.layers, settings, pool->threads())),
        0, "a stream of " + std::to_string(settings.rows) + " tokens needs",
        "load the model with a smaller attention_window, or fewer threads");
    EncoderStream stream(weights.layers, settings, *pool);
    std::vector<float> x(static_cast<size_t>(stream.step_rows() * config.hidden_size));
    const auto sink = [&](int64_t first, std::span<const float> states) {
      if (pools && first == 0) {
        first_states.insert(first_states.end(), states.begin(),
                            states.begin() + config.hidden_size);
      }
      options.receive(begin + first, states);
    };
    for (int64_t row = 0; row < settings.rows; row += stream.step_rows()) {
      if (options.cancelled && options.cancelled()) throw Error(ErrorCode::kCancelled, "cancelled");
      const int64_t count = std::min(stream.step_rows(), settings.rows - row);
      const int64_t at = begin + row;
      embedding(weights.embeddings, count, config.hidden_size, input.input_ids.data() + at,
                batch.positions.data() + at, batch.types.data() + at, x.data(), *pool);
      stream.push(count, x.data(), sink);
      if (options.progress)
        options.progress((at + count) * config.layers / batch.rows, config.layers);
    }
  }
  if (pools) {
    std::vector<int64_t> rows(input.lengths.size());
    std::iota(rows.begin(), rows.end(), int64_t{0});
    output.pooler_output =
        pool_first_token(weights.pooler, first_states.data(), config.hidden_size, rows, *pool);
  }
}

// x: the layer's input.
void Encoder::Impl::show_attention(int64_t layer, const std::vector<LayerContext>& contexts,
                                   const float* x, const EncodeOptions& options) {
  const auto index = static_cast<size_t>(layer);
  AttentionProbe probe(weights.layers[index], contexts[index], config.head_dim(), x, *pool);
  options.attentions(
      {layer, config.heads, [&probe](const AttentionVisitor& visitor) { probe.visit(visitor); }});
}

EncoderOutput Encoder::encode(const EncoderInput& input, const EncodeOptions& options) {
  const EncoderConfig& config = impl_->config;
  check_options(options);
  const EncoderBatch batch = prepare_batch(config, input);
  EncoderOutput output;
  if (batch.rows == 0) return output;
  const bool pools = options.pooler && impl_->weights.has_pooler;
  const std::vector<int64_t> wanted = wanted_rows(options, batch.rows);
  const std::vector<int64_t> computed =
      pools && !wanted.empty() ? merged(wanted, batch.first_rows) : wanted;
  const bool long_text =
      *std::max_element(input.lengths.begin(), input.lengths.end()) > kStreamRows;
  if (options.receive && long_text && streams(input)) {
    impl_->stream(input, batch, options, output);
    return output;
  }
  const BatchContexts contexts(config, input, batch, *impl_->pool);
  check_room(
      encode_need({config, impl_->weights.precision, contexts.plans(), impl_->pool->threads(),
                   options.hidden_states, static_cast<bool>(options.attentions)}),
      impl_->workspace.planes.capacity(), std::to_string(batch.rows) + " tokens need",
      "give fewer at once, or read the text in windows (max_tokens)");

  output.last_hidden_state.resize(static_cast<size_t>(batch.rows * config.hidden_size));
  float* x = output.last_hidden_state.data();
  embedding(impl_->weights.embeddings, batch.rows, config.hidden_size, input.input_ids.data(),
            batch.positions.data(), batch.types.data(), x, *impl_->pool);
  const auto observe = [&](int64_t layer, const float* state) {
    if (options.hidden_states) {
      output.hidden_states.emplace_back(state, state + batch.rows * config.hidden_size);
    }
    if (options.progress) options.progress(layer + 1, config.layers);
    if (options.cancelled && options.cancelled()) return false;
    if (options.attentions && layer + 1 < config.layers) {
      impl_->show_attention(layer + 1, contexts.contexts(), state, options);
    }
    return true;
  };
  if (!run_encoder(impl_->weights.layers, contexts.contexts(), config.head_dim(), x,
                   impl_->workspace, observe, *impl_->pool, {.wanted = computed})) {
    throw Error(ErrorCode::kCancelled, "cancelled");
  }
  if (!impl_->weights.final_norm.empty()) {
    normalize(impl_->weights.final_norm, batch.rows, config.hidden_size, x, *impl_->pool);
  }
  if (pools) {
    output.pooler_output = pool_first_token(impl_->weights.pooler, x, config.hidden_size,
                                            batch.first_rows, *impl_->pool);
  }
  // The pooler's rows, and what a final norm makes of zeros, are not the caller's; the rest is
  // zero.
  const bool more = computed.size() > wanted.size() || !impl_->weights.final_norm.empty();
  if (!wanted.empty() && more) clear_others(wanted, batch.rows, config.hidden_size, x);
  if (options.receive) {
    options.receive(0, output.last_hidden_state);
    output.last_hidden_state = {};
  }
  return output;
}

}  // namespace longformer
