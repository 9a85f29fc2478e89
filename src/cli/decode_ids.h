// tokenize --decode: lines of ids back to text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longformer::cli {

// The ids of one line: whole numbers between spaces or commas, a JSON list of them, or an object
// whose input_ids are such a list (what `tokenize --json` prints). Throws kInvalidFile with the
// form.
std::vector<int64_t> parse_id_line(std::string_view line);

}  // namespace longformer::cli
