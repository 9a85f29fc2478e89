#include "tensor/tensor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "longformer/error.h"

namespace longformer {
namespace {

std::shared_ptr<const Storage> copy_bytes(const void* data, size_t size) {
  std::vector<std::byte> bytes(size);
  if (size != 0) std::memcpy(bytes.data(), data, size);
  return own_bytes(std::move(bytes));
}

template <typename T>
Tensor make_typed(DType dtype, const Shape& shape, std::span<const T> values) {
  if (static_cast<uint64_t>(element_count(shape)) != values.size()) {
    throw Error(ErrorCode::kInternal, "shape " + to_string(shape) + " does not hold " +
                                          std::to_string(values.size()) + " values");
  }
  return {dtype, shape, copy_bytes(values.data(), values.size_bytes()), 0};
}

// out[i] = convert(in[i]). `in` may be unaligned, so blocks of fixed size go through a local copy,
// which the compiler keeps in registers; the fixed size lets it vectorise.
template <typename In, typename Out, typename Convert>
void convert_all(const std::byte* in, Out* out, size_t count, Convert convert) {
  constexpr size_t kBlock = 64;
  std::array<In, kBlock> block;
  size_t done = 0;
  for (; done + kBlock <= count; done += kBlock) {
    std::memcpy(block.data(), in + done * sizeof(In), sizeof(block));
    for (size_t i = 0; i < kBlock; ++i) out[done + i] = convert(block[i]);
  }
  for (; done < count; ++done) {
    In value;
    std::memcpy(&value, in + done * sizeof(In), sizeof(In));
    out[done] = convert(value);
  }
}

[[noreturn]] void throw_dtype(const Tensor& tensor, const char* wanted) {
  throw Error(ErrorCode::kInvalidFile, "a tensor of type " + std::string(dtype_name(tensor.dtype)) +
                                           " and shape " + to_string(tensor.shape) +
                                           " stands where " + wanted + " are needed");
}

int64_t u64_to_i64(uint64_t value) {
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    throw Error(ErrorCode::kInvalidFile, "a U64 value does not fit into a signed 64-bit integer");
  }
  return static_cast<int64_t>(value);
}

template <typename Out, typename Narrow>
Tensor cast_through_f32(const Tensor& tensor, DType dtype, Narrow narrow) {
  const std::vector<float> values = to_f32(tensor);
  std::vector<std::byte> bytes(values.size() * sizeof(Out));
  for (size_t i = 0; i < values.size(); ++i) {
    const Out value = narrow(values[i]);
    std::memcpy(bytes.data() + i * sizeof(Out), &value, sizeof(Out));
  }
  return {dtype, tensor.shape, own_bytes(std::move(bytes)), 0};
}

}  // namespace

int64_t element_count(const Shape& shape) {
  uint64_t count = 1;
  for (const int64_t dimension : shape) {
    if (dimension < 0) {
      throw Error(ErrorCode::kInvalidFile,
                  "shape " + to_string(shape) + " has a negative dimension");
    }
    count = checked_mul(count, static_cast<uint64_t>(dimension), "the size of a shape");
  }
  if (count > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    throw Error(ErrorCode::kInvalidFile, "shape " + to_string(shape) + " has too many elements");
  }
  return static_cast<int64_t>(count);
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const int64_t dimension : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(dimension);
  }
  return text + "]";
}

std::span<const std::byte> Tensor::bytes() const {
  const uint64_t size =
      checked_mul(static_cast<uint64_t>(elements()), dtype_size(dtype), "the size of a tensor");
  const std::span<const std::byte> all = storage ? storage->bytes() : std::span<const std::byte>();
  if (offset > all.size() || size > all.size() - offset) {
    throw Error(ErrorCode::kInternal,
                "a tensor of shape " + to_string(shape) + " reaches beyond the end of its storage");
  }
  return all.subspan(offset, size);
}

void Tensor::release_pages() const noexcept {
  if (!storage) return;
  try {
    storage->release_pages(offset, bytes().size());
  } catch (const Error&) {
    // Only advice to the system: a tensor without a valid size has no pages to give back.
  }
}

Tensor make_tensor(const Shape& shape, std::span<const float> values) {
  return make_typed(DType::kF32, shape, values);
}

Tensor make_tensor(const Shape& shape, std::span<const int64_t> values) {
  return make_typed(DType::kI64, shape, values);
}

void to_f32(const Tensor& tensor, std::span<float> out) {
  const std::span<const std::byte> in = tensor.bytes();
  const size_t count = static_cast<size_t>(tensor.elements());
  if (out.size() != count) {
    throw Error(ErrorCode::kInternal, "a tensor of shape " + to_string(tensor.shape) +
                                          " does not fit " + std::to_string(out.size()) +
                                          " floats");
  }
  switch (tensor.dtype) {
    case DType::kF32:
      if (count != 0) std::memcpy(out.data(), in.data(), in.size());
      return;
    case DType::kF16:
      return convert_all<uint16_t>(in.data(), out.data(), count,
                                   [](uint16_t bits) { return f16_to_f32(bits); });
    case DType::kBF16:
      return convert_all<uint16_t>(in.data(), out.data(), count,
                                   [](uint16_t bits) { return bf16_to_f32(bits); });
    case DType::kF64:
      return convert_all<double>(in.data(), out.data(), count,
                                 [](double value) { return static_cast<float>(value); });
    default:
      throw_dtype(tensor, "floating-point numbers");
  }
}

std::vector<float> to_f32(const Tensor& tensor) {
  if (!is_floating(tensor.dtype)) throw_dtype(tensor, "floating-point numbers");
  // bytes() has checked the element count against the storage, so the vector is no larger than 4
  // times the file.
  std::vector<float> values(tensor.bytes().size() / dtype_size(tensor.dtype));
  to_f32(tensor, values);
  return values;
}

std::vector<int64_t> to_i64(const Tensor& tensor) {
  if (is_floating(tensor.dtype)) throw_dtype(tensor, "integers");
  const std::span<const std::byte> in = tensor.bytes();
  std::vector<int64_t> out(in.size() / dtype_size(tensor.dtype));
  const auto widen = [](auto value) { return static_cast<int64_t>(value); };
  switch (tensor.dtype) {
    case DType::kBool:
      convert_all<uint8_t>(in.data(), out.data(), out.size(),
                           [](uint8_t value) { return int64_t{value != 0}; });
      break;
    case DType::kU8:
      convert_all<uint8_t>(in.data(), out.data(), out.size(), widen);
      break;
    case DType::kI8:
      convert_all<int8_t>(in.data(), out.data(), out.size(), widen);
      break;
    case DType::kU16:
      convert_all<uint16_t>(in.data(), out.data(), out.size(), widen);
      break;
    case DType::kI16:
      convert_all<int16_t>(in.data(), out.data(), out.size(), widen);
      break;
    case DType::kU32:
      convert_all<uint32_t>(in.data(), out.data(), out.size(), widen);
      break;
    case DType::kI32:
      convert_all<int32_t>(in.data(), out.data(), out.size(), widen);
      break;
    case DType::kU64:
      convert_all<uint64_t>(in.data(), out.data(), out.size(), u64_to_i64);
      break;
    default:
      convert_all<int64_t>(in.data(), out.data(), out.size(), widen);
  }
  return out;
}

Tensor cast(const Tensor& tensor, DType dtype) {
  if (!is_floating(tensor.dtype)) throw_dtype(tensor, "floating-point numbers");
  if (dtype == tensor.dtype) return tensor;
  switch (dtype) {
    case DType::kF16:
      return cast_through_f32<uint16_t>(tensor, dtype, f32_to_f16);
    case DType::kBF16:
      return cast_through_f32<uint16_t>(tensor, dtype, f32_to_bf16);
    case DType::kF32:
      return cast_through_f32<float>(tensor, dtype, [](float value) { return value; });
    case DType::kF64:
      return cast_through_f32<double>(tensor, dtype, [](float value) { return double{value}; });
    default:
      throw Error(ErrorCode::kInternal, "a cast to " + std::string(dtype_name(dtype)) +
                                            "; only floating types are stored as one another");
  }
}

}  // namespace longformer
