#include "tasks/vector_head.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/limits.h"
#include "io/checkpoint/checkpoint.h"
#include "io/config.h"
#include "tasks/pooling.h"

namespace longformer::tasks {
namespace {

constexpr float kNormEps = 1e-5f;  // torch.nn.LayerNorm's own

Tensor read_tensor(const io::Checkpoint& checkpoint, const std::string& name, const Shape& shape) {
  const std::string place = checkpoint.directory().string();
  if (!checkpoint.contains(name)) {
    throw Error(ErrorCode::kInvalidFile, "the module's weights lack " + name, place);
  }
  Tensor tensor = checkpoint.tensor(name);
  if (tensor.shape != shape || !is_floating(tensor.dtype)) {
    throw Error(ErrorCode::kInvalidFile,
                name + " has shape " + to_string(tensor.shape) +
                    "; its config.json asks for floating-point numbers of shape " +
                    to_string(shape),
                place);
  }
  return tensor;
}

void multiply(const Matrix& weight, int64_t rows, int64_t cols, const float* x, float* y) {
  std::vector<float> widened;
  for (int64_t r = 0; r < rows; ++r) y[r] = kernels::dot(cols, weight.read(r, 1, widened), x);
}

// "torch.nn.modules.activation.Tanh" -> "Tanh"
std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

}  // namespace

VectorHead::Step VectorHead::read_dense(const HeadModule& module, int64_t input_size) {
  const io::Config config = io::Config::read(module.directory / "config.json");
  Step step;
  step.kind = module.kind;
  step.cols = config.integer("in_features", 0, 1, kMaxHidden);
  step.rows = config.integer("out_features", 0, 1, kMaxHidden);
  if (step.cols != input_size) {
    throw Error(ErrorCode::kInvalidFile,
                "in_features is " + std::to_string(step.cols) + " but the module before gives " +
                    std::to_string(input_size) + " numbers",
                config.place());
  }
  const std::string name =
      last_part(config.string("activation_function", "torch.nn.modules.activation.Tanh"));
  if (name == "Sigmoid") {
    step.after = After::kSigmoid;
  } else if (name != "Identity") {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    const auto known = kernels::activation_from_name(lower);
    if (!known) {
      throw Error(ErrorCode::kUnsupported,
                  "activation_function is not one of Identity, Tanh, ReLU, GELU, SiLU, Sigmoid",
                  config.place());
    }
    step.after = After::kActivation;
    step.activation = *known;
  }
  const io::Checkpoint checkpoint = io::Checkpoint::open(module.directory);
  step.weight = Matrix(read_tensor(checkpoint, "linear.weight", {step.rows, step.cols}));
  step.bias.assign(static_cast<size_t>(step.rows), 0.0f);
  if (config.boolean("bias", true)) {
    step.bias = to_f32(read_tensor(checkpoint, "linear.bias", {step.rows}));
  }
  step.residual = config.boolean("use_residual", false);
  if (step.residual && step.rows != step.cols) {
    step.residual_weight =
        Matrix(read_tensor(checkpoint, "residual.weight", {step.rows, step.cols}));
  }
  return step;
}

VectorHead::Step VectorHead::read_norm(const HeadModule& module, int64_t input_size) {
  const io::Checkpoint checkpoint = io::Checkpoint::open(module.directory);
  Step step;
  step.kind = module.kind;
  step.rows = step.cols = input_size;
  step.norm = {to_f32(read_tensor(checkpoint, "norm.weight", {input_size})),
               to_f32(read_tensor(checkpoint, "norm.bias", {input_size})), kNormEps};
  return step;
}

VectorHead VectorHead::load(const std::vector<HeadModule>& modules, int64_t input_size) {
  VectorHead head;
  head.input_size_ = head.output_size_ = input_size;
  for (const HeadModule& module : modules) {
    switch (module.kind) {
      case HeadModule::Kind::kDense:
        head.steps_.push_back(read_dense(module, head.output_size_));
        break;
      case HeadModule::Kind::kLayerNorm:
        head.steps_.push_back(read_norm(module, head.output_size_));
        break;
      case HeadModule::Kind::kNormalize:
        head.steps_.emplace_back();
        head.steps_.back().rows = head.output_size_;
        break;
    }
    head.output_size_ = head.steps_.back().rows;
  }
  return head;
}

bool VectorHead::normalizes() const noexcept {
  return !steps_.empty() && steps_.back().kind == HeadModule::Kind::kNormalize;
}

void VectorHead::apply(std::span<const float> pooled, std::span<float> out) const {
  std::vector<float> x(pooled.begin(), pooled.end());
  std::vector<float> y;
  for (const Step& step : steps_) {
    if (step.kind == HeadModule::Kind::kNormalize) {
      normalize(x);
      continue;
    }
    y.resize(static_cast<size_t>(step.rows));
    if (step.kind == HeadModule::Kind::kLayerNorm) {
      kernels::layer_norm(1, step.rows, x.data(), step.norm.gamma.data(), step.norm.beta.data(),
                          step.norm.eps, y.data());
      std::swap(x, y);
      continue;
    }
    multiply(step.weight, step.rows, step.cols, x.data(), y.data());
    if (step.after == After::kActivation) {
      const kernels::Products products{.stride = step.rows, .f32 = y.data()};
      kernels::bias_activation(1, step.rows, step.activation, products, step.bias.data(),
                               {DType::kF32, y.data(), step.rows, nullptr, nullptr});
    } else {
      kernels::add_scaled(step.rows, 1.0f, step.bias.data(), y.data());
    }
    if (step.after == After::kSigmoid) {
      for (float& value : y) value = 1.0f / (1.0f + std::exp(-value));
    }
    if (step.residual) {
      std::vector<float> kept = x;
      if (!step.residual_weight.empty()) {
        kept.resize(static_cast<size_t>(step.rows));
        multiply(step.residual_weight, step.rows, step.cols, x.data(), kept.data());
      }
      kernels::add_scaled(step.rows, 1.0f, kept.data(), y.data());
    }
    std::swap(x, y);
  }
  std::copy(x.begin(), x.end(), out.begin());
}

}  // namespace longformer::tasks
