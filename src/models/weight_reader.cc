#include "models/weight_reader.h"

#include <algorithm>
#include <utility>

#include "models/stored_weights.h"

namespace longformer {
namespace {

// The same matrix with its values rounded, in f32.
std::vector<float> rounded(const float* values, int64_t rows, int64_t cols, DType type) {
  if (type == DType::kI8) {
    std::vector<float> widened;
    quantize(values, rows, cols).read(0, rows, widened);
    return widened;
  }
  std::vector<float> result(static_cast<size_t>(rows * cols));
  std::transform(values, values + rows * cols, result.begin(),
                 [](float value) { return bf16_to_f32(f32_to_bf16(value)); });
  return result;
}

}  // namespace

kernels::PackedMatrix pack_rows(const Matrix& matrix, int64_t first, int64_t rows,
                                const WeightTypes& types) {
  const int64_t cols = matrix.cols();
  // Sums over more features would not fit into 32 bits.
  const bool too_wide = types.multiplied == DType::kI8 && cols > kernels::kMaxInt8Features;
  const DType type = too_wide ? DType::kF32 : types.multiplied;
  if (matrix.type() == DType::kI8 && type == DType::kI8) {
    return kernels::PackedMatrix::pack(matrix.int8_row(first), matrix.scales().data() + first, rows,
                                       cols);
  }
  std::vector<float> buffer;
  const float* const values = matrix.read(first, rows, buffer);
  const bool round = types.rounded != type && types.rounded != matrix.type();
  if (!round) return kernels::PackedMatrix::pack(values, rows, cols, type);
  return kernels::PackedMatrix::pack(rounded(values, rows, cols, types.rounded).data(), rows, cols,
                                     type);
}

WeightReader::WeightReader(const io::Checkpoint& checkpoint, const io::Resolution& resolution,
                           const Precision& precision)
    : read_([&](const std::string& source) { return read_matrix(checkpoint, source); }),
      read_int8_([&](const std::string& source, const std::string& scales) {
        return read_int8_matrix(checkpoint, source, scales);
      }),
      precision_(precision) {
  for (const io::ResolvedTensor& tensor : resolution.tensors) {
    sources_[tensor.name] = tensor.source;
  }
}

WeightReader::WeightReader(const ParameterSet& parameters,
                           std::map<std::string, std::string> sources, const Precision& precision)
    : read_([&](const std::string& source) { return Matrix(parameters.view(source)); }),
      precision_(precision),
      sources_(std::move(sources)) {}

Tensor WeightReader::tensor(const std::string& name) const {
  return read_(sources_.at(name)).tensor();
}

std::vector<float> WeightReader::vector(const std::string& name) const {
  return to_f32(tensor(name));
}

Matrix WeightReader::matrix(const std::string& name) const {
  const auto scales = sources_.find(scale_name(name));
  if (scales == sources_.end()) return read_(sources_.at(name));
  return read_int8_(sources_.at(name), scales->second);
}

// A matrix of as many equal parts, one above the other.
template <int64_t parts>
std::array<Linear, parts> WeightReader::linears(const std::string& name,
                                                const WeightTypes& types) const {
  const Matrix whole = matrix(name + ".weight");
  const int64_t rows = whole.rows() / parts;
  std::array<Linear, parts> result;
  for (int64_t part = 0; part < parts; ++part) {
    result[part] = {pack_rows(whole, part * rows, rows, types), bias(name, part * rows, rows)};
  }
  whole.tensor().release_pages();
  return result;
}

Linear WeightReader::packed(const std::string& name, const WeightTypes& types) const {
  return std::move(linears<1>(name, types)[0]);
}

std::array<Linear, 3> WeightReader::fused(const std::string& name) const {
  return linears<3>(name, precision_.linear);
}

GlobalProjection WeightReader::global_projection(const std::string& name) const {
  return {matrix(name + ".weight"), vector(name + ".bias")};
}

LayerNorm WeightReader::norm(const std::string& name, float eps) const {
  std::vector<float> gamma = vector(name + ".weight");
  const int64_t size = static_cast<int64_t>(gamma.size());
  return {std::move(gamma), bias(name, 0, size), eps};
}

std::vector<float> WeightReader::bias(const std::string& name, int64_t first, int64_t count) const {
  const auto source = sources_.find(name + ".bias");
  if (source == sources_.end() || source->second.empty()) {
    return std::vector<float>(static_cast<size_t>(count));
  }
  const std::vector<float> all = vector(name + ".bias");
  return {all.begin() + first, all.begin() + first + count};
}

}  // namespace longformer
