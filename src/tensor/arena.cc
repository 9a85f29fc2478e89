#include "tensor/arena.h"

#include <limits>
#include <new>
#include <string>

#include "longformer/error.h"

namespace longformer {
namespace {

constexpr size_t kMaxBytes = std::numeric_limits<size_t>::max();

}  // namespace

void Arena::Free::operator()(std::byte* pointer) const noexcept {
  ::operator delete[](pointer, std::align_val_t(kAlignment));
}

size_t Arena::bytes_for(int64_t count, size_t element_size) noexcept {
  if (count <= 0) return 0;
  const size_t elements = static_cast<size_t>(count);
  if (elements > (kMaxBytes - kAlignment) / element_size) return kMaxBytes;  // no arena can hold it
  return (elements * element_size + kAlignment - 1) / kAlignment * kAlignment;
}

void Arena::reset(size_t bytes) {
  used_ = 0;
  if (bytes <= capacity_) return;
  block_.reset();  // before the new block, so that both never exist together
  capacity_ = 0;
  try {
    block_.reset(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t(kAlignment))));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kIo, "the system has no " + std::to_string(bytes >> 20) +
                                    " MiB of memory for this pass; use fewer tokens or threads");
  }
  capacity_ = bytes;
}

std::byte* Arena::take(int64_t count, size_t element_size) {
  const size_t bytes = bytes_for(count, element_size);
  if (count < 0 || bytes > capacity_ - used_) {
    throw Error(ErrorCode::kInternal,
                "the arena has room for " + std::to_string(capacity_ - used_) + " bytes, not for " +
                    std::to_string(count) + " elements of " + std::to_string(element_size));
  }
  std::byte* const result = block_.get() + used_;
  used_ += bytes;
  return result;
}

size_t Arena::capacity() const noexcept { return capacity_; }

}  // namespace longformer
