// JSON text to a value, with limits that hold before memory is spent. For this folder and the JSON
// lines of the command.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace longformer::io {

using Json = nlohmann::ordered_json;  // keys keep the order of the file

enum class DuplicateKeys { kLastWins, kRefused };

// Throws kInvalidFile with `place` and the byte offset: broken JSON, depth over kMaxJsonDepth, size
// over kMaxJsonBytes, too many values, NaN and infinities, and (when refused) a key twice in one
// object.
Json parse_json(std::string_view text, const std::string& place, DuplicateKeys duplicates);

// Throws kInvalidFile with the offset of a NUL byte, or of the first bracket that is nested deeper
// than kMaxJsonDepth.
void check_json_text(std::string_view text, const std::string& place);

// The offset of the byte that the JSON library stumbled over, from the number of bytes it had read
// by then.
size_t json_offset(size_t bytes_read) noexcept;

// The reason inside an exception of the JSON library, short and without a piece of the file.
std::string json_reason(const std::exception& error);

// A value as messages show it: at most about 40 bytes, containers by kind.
std::string short_value(const Json& value);

}  // namespace longformer::io
