// Records of 32-bit numbers in one file, mapped: what tokenising left behind, once for all epochs
// and runs.
//
//   magic; the values of all records; at a multiple of 8 where each record begins and the last one
//   ends, 64 bits each; notes, a text; the key, a text; four sizes and the magic again
//
// In the byte order of the machine: a cache, not a format to pass on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace longformer {
class Storage;
}
namespace longformer::io {
class AtomicFile;
}

namespace longformer::train {

class TokenStore {
 public:
  // None where there is no such file, or one that is damaged or has another key.
  static std::optional<TokenStore> open(const std::filesystem::path& path, const std::string& key);

  int64_t records() const { return records_; }
  std::span<const int32_t> record(int64_t index) const;
  const std::string& notes() const { return notes_; }
  const std::string& place() const { return place_; }

 private:
  std::string place_;
  std::shared_ptr<const Storage> storage_;
  const int32_t* values_ = nullptr;
  const uint64_t* begins_ = nullptr;  // records_ + 1
  int64_t records_ = 0;
  std::string notes_;
};

// Memory: a block of values and 8 bytes a record.
class TokenStoreWriter {
 public:
  TokenStoreWriter(std::filesystem::path path, std::string key);
  ~TokenStoreWriter();
  void append(std::span<const int32_t> values);  // to the record that is being written
  void end_record();
  // Makes the file appear; nothing may follow.
  void commit(const std::string& notes);

 private:
  void flush();

  std::string key_;
  std::unique_ptr<io::AtomicFile> file_;
  std::vector<int32_t> block_;
  std::vector<uint64_t> begins_ = {0};
  uint64_t values_ = 0;
};

}  // namespace longformer::train
