#include "models/stored_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "kernels/gemm.h"
#include "longformer/error.h"

namespace longformer {
namespace {

std::string short_text(float value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", double{value});
  return text;
}

constexpr const char* kField = "quantization_config";
constexpr const char* kMethod = "longformer";
constexpr int64_t kVersion = 1;

[[noreturn]] void refuse(const io::Checkpoint& checkpoint, const std::string& name,
                         const std::string& what) {
  throw Error(ErrorCode::kInvalidFile, "tensor \"" + name + "\" " + what,
              checkpoint.directory().string());
}

std::vector<float> read_scales(const io::Checkpoint& checkpoint, const std::string& name,
                               int64_t count) {
  const Tensor tensor = checkpoint.tensor(name);
  if (tensor.dtype != DType::kF32 || tensor.shape != Shape{count}) {
    refuse(checkpoint, name,
           "holds " + std::string(dtype_name(tensor.dtype)) + " of shape " +
               to_string(tensor.shape) + "; the scales of its matrix are F32 of shape " +
               to_string({count}));
  }
  std::vector<float> scales = to_f32(tensor);
  const auto usable = [](float scale) { return scale > 0 && std::isfinite(127.0f * scale); };
  const auto bad = std::find_if_not(scales.begin(), scales.end(), usable);
  if (bad != scales.end()) {
    refuse(checkpoint, name,
           "holds " + short_text(*bad) + " at element " + std::to_string(bad - scales.begin()) +
               "; a scale is positive, finite, and stays finite times 127");
  }
  return scales;
}

}  // namespace

bool states_int8_weights(const io::Config& config) {
  const std::optional<io::Config> quantization = config.object(kField);
  if (!quantization) return false;
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  const bool ours = quantization->string("quant_method", "") == kMethod;
  if (ours && quantization->integer("version", 0, 0, kAny) == kVersion) return true;
  throw Error(ErrorCode::kUnsupported,
              std::string(ours ? "version is another than this program knows"
                               : "quant_method is none that this program knows") +
                  "; known is \"longformer\", version " + std::to_string(kVersion) +
                  ", as convert --dtype int8 writes it. Take the model as it was before it was "
                  "quantised",
              quantization->place());
}

void state_int8_weights(io::Config& config) {
  io::Config quantization;
  quantization.set("quant_method", kMethod);
  quantization.set("version", kVersion);
  config.set(kField, quantization);
}

std::string scale_name(const std::string& weight_name) { return weight_name + ".scale"; }

Matrix read_matrix(const io::Checkpoint& checkpoint, const std::string& name) {
  Tensor tensor = checkpoint.tensor(name);
  if (is_floating(tensor.dtype)) return Matrix(std::move(tensor));
  std::string what =
      "holds " + std::string(dtype_name(tensor.dtype)) + "; weights must be F32, F16, BF16 or F64";
  if (tensor.dtype == DType::kI8) {
    what += std::string(", or I8 with scales in a model whose config.json has a ") + kField;
  }
  refuse(checkpoint, name, what);
}

Matrix read_int8_matrix(const io::Checkpoint& checkpoint, const std::string& name,
                        const std::string& scales) {
  Tensor tensor = checkpoint.tensor(name);
  if (tensor.dtype != DType::kI8 || tensor.shape.size() != 2) {
    refuse(checkpoint, name,
           "holds " + std::string(dtype_name(tensor.dtype)) + " of shape " +
               to_string(tensor.shape) + "; the " + kField + " says that it is an I8 matrix");
  }
  std::vector<float> values = read_scales(checkpoint, scales, tensor.shape[0]);
  const std::span<const std::byte> bytes = tensor.bytes();
  const auto low = std::find(bytes.begin(), bytes.end(), std::byte{0x80});
  if (low != bytes.end()) {
    refuse(checkpoint, name,
           "holds -128 at element " + std::to_string(low - bytes.begin()) +
               "; int8 weights are -127 to 127");
  }
  return Matrix(std::move(tensor), std::move(values));
}

Matrix quantize(const float* values, int64_t rows, int64_t cols) {
  std::vector<std::byte> bytes(static_cast<size_t>(rows * cols));
  std::vector<float> scales(static_cast<size_t>(rows));
  kernels::quantize_weights(values, rows, cols, reinterpret_cast<int8_t*>(bytes.data()),
                            scales.data());
  return Matrix({DType::kI8, {rows, cols}, own_bytes(std::move(bytes)), 0}, std::move(scales));
}

}  // namespace longformer
