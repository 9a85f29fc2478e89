#include "train/data/mapped_text.h"

#include "tensor/tensor.h"

namespace longformer::train {
namespace {

constexpr size_t kReleased = 64u << 20;  // bytes whose pages are given back at a time

}  // namespace

MappedText::MappedText(const std::string& path) : storage_(map_file(path)) {
  const auto bytes = storage_->bytes();
  text_ = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
}

void MappedText::read_up_to(size_t at) {
  if (at < released_ + kReleased) return;
  storage_->release_pages(released_, at - released_);
  released_ = at;
}

}  // namespace longformer::train
