// A JSON object with typed, bounded reads: config.json and its relatives. Absent (or null) fields
// have the default the caller names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longformer::io {

class Config {
 public:
  // Throws kInvalidFile with file and byte offset for broken JSON, a document that is not an
  // object, depth over kMaxJsonDepth, size over kMaxJsonBytes. `place` names the file in every
  // message.
  static Config parse(std::string_view text, std::string place);
  static Config read(const std::filesystem::path& path);  // kNotFound when absent
  // A file that holds a list of objects, such as modules.json. An empty list or anything else
  // throws kInvalidFile.
  static std::vector<Config> read_list(const std::filesystem::path& path);
  Config();
  Config(const Config&);
  Config& operator=(const Config&);
  Config(Config&&) noexcept;
  Config& operator=(Config&&) noexcept;
  ~Config();

  const std::string& place() const;
  bool has(std::string_view key) const;       // present and not null
  bool contains(std::string_view key) const;  // present, null too
  // A field of another type, a fraction, or a value outside [min, max] throws kInvalidFile naming
  // key, value and range.
  int64_t integer(std::string_view key, int64_t fallback, int64_t min, int64_t max) const;
  double number(std::string_view key, double fallback, double min, double max) const;
  bool boolean(std::string_view key, bool fallback) const;
  std::string string(std::string_view key, std::string fallback) const;
  // A number gives a list of one; absent gives an empty list.
  std::vector<int64_t> integers(std::string_view key, int64_t min, int64_t max) const;
  // A string gives a list of one; absent gives an empty list.
  std::vector<std::string> strings(std::string_view key) const;
  // Nothing but a list; absent gives an empty one.
  std::vector<std::string> string_list(std::string_view key) const;
  // An object whose values are strings (null counts as absent); absent gives an empty list.
  std::vector<std::pair<std::string, std::string>> string_map(std::string_view key) const;
  // An object inside this one, with a place that names the key; none where it is absent.
  std::optional<Config> object(std::string_view key) const;

  void set(std::string_view key, int64_t value);
  void set(std::string_view key, const std::string& value);
  void set(std::string_view key, const char* value) { set(key, std::string(value)); }
  void set(std::string_view key, const std::vector<int64_t>& value);
  void set(std::string_view key, const std::vector<std::string>& value);
  void set(std::string_view key, const Config& object);
  void set_null(std::string_view key);
  void erase(std::string_view key);
  std::string dump()
      const;  // two-space indent, keys in their original order, new ones last, newline at the end

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longformer::io
