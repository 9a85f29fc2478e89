// A model in another precision, file to file, tensor by tensor.
#include <cmath>
#include <map>
#include <utility>

#include "io/checkpoint/checkpoint.h"
#include "io/checkpoint/safetensors.h"
#include "io/config.h"
#include "io/files.h"
#include "longformer/error.h"
#include "models/convert.h"
#include "models/convert_files.h"
#include "models/family.h"
#include "models/stored_weights.h"
#include "models/weights.h"

namespace longformer {
namespace {

namespace fs = std::filesystem;

// torch_dtype of config.json; empty for int8, where no one type says it.
std::string reference_name(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float32";
    case DType::kBF16:
      return "bfloat16";
    case DType::kF16:
      return "float16";
    case DType::kI8:
      return "";
    default:
      throw Error(ErrorCode::kInvalidArgument,
                  "weights can be stored as f32, bf16, f16 or int8, not as " +
                      std::string(dtype_name(dtype)),
                  "dtype");
  }
}

io::Config converted_config(io::Config config, DType dtype) {
  const std::string name = reference_name(dtype);
  config.erase("quantization_config");
  if (dtype == DType::kI8) {
    config.erase("dtype");
    config.erase("torch_dtype");
    state_int8_weights(config);
  } else {
    config.set(config.has("dtype") ? "dtype" : "torch_dtype", name);
  }
  return config;
}

Tensor store_as(const io::NamedTensor& named, DType dtype) {
  Tensor result = cast(named.tensor, dtype);
  if (dtype != DType::kF16) return result;
  const std::vector<float> before = to_f32(named.tensor);
  const std::vector<float> after = to_f32(result);
  for (size_t i = 0; i < before.size(); ++i) {
    if (std::isfinite(before[i]) && !std::isfinite(after[i])) {
      throw Error(ErrorCode::kInvalidFile,
                  "holds values beyond 65504, which f16 cannot store; use bf16 or f32",
                  "tensor \"" + named.name + "\"");
    }
  }
  return result;
}

// The type of each tensor of an int8 model that is not stored in F32, by its name in the
// checkpoint.
std::map<std::string, DType> int8_types(const io::Checkpoint& checkpoint,
                                        const EncoderConfig& config) {
  std::map<std::string, std::string> sources;
  for (const io::ResolvedTensor& tensor : resolve_weights(checkpoint, config).tensors) {
    sources[tensor.name] = tensor.source;
  }
  std::map<std::string, DType> types;
  const TensorNames& names = *config.names;
  for (const char* name :
       {names.word_embeddings, names.position_embeddings, names.type_embeddings}) {
    if (name != nullptr) types[sources.at(std::string(name) + ".weight")] = DType::kBF16;
  }
  for (const std::string& name : linear_weights(config)) types[sources.at(name)] = DType::kI8;
  for (const std::string& name : outer_weights(config)) types[sources.at(name)] = DType::kBF16;
  return types;
}

class DtypeConversion {
 public:
  DtypeConversion(const io::Checkpoint& checkpoint, const io::Config& config, DType dtype)
      : checkpoint_(checkpoint), dtype_(dtype), from_int8_(states_int8_weights(config)) {
    if (dtype == DType::kI8) types_ = int8_types(checkpoint, read_encoder_config(config));
  }

  std::vector<io::NamedTensor> run() {
    for (const std::string& name : checkpoint_.names()) {
      if (!is_scale(name)) add(name);
    }
    return std::move(tensors_);
  }

 private:
  // Scales come with their matrices.
  bool is_scale(const std::string& name) const {
    const std::string ending = scale_name("");
    if (!from_int8_ || !name.ends_with(ending)) return false;
    const std::string matrix = name.substr(0, name.size() - ending.size());
    return checkpoint_.contains(matrix) && checkpoint_.tensor(matrix).dtype == DType::kI8;
  }

  void add(const std::string& name) {
    const Tensor tensor = checkpoint_.tensor(name);
    if (from_int8_ && tensor.dtype == DType::kI8) {
      add_matrix(name, read_int8(name));
    } else if (tensor.dtype == DType::kI8 && checkpoint_.contains(scale_name(name))) {
      throw Error(ErrorCode::kInvalidFile,
                  "tensor \"" + name +
                      "\" is an int8 matrix with scales, but config.json says nothing of int8 "
                      "weights (quantization_config): the two files are of different models",
                  checkpoint_.directory().string());
    } else if (!is_floating(tensor.dtype)) {
      tensors_.push_back({name, tensor});
    } else if (type_of(name) == DType::kI8) {
      check_finite(tensor, name, checkpoint_.directory());
      add_matrix(name, Matrix(tensor));
    } else {
      tensors_.push_back({name, store_as({name, tensor}, type_of(name))});
    }
  }

  Matrix read_int8(const std::string& name) const {
    if (checkpoint_.contains(scale_name(name))) {
      return read_int8_matrix(checkpoint_, name, scale_name(name));
    }
    throw Error(ErrorCode::kInvalidFile,
                "tensor \"" + scale_name(name) + "\" is missing: the scales of an int8 matrix",
                checkpoint_.directory().string());
  }

  void add_matrix(const std::string& name, const Matrix& matrix) {
    std::vector<float> buffer;
    if (type_of(name) != DType::kI8) {
      const float* const values = matrix.read(0, matrix.rows(), buffer);
      const size_t count = static_cast<size_t>(matrix.rows() * matrix.cols());
      const Tensor wide = make_tensor(matrix.tensor().shape, std::span(values, count));
      tensors_.push_back({name, store_as({name, wide}, type_of(name))});
      return;
    }
    const bool stored = matrix.type() == DType::kI8;
    const Matrix int8 =
        stored ? matrix
               : quantize(matrix.read(0, matrix.rows(), buffer), matrix.rows(), matrix.cols());
    tensors_.push_back({name, int8.tensor()});
    tensors_.push_back(
        {scale_name(name), make_tensor({int8.rows()}, std::span<const float>(int8.scales()))});
  }

  DType type_of(const std::string& name) const {
    if (dtype_ != DType::kI8) return dtype_;
    const auto found = types_.find(name);
    return found == types_.end() ? DType::kF32 : found->second;
  }

  const io::Checkpoint& checkpoint_;
  DType dtype_;
  bool from_int8_;
  std::map<std::string, DType> types_;
  std::vector<io::NamedTensor> tensors_;
};

}  // namespace

ConvertReport convert_dtype(const fs::path& source, const fs::path& destination, DType dtype) {
  const io::Config config = io::Config::read(source / "config.json");
  const io::Config converted = converted_config(config, dtype);
  const io::Checkpoint checkpoint = io::Checkpoint::open(source);
  ConvertReport report;
  report.refused = checkpoint.refused();
  io::write_directory_atomic(destination, [&](const fs::path& temporary) {
    const auto tensors = DtypeConversion(checkpoint, config, dtype).run();
    report.tensors = static_cast<int64_t>(tensors.size());
    io::write_safetensors(temporary / "model.safetensors", tensors);
    io::write_file_atomic(temporary / "config.json", converted.dump());
    report.files = copy_companions(source, temporary);
  });
  return report;
}

}  // namespace longformer
