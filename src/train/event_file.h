// Event files of TensorBoard: records with checksums, each one Event message of protocol buffers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longformer::train {

// CRC-32C (Castagnoli).
uint32_t crc32c(std::string_view bytes) noexcept;

// The record that begins a file.
std::string event_file_head(double wall_time);
// One record with a value for each tag.
std::string event_record(double wall_time, int64_t step,
                         const std::vector<std::pair<std::string, float>>& values);

// The bytes at the start of a file that are whole records of steps up to `step`. 0 where not even
// the head is whole.
size_t event_bytes_up_to(std::string_view file, int64_t step) noexcept;

}  // namespace longformer::train
