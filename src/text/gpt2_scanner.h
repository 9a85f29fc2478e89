// The pattern of GPT-2, by hand: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|
// ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ Its matches cover any text.
#pragma once

#include <cstddef>
#include <string_view>

namespace longformer::text {

// End of the match that begins at byte `at` < text.size() of valid UTF-8.
size_t next_gpt2_match(std::string_view text, size_t at);

// The pattern as tokenizer.json spells it.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace longformer::text
