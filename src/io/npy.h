// NumPy's .npy format, as far as we write it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace longformer::io {

// A C-ordered float32 array of shape [rows, columns], format version 1.0, in an atomic write.
// Throws kIo, or kInternal when the values do not fill the shape.
void write_npy(const std::filesystem::path& path, std::span<const float> values, int64_t rows,
               int64_t columns);

}  // namespace longformer::io
