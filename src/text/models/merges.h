// Lists of merges as files hold them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/files/json.h"

namespace longformer::text {

using Merges = std::vector<std::pair<std::string, std::string>>;

// model.merges of tokenizer.json: "a b" or ["a", "b"], one kind throughout. Throws kInvalidFile.
Merges read_json_merges(const Json& list, const std::string& place);
// merges.txt: one "a b" a line; lines that begin with "#version" do not count. Throws kInvalidFile.
Merges read_merges_txt(std::string_view text, const std::string& place);

}  // namespace longformer::text
