// Dense, double precision, no tiles, no plan: the definition of a post-norm encoder written down
// once more.
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
    const std::vector<float>& weight = tensors_.at(name + ".weight");
    const std::vector<float>& bias = tensors_.at(name + ".bias");
    Values y(static_cast<size_t>(rows * out));
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t o = 0; o < out; ++o) {
        double sum = bias[o];
        for (int64_t i = 0; i < in; ++i) sum += x[r * in + i] * weight[o * in + i];
        y[r * out + o] = sum;
      }
    }
    return y;
  }

  void norm(Values& x, const std::string& name) const {
    const int64_t width = config_.hidden_size;
    const std::vector<float>& gamma = tensors_.at(name + ".weight");
    const std::vector<float>& beta = tensors_.at(name + ".bias");
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

  Values attention(const Values& x, const AttentionPattern& pattern, int64_t rows,
                   const std::string& prefix) const {
    const int64_t width = config_.hidden_size;
    ReferenceInputs in;
    in.head_dim = config_.head_dim();
    const double scale = 1 / std::sqrt(static_cast<double>(in.head_dim));
    const auto project = [&](const std::string& name, double factor) {
      Values y = linear(x, rows, prefix + "attention.self." + name, width, width);
      for (double& value : y) value *= factor;
      return y;
    };
    in.q = project("query", scale);
    in.k = project("key", 1);
    in.v = project("value", 1);
    if (config_.global_attention) {
      in.global_q = project("query_global", scale);
      in.global_k = project("key_global", 1);
      in.global_v = project("value_global", 1);
    }
    return attention_reference(pattern, in).out;
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
  const int64_t width = config.hidden_size;
  Values x(static_cast<size_t>(batch.rows * width));
  for (int64_t r = 0; r < batch.rows; ++r) {
    for (int64_t c = 0; c < width; ++c) {
      x[r * width + c] =
          double{tensors.at("embeddings.word_embeddings.weight")[input.input_ids[r] * width + c]} +
          tensors.at("embeddings.position_embeddings.weight")[batch.positions[r] * width + c] +
          tensors.at("embeddings.token_type_embeddings.weight")[batch.types[r] * width + c];
    }
  }
  model.norm(x, "embeddings.LayerNorm");
  ReferenceStates states;
  states.hidden.push_back(x);
  AttentionPattern pattern = attention_pattern(config, input);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string prefix = "encoder.layer." + std::to_string(layer) + ".";
    if (!config.attention_window.empty()) {
      pattern.window =
          Window{config.attention_window[layer] / 2, config.attention_window[layer] / 2};
    }
    const Values context = model.attention(x, pattern, batch.rows, prefix);
    Values a =
        add(x, model.linear(context, batch.rows, prefix + "attention.output.dense", width, width));
    model.norm(a, prefix + "attention.output.LayerNorm");
    Values inner =
        model.linear(a, batch.rows, prefix + "intermediate.dense", config.intermediate_size, width);
    for (double& value : inner) value = model.activate(value);
    x = add(a, model.linear(inner, batch.rows, prefix + "output.dense", width,
                            config.intermediate_size));
    model.norm(x, prefix + "output.LayerNorm");
    states.hidden.push_back(x);
  }
  Values first;
  for (const int64_t row : batch.first_rows)
    first.insert(first.end(), &x[row * width], &x[row * width] + width);
  states.pooled = model.linear(first, static_cast<int64_t>(batch.first_rows.size()), "pooler.dense",
                               width, width);
  for (double& value : states.pooled) value = std::tanh(value);
  return states;
}

}  // namespace longformer::test
