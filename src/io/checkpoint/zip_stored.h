// Zip archives whose files are stored as they are, so that a mapping of the archive is a mapping of
// each of them: what PyTorch writes. Internal to this folder. (Archives of documents, which are
// compressed, are libzip's.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace longformer::io {

struct StoredFile {
  uint64_t begin = 0;  // of its bytes in the archive
  uint64_t size = 0;
};

// Name -> place, views of the archive's bytes. Throws kInvalidFile with `place`, the entry or the
// byte, and the rule: every size is checked against the archive, the central directory against the
// local headers; compressed and encrypted files, several disks and a name twice are refused.
using StoredFiles = std::map<std::string_view, StoredFile>;
StoredFiles read_stored_zip(std::span<const std::byte> archive, const std::string& place);

}  // namespace longformer::io
