// Tensors as views of storage: owned memory or a read-only file mapping. Row-major, contiguous; no
// arithmetic here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace longformer {

using Shape = std::vector<int64_t>;

int64_t element_count(
    const Shape& shape);  // 1 for []; throws kInvalidFile on overflow or a negative dimension
std::string to_string(const Shape& shape);  // "[2, 3]"

// Bytes that someone keeps alive.
class Storage {
 public:
  virtual ~Storage() = default;
  virtual std::span<const std::byte> bytes() const noexcept = 0;
  // Tells the system that a range of a mapping is not needed for now; reading it again is still
  // right. No-op for owned memory.
  virtual void release_pages(size_t offset, size_t size) const noexcept {
    (void)offset, (void)size;
  }
};

std::shared_ptr<const Storage> own_bytes(std::vector<std::byte> bytes);
// Maps a regular file read-only. Throws kNotFound or kIo with the system's reason, kInvalidFile for
// what is no regular file; an empty file gives an empty span.
std::shared_ptr<const Storage> map_file(const std::filesystem::path& path);

struct Tensor {
  DType dtype = DType::kF32;
  Shape shape;
  std::shared_ptr<const Storage> storage;
  size_t offset = 0;  // bytes into the storage; may be unaligned for the dtype

  int64_t elements() const { return element_count(shape); }
  std::span<const std::byte> bytes() const;
  void release_pages() const noexcept;
};

Tensor make_tensor(const Shape& shape, std::span<const float> values);
Tensor make_tensor(const Shape& shape, std::span<const int64_t> values);

// Widens or narrows any floating type; integers are refused (kInvalidFile).
std::vector<float> to_f32(const Tensor& tensor);
void to_f32(const Tensor& tensor, std::span<float> out);
// Any integer type or BOOL; floating types are refused.
std::vector<int64_t> to_i64(const Tensor& tensor);
// The same values stored as another floating type.
Tensor cast(const Tensor& tensor, DType dtype);

}  // namespace longformer
