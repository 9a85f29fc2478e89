// Which files a model on the hub has, and which of them this program reads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longformer::io {

struct HubFile {
  std::string name;  // path below the model's directory
  std::optional<uint64_t> size;
  // Its name below blobs/ and what its bytes must hash to: SHA-256 (64 digits) of a large file, the
  // SHA-1 that git gives (40 digits) of a small one. Empty: the list does not say.
  std::string hash;
};

struct HubListing {
  std::string commit;
  std::map<std::string, HubFile> files;  // by name

  const HubFile* find(const std::string& name) const {
    const auto found = files.find(name);
    return found == files.end() ? nullptr : &found->second;
  }
};

bool is_hub_hash(std::string_view text) noexcept;  // 40 or 64 lower-case hexadecimal digits

// Reads the answer of api/models/NAME/revision/REVISION. Throws kInvalidFile naming `place` for
// what no hub answers: no commit, names that lead out of the directory, sizes below 0, hashes that
// are none.
HubListing parse_hub_listing(std::string_view text, const std::string& place);

// The directories of a model: the root ("") and those that modules.json of sentence-transformers
// names. Throws kInvalidFile when it names one that leads elsewhere or more than kMaxHubModules.
std::vector<std::string> module_directories(std::string_view modules_json,
                                            const std::string& place);

// Configuration, tokenizer, and at the root the licence, as far as `directory` has them.
std::vector<HubFile> settings_files(const HubListing& listing, const std::string& directory);

// The first that `directory` has of: model.safetensors, its index, pytorch_model.bin, its index.
const HubFile* weights_file(const HubListing& listing, const std::string& directory);
bool is_weights_index(const std::string& name) noexcept;

// The shards that an index names. Throws kInvalidFile naming `place` when the index is broken or
// names a file that is not in the listing, or more than kMaxHubFiles.
std::vector<HubFile> shard_files(const HubListing& listing, const std::string& directory,
                                 std::string_view index_json, const std::string& place);

}  // namespace longformer::io
