// Shared by the tests of this folder.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "longformer/error.h"
#include "support/expect_error.h"
#include "tensor/tensor.h"

namespace longformer::io {

// A fresh directory that is removed at the end of the test.
class DirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "longformer-io-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }

  std::string put(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name, std::ios::binary) << bytes;
    return path(name);
  }

  // All names below the directory, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
      found.push_back(std::filesystem::relative(entry.path(), directory_).string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  std::filesystem::path directory_;
};

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

inline std::shared_ptr<const Storage> storage_of(const std::string& bytes) {
  std::vector<std::byte> copy(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return own_bytes(std::move(copy));
}

using test::expect_error;

// Header length, header, data.
inline std::string safetensors_bytes(const std::string& header, const std::string& data = {}) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return bytes + header + data;
}

// A safetensors file of F32 zeros: {name, shape}.
inline std::string zeros_file(const std::vector<std::pair<std::string, Shape>>& tensors) {
  std::string header = "{";
  size_t offset = 0;
  for (const auto& [name, shape] : tensors) {
    const size_t end = offset + 4 * static_cast<size_t>(element_count(shape));
    if (offset != 0) header += ",";
    header += "\"" + name + "\":{\"dtype\":\"F32\",\"shape\":" + to_string(shape) +
              ",\"data_offsets\":[" + std::to_string(offset) + "," + std::to_string(end) + "]}";
    offset = end;
  }
  return safetensors_bytes(header + "}", std::string(offset, '\0'));
}

}  // namespace longformer::io
