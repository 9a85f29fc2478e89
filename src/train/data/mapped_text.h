// A file of any size as text; pages that have been read are given back.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace longformer {
class Storage;
}

namespace longformer::train {

class MappedText {
 public:
  explicit MappedText(const std::string& path);
  std::string_view text() const { return text_; }  // without a byte order mark
  // Tells that the first `at` bytes will not be read again soon.
  void read_up_to(size_t at);

 private:
  std::shared_ptr<const Storage> storage_;
  std::string_view text_;
  size_t released_ = 0;
};

}  // namespace longformer::train
