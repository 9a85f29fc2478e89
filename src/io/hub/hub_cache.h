// The cache of hub models as huggingface_hub lays it out. Finding a model in it never writes and
// never opens a connection.
//
//   CACHE/models--ORG--NAME/refs/REVISION           a file that holds a commit
//                           snapshots/COMMIT/FILE   a link to ../../blobs/HASH, or a plain copy
//                           blobs/HASH, blobs/HASH.incomplete
//   CACHE/.locks/models--ORG--NAME/HASH.lock
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace longformer::io {

// NAME or ORG/NAME of letters, digits, "-", "_" and ".", as the hub gives them out: 96 bytes at
// most a part, no "--" and no "..".
bool is_hub_name(std::string_view name) noexcept;

// 40 lower-case hexadecimal digits.
bool is_commit(std::string_view revision) noexcept;

// A path below a directory: no empty part, no "." or "..", not absolute, no control characters.
bool is_plain_path(std::string_view path) noexcept;

// Throws kInvalidArgument for what can be no branch, tag or commit.
void check_revision(const std::string& revision);

// CACHE/models--ORG--NAME.
std::filesystem::path hub_repository(const std::filesystem::path& cache, std::string_view name);

// The directory of a cached model's files: snapshots/COMMIT of a commit, or of the one that refs
// gives for a branch or tag. Throws kNotFound, with the command that gets the model, when it or the
// revision is not in the cache or links of it lead nowhere; kInvalidFile for a broken refs file;
// kInvalidArgument for a hostile name or revision.
std::filesystem::path find_cached_model(const std::filesystem::path& cache, const std::string& name,
                                        const std::string& revision);

}  // namespace longformer::io
