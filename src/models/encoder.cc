#include "longformer/encoder.h"

#include <algorithm>
#include <utility>

#include "attention/plan.h"
#include "base/limits.h"
#include "base/thread_pool.h"
#include "io/checkpoint.h"
#include "io/config.h"
#include "kernels/isa.h"
#include "models/encoder_batch.h"
#include "models/family.h"
#include "models/weights.h"
#include "nn/encoder_stack.h"
#include "nn/pooler.h"

namespace longformer {

struct Encoder::Impl {
  EncoderConfig config;
  EncoderWeights weights;
  EncoderInfo info;
  std::shared_ptr<ThreadPool> pool;
  EncoderWorkspace workspace;
};

Encoder::Encoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder& Encoder::operator=(Encoder&&) noexcept = default;
Encoder::~Encoder() = default;

const EncoderInfo& Encoder::info() const { return impl_->info; }
const NameReport& Encoder::names() const { return impl_->weights.names; }
const std::shared_ptr<ThreadPool>& Encoder::pool() const { return impl_->pool; }

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
  if (!options.attention_window.empty()) {
    if (impl->config.attention_window.empty()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "attention_window: a " + impl->config.model_type +
                      " model attends to everything; there is no window to change");
    }
    impl->config.attention_window =
        check_windows(options.attention_window, impl->config.layers, "attention_window");
  }
  impl->pool = options.pool ? options.pool : std::make_shared<ThreadPool>(options.threads);
  impl->weights = load_weights(io::Checkpoint::open(directory), impl->config, *impl->pool);

  const EncoderConfig& config = impl->config;
  EncoderInfo& info = impl->info;
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
  info.has_pooler = impl->weights.has_pooler;
  info.parameters = impl->weights.parameters;
  return Encoder(std::move(impl));
}

namespace {

// One plan for each distinct window, and for each layer the plan it uses.
std::vector<const AttentionPlan*> compile_plans(
    const EncoderConfig& config, const EncoderInput& input,
    std::vector<std::unique_ptr<AttentionPlan>>& storage) {
  AttentionPattern pattern = attention_pattern(config, input);
  std::vector<int64_t> windows;
  std::vector<const AttentionPlan*> plans;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const int64_t window = config.attention_window.empty() ? 0 : config.attention_window[layer];
    const size_t known = std::find(windows.begin(), windows.end(), window) - windows.begin();
    if (known == windows.size()) {
      if (window != 0) pattern.window = Window{window / 2, window / 2};
      windows.push_back(window);
      storage.push_back(std::make_unique<AttentionPlan>(compile(pattern)));
    }
    plans.push_back(storage[known].get());
  }
  return plans;
}

}  // namespace

EncoderOutput Encoder::encode(const EncoderInput& input, const EncodeOptions& options) {
  const EncoderConfig& config = impl_->config;
  const EncoderBatch batch = prepare_batch(config, input);
  EncoderOutput output;
  if (batch.rows == 0) return output;
  std::vector<std::unique_ptr<AttentionPlan>> storage;
  const std::vector<const AttentionPlan*> plans = compile_plans(config, input, storage);

  output.last_hidden_state.resize(static_cast<size_t>(batch.rows * config.hidden_size));
  float* x = output.last_hidden_state.data();
  embedding(impl_->weights.embeddings, batch.rows, config.hidden_size, input.input_ids.data(),
            batch.positions.data(), batch.types.data(), x, *impl_->pool);
  const auto observe = [&](int64_t layer, const float* state) {
    if (options.hidden_states) {
      output.hidden_states.emplace_back(state, state + batch.rows * config.hidden_size);
    }
    if (options.progress) options.progress(layer + 1, config.layers);
    return !(options.cancelled && options.cancelled());
  };
  if (!run_encoder(impl_->weights.layers, plans, config.head_dim(), x, impl_->workspace, observe,
                   *impl_->pool)) {
    throw Error(ErrorCode::kCancelled, "cancelled");
  }
  if (options.pooler && impl_->weights.has_pooler) {
    output.pooler_output = pool_first_token(impl_->weights.pooler, x, config.hidden_size,
                                            batch.first_rows, *impl_->pool);
  }
  return output;
}

}  // namespace longformer
