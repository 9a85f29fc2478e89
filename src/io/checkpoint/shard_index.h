// The index of a checkpoint that is spread over several files. Internal to this folder.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longformer::io {

// Shard file -> names it must hold, both in the order of the index.
using Shards = std::vector<std::pair<std::string, std::vector<std::string>>>;

// Shard names come from a file that anyone may have written: only plain names of files in the
// directory itself that end in `suffix`. Throws kInvalidFile with `place` and the entry.
Shards parse_shard_index(std::string_view text, const std::string& place, std::string_view suffix);

}  // namespace longformer::io
