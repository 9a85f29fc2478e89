#include "models/check_tensors.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "longformer/error.h"

namespace longformer {
namespace {

constexpr int64_t kElements = 1 << 20;  // of a task

struct Part {
  size_t tensor = 0;
  int64_t first = 0;
  int64_t count = 0;
};

// The first of `count` numbers whose exponent is all ones, or `count`. Blocks are looked through
// whole, which vectorises.
template <typename Bits>
int64_t first_not_finite(const std::byte* data, int64_t count, Bits exponent) {
  constexpr int64_t kBlock = 256;
  Bits block[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t size = std::min(kBlock, count - begin);
    std::memcpy(block, data + begin * static_cast<int64_t>(sizeof(Bits)),
                static_cast<size_t>(size) * sizeof(Bits));
    bool any = false;
    for (int64_t i = 0; i < size; ++i) any |= (block[i] & exponent) == exponent;
    if (!any) continue;
    return begin +
           (std::find_if(block, block + size, [&](Bits b) { return (b & exponent) == exponent; }) -
            block);
  }
  return count;
}

int64_t first_not_finite(const Tensor& tensor, const Part& part) {
  const std::byte* const data =
      tensor.bytes().data() + static_cast<size_t>(part.first) * dtype_size(tensor.dtype);
  switch (tensor.dtype) {
    case DType::kF16:
      return first_not_finite<uint16_t>(data, part.count, 0x7C00);
    case DType::kBF16:
      return first_not_finite<uint16_t>(data, part.count, 0x7F80);
    case DType::kF64:
      return first_not_finite<uint64_t>(data, part.count, 0x7FF0000000000000);
    default:
      return first_not_finite<uint32_t>(data, part.count, 0x7F800000);
  }
}

// "[3, 17]"
std::string place(const Shape& shape, int64_t element) {
  Shape index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = element % shape[d];
    element /= shape[d];
  }
  return to_string(index);
}

float value_at(const Tensor& tensor, int64_t element) {
  Tensor one = tensor;
  one.shape = {1};
  one.offset += static_cast<size_t>(element) * dtype_size(tensor.dtype);
  return to_f32(one)[0];
}

}  // namespace

void check_tensors(const io::Checkpoint& checkpoint, const io::Resolution& resolution,
                   ThreadPool& pool) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::vector<Part> parts;
  std::set<std::string> seen;
  for (const io::ResolvedTensor& resolved : resolution.tensors) {
    if (resolved.source.empty() || !seen.insert(resolved.source).second) continue;
    Tensor tensor = checkpoint.tensor(resolved.source);
    if (!is_floating(tensor.dtype)) continue;
    for (int64_t first = 0; first < tensor.elements(); first += kElements) {
      parts.push_back({tensors.size(), first, std::min(kElements, tensor.elements() - first)});
    }
    tensors.emplace_back(resolved.source, std::move(tensor));
  }
  std::mutex mutex;
  size_t worst_part = parts.size();
  int64_t worst_element = 0;
  pool.run(static_cast<int64_t>(parts.size()), [&](int64_t task, int) {
    const Part& part = parts[static_cast<size_t>(task)];
    const Tensor& tensor = tensors[part.tensor].second;
    const int64_t found = first_not_finite(tensor, part);
    // Pages of a mapping: what is used later is read again, most embeddings never are.
    if (part.first + part.count == tensor.elements()) tensor.release_pages();
    if (found == part.count) return;
    const std::lock_guard lock(mutex);
    if (static_cast<size_t>(task) >= worst_part) return;
    worst_part = static_cast<size_t>(task);
    worst_element = part.first + found;
  });
  if (worst_part == parts.size()) return;
  const auto& [name, tensor] = tensors[parts[worst_part].tensor];
  throw Error(ErrorCode::kInvalidFile,
              "tensor \"" + name + "\" holds " + std::to_string(value_at(tensor, worst_element)) +
                  " at " + place(tensor.shape, worst_element) +
                  "; a model with such weights gives nothing but NaN: take another copy of it",
              checkpoint.directory().string());
}

}  // namespace longformer
