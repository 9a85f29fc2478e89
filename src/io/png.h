// PNG pictures out. The only place that sees libpng.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace longformer::io {

// Rows from the top, three bytes (red, green, blue) a pixel, in an atomic write. Throws kIo, or
// kInternal when the bytes do not fill width x height pixels.
void write_png(const std::filesystem::path& path, std::span<const uint8_t> rgb, uint32_t width,
               uint32_t height);

}  // namespace longformer::io
