#include "train/data/token_store.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "io/files.h"
#include "longformer/error.h"
#include "tensor/tensor.h"

namespace longformer::train {
namespace {

constexpr std::string_view kMagic = "longformer-data1";  // 16 bytes
constexpr size_t kBlock = 1 << 18;                       // values that are written at a time

struct Sizes {
  uint64_t values = 0;
  uint64_t records = 0;
  uint64_t notes = 0;
  uint64_t key = 0;
};
constexpr size_t kTail = sizeof(Sizes) + kMagic.size();

uint64_t padding(uint64_t values) { return values % 2 == 0 ? 0 : sizeof(int32_t); }

template <typename T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Whether sizes that a file claims are those that it has.
bool fits(const Sizes& sizes, uint64_t bytes) {
  uint64_t left = bytes - kMagic.size() - kTail;
  if (sizes.values > left / sizeof(int32_t)) return false;
  left -= sizes.values * sizeof(int32_t);
  const uint64_t pad = padding(sizes.values);
  if (left < pad) return false;
  left -= pad;
  if (sizes.records >= left / sizeof(uint64_t)) return false;
  left -= (sizes.records + 1) * sizeof(uint64_t);
  if (sizes.notes > left) return false;
  return sizes.key == left - sizes.notes;
}

bool is_index(std::span<const uint64_t> begins, uint64_t values) {
  return begins.front() == 0 && begins.back() == values &&
         std::is_sorted(begins.begin(), begins.end());
}

}  // namespace

std::optional<TokenStore> TokenStore::open(const std::filesystem::path& path,
                                           const std::string& key) {
  if (!io::entry_exists(path)) return std::nullopt;
  TokenStore store;
  store.place_ = path.string();
  store.storage_ = map_file(path);
  const std::span<const std::byte> bytes = store.storage_->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() < kMagic.size() + kTail || !text.starts_with(kMagic) || !text.ends_with(kMagic)) {
    return std::nullopt;
  }
  Sizes sizes;
  std::memcpy(&sizes, text.data() + text.size() - kTail, sizeof sizes);
  if (!fits(sizes, text.size())) return std::nullopt;
  const char* const values = text.data() + kMagic.size();
  const char* const begins = values + sizes.values * sizeof(int32_t) + padding(sizes.values);
  const char* const notes = begins + (sizes.records + 1) * sizeof(uint64_t);
  if (std::string_view(notes + sizes.notes, sizes.key) != key) return std::nullopt;
  store.values_ = reinterpret_cast<const int32_t*>(values);
  store.begins_ = reinterpret_cast<const uint64_t*>(begins);
  store.records_ = static_cast<int64_t>(sizes.records);
  store.notes_.assign(notes, sizes.notes);
  if (!is_index({store.begins_, sizes.records + 1}, sizes.values)) return std::nullopt;
  return store;
}

std::span<const int32_t> TokenStore::record(int64_t index) const {
  if (index < 0 || index >= records_) {
    throw Error(ErrorCode::kInvalidArgument,
                "there is no example " + std::to_string(index) + " of " + std::to_string(records_),
                place_);
  }
  return {values_ + begins_[index], values_ + begins_[index + 1]};
}

TokenStoreWriter::TokenStoreWriter(std::filesystem::path path, std::string key)
    : key_(std::move(key)) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) {
    throw Error(ErrorCode::kIo, "cannot be made: " + error.message(), path.parent_path().string());
  }
  file_ = std::make_unique<io::AtomicFile>(std::move(path));
  file_->write(kMagic);
}

TokenStoreWriter::~TokenStoreWriter() = default;

void TokenStoreWriter::append(std::span<const int32_t> values) {
  block_.insert(block_.end(), values.begin(), values.end());
  values_ += values.size();
  if (block_.size() >= kBlock) flush();
}

void TokenStoreWriter::flush() {
  file_->write(bytes_of(block_));
  block_.clear();
}

void TokenStoreWriter::end_record() { begins_.push_back(values_); }

void TokenStoreWriter::commit(const std::string& notes) {
  flush();
  file_->write(std::string(padding(values_), '\0'));
  file_->write(bytes_of(begins_));
  file_->write(notes);
  file_->write(key_);
  const std::vector<Sizes> sizes = {{values_, begins_.size() - 1, notes.size(), key_.size()}};
  file_->write(bytes_of(sizes));
  file_->write(kMagic);
  file_->commit();
}

}  // namespace longformer::train
