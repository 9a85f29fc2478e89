// Dense, double precision, no tiles, no plan: the definition of the encoders written down once
// more.
#include <algorithm>
#include <cmath>

#include "attention/reference.h"
#include "models/encoder_batch.h"
#include "support/random_model.h"

namespace longformer::test {
namespace {

using Values = std::vector<double>;

class Model {
 public:
  Model(const EncoderConfig& config, const Tensors& tensors) : config_(config), tensors_(tensors) {}

  Values linear(const Values& x, int64_t rows, const std::string& name, int64_t out,
                int64_t in) const {
    return linear_part(x, rows, name, 0, out, in);
  }

  // Rows [first, first + out) of the layer.
  Values linear_part(const Values& x, int64_t rows, const std::string& name, int64_t first,
                     int64_t out, int64_t in) const {
    const std::vector<float>& weight = tensors_.at(name + ".weight");
    const auto bias = tensors_.find(name + ".bias");
    Values y(static_cast<size_t>(rows * out));
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t o = 0; o < out; ++o) {
        double sum = bias == tensors_.end() ? 0.0 : double{bias->second[first + o]};
        for (int64_t i = 0; i < in; ++i) sum += x[r * in + i] * weight[(first + o) * in + i];
        y[r * out + o] = sum;
      }
    }
    return y;
  }

  void norm(Values& x, const std::string& name) const {
    const int64_t width = config_.hidden_size;
    const std::vector<float>& gamma = tensors_.at(name + ".weight");
    const auto found = tensors_.find(name + ".bias");
    const std::vector<float> beta =
        found == tensors_.end() ? std::vector<float>(static_cast<size_t>(width)) : found->second;
    for (size_t r = 0; r < x.size() / width; ++r) {
      double mean = 0, variance = 0;
      for (int64_t c = 0; c < width; ++c) mean += x[r * width + c] / width;
      for (int64_t c = 0; c < width; ++c) variance += std::pow(x[r * width + c] - mean, 2) / width;
      for (int64_t c = 0; c < width; ++c) {
        double& value = x[r * width + c];
        value = (value - mean) / std::sqrt(variance + config_.layer_norm_eps) * gamma[c] + beta[c];
      }
    }
  }

  double activate(double t) const {
    using kernels::Activation;
    switch (config_.activation) {
      case Activation::kGelu:
        return 0.5 * t * (1 + std::erf(t / std::sqrt(2.0)));
      case Activation::kGeluTanh:
        return 0.5 * t * (1 + std::tanh(std::sqrt(2.0 / M_PI) * (t + 0.044715 * t * t * t)));
      case Activation::kRelu:
        return t > 0 ? t : 0;
      case Activation::kSilu:
        return t / (1 + std::exp(-t));
      case Activation::kTanh:
        return std::tanh(t);
      case Activation::kQuickGelu:
        return t / (1 + std::exp(-1.702 * t));
    }
    return NAN;
  }

  // Channels c and c + d / 2 of each head turned by position * theta^(-2c / d).
  void rotate(Values& x, const std::vector<int64_t>& positions, double theta) const {
    const int64_t width = config_.hidden_size, d = config_.head_dim();
    for (size_t r = 0; r < positions.size(); ++r) {
      for (int64_t head = 0; head < config_.heads; ++head) {
        double* from = &x[r * width + head * d];
        for (int64_t c = 0; c < d / 2; ++c) {
          const double angle = static_cast<double>(positions[r]) *
                               std::pow(theta, -2.0 * static_cast<double>(c) / d);
          const double a = from[c], b = from[c + d / 2];
          from[c] = a * std::cos(angle) - b * std::sin(angle);
          from[c + d / 2] = b * std::cos(angle) + a * std::sin(angle);
        }
      }
    }
  }

  Values attention(const Values& x, const AttentionPattern& pattern,
                   const std::vector<int64_t>& positions, int64_t layer) const {
    const TensorNames& names = *config_.names;
    const std::string prefix = names.layers + std::to_string(layer) + ".";
    const int64_t width = config_.hidden_size;
    const int64_t rows = static_cast<int64_t>(positions.size());
    const auto project = [&](const char* name, int64_t part) {
      return names.fused != nullptr
                 ? linear_part(x, rows, prefix + names.fused, part * width, width, width)
                 : linear(x, rows, prefix + name, width, width);
    };
    ReferenceInputs in;
    in.head_dim = config_.head_dim();
    const double scale = 1 / std::sqrt(static_cast<double>(in.head_dim));
    in.q = project(names.query, 0);
    in.k = project(names.key, 1);
    in.v = project(names.value, 2);
    if (config_.position_kind == PositionKind::kRotary) {
      rotate(in.q, positions, config_.rotary_theta[layer]);
      rotate(in.k, positions, config_.rotary_theta[layer]);
    }
    if (config_.global_attention) {
      in.global_q = linear(x, rows, prefix + names.query + "_global", width, width);
      in.global_k = linear(x, rows, prefix + names.key + "_global", width, width);
      in.global_v = linear(x, rows, prefix + names.value + "_global", width, width);
    }
    for (double& value : in.q) value *= scale;
    for (double& value : in.global_q) value *= scale;
    return linear(attention_reference(pattern, in).out, rows, prefix + names.attention_output,
                  width, width);
  }

  Values feed_forward(const Values& x, int64_t rows, int64_t layer) const {
    const TensorNames& names = *config_.names;
    const std::string prefix = names.layers + std::to_string(layer) + ".";
    const int64_t width = config_.hidden_size, inner = config_.intermediate_size;
    Values u = linear_part(x, rows, prefix + names.inner, 0, inner, width);
    for (double& value : u) value = activate(value);
    if (config_.feed_forward == FeedForwardKind::kGated) {
      const Values gate = linear_part(x, rows, prefix + names.inner, inner, inner, width);
      for (size_t i = 0; i < u.size(); ++i) u[i] *= gate[i];
    }
    return linear(u, rows, prefix + names.outer, width, inner);
  }

  // The row of the position table by the formula of PositionScheme.
  double position(int64_t index, int64_t c) const {
    const std::vector<float>& table =
        tensors_.at(std::string(config_.names->position_embeddings) + ".weight");
    const int64_t reserved = config_.reserved_rows(), trained = config_.trained_tokens();
    const auto at = [&](int64_t row) { return double{table[row * config_.hidden_size + c]}; };
    const int64_t k = index - reserved;
    if (k < 0 || config_.position_scheme == PositionScheme::kTrained) return at(index);
    if (config_.position_scheme == PositionScheme::kRepeat) return at(reserved + k % trained);
    const double t = static_cast<double>(k) * static_cast<double>(trained - 1) /
                     static_cast<double>(config_.max_tokens() - 1);
    const int64_t low = std::min(static_cast<int64_t>(t), std::max<int64_t>(trained - 2, 0));
    const int64_t high = std::min(low + 1, trained - 1);
    return at(reserved + low) +
           (t - static_cast<double>(low)) * (at(reserved + high) - at(reserved + low));
  }

  Values embeddings(const EncoderBatch& batch, const std::vector<int64_t>& ids) const {
    const TensorNames& names = *config_.names;
    const int64_t width = config_.hidden_size;
    const std::vector<float>& words = tensors_.at(std::string(names.word_embeddings) + ".weight");
    Values x(static_cast<size_t>(batch.rows * width));
    for (int64_t r = 0; r < batch.rows; ++r) {
      for (int64_t c = 0; c < width; ++c) {
        double& value = x[r * width + c];
        value = words[ids[r] * width + c];
        if (config_.position_kind == PositionKind::kRotary) continue;
        value += position(batch.positions[r], c);
        value +=
            tensors_.at(std::string(names.type_embeddings) + ".weight")[batch.types[r] * width + c];
      }
    }
    norm(x, names.embedding_norm);
    return x;
  }

 private:
  const EncoderConfig& config_;
  const Tensors& tensors_;
};

Values add(const Values& a, const Values& b) {
  Values sum(a);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
  return sum;
}

}  // namespace

ReferenceStates reference_encoder(const EncoderConfig& config, const Tensors& tensors,
                                  const EncoderInput& input) {
  const Model model(config, tensors);
  const EncoderBatch batch = prepare_batch(config, input);
  const TensorNames& names = *config.names;
  const bool pre = config.norm_placement == NormPlacement::kPre;
  AttentionPattern pattern = attention_pattern(config, input);
  Values x = model.embeddings(batch, input.input_ids);
  ReferenceStates states;
  states.hidden.push_back(x);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string prefix = names.layers + std::to_string(layer) + ".";
    pattern.window.reset();
    if (const int64_t window = config.window_of(layer); window > 0) {
      pattern.window = Window{window / 2, config.causal ? 0 : window / 2};
    }
    pattern.dilation.assign(static_cast<size_t>(config.heads), config.dilation_of(layer));
    Values h = x;
    if (pre && (layer > 0 || config.first_norm)) model.norm(h, prefix + names.attention_norm);
    x = add(x, model.attention(h, pattern, batch.positions, layer));
    if (!pre) model.norm(x, prefix + names.attention_norm);
    h = x;
    if (pre) model.norm(h, prefix + names.feed_forward_norm);
    x = add(x, model.feed_forward(h, batch.rows, layer));
    if (!pre) model.norm(x, prefix + names.feed_forward_norm);
    states.hidden.push_back(x);
  }
  if (names.final_norm != nullptr) model.norm(x, names.final_norm);
  states.last = x;
  if (names.pooler == nullptr) return states;
  const int64_t width = config.hidden_size;
  Values first;
  for (const int64_t row : batch.first_rows)
    first.insert(first.end(), &x[row * width], &x[row * width] + width);
  states.pooled = model.linear(first, static_cast<int64_t>(batch.first_rows.size()), names.pooler,
                               width, width);
  for (double& value : states.pooled) value = std::tanh(value);
  return states;
}

}  // namespace longformer::test
