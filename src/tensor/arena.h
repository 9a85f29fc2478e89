// One block of 64-byte aligned memory, planned before a pass and handed out without further
// allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace longformer {

class Arena {
 public:
  static constexpr size_t kAlignment = 64;

  // Makes room for `bytes` (grows only, keeps nothing) and starts handing out from the beginning.
  void reset(size_t bytes);
  // The next `count` elements, aligned; throws kInternal when the plan was too small. Contents are
  // undefined.
  float* floats(int64_t count) { return take<float>(count); }
  template <typename T>
  T* take(int64_t count) {
    return reinterpret_cast<T*>(take(count, sizeof(T)));
  }
  size_t capacity() const noexcept;

  // Bytes that `count` elements take in the plan, alignment included.
  static size_t bytes_for(int64_t count, size_t element_size = sizeof(float)) noexcept;

 private:
  std::byte* take(int64_t count, size_t element_size);
  struct Free {
    void operator()(std::byte* pointer) const noexcept;
  };
  std::unique_ptr<std::byte[], Free> block_;
  size_t capacity_ = 0;
  size_t used_ = 0;
};

}  // namespace longformer
