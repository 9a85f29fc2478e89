#include "io/png.h"

#include <png.h>

#include <string>

#include "io/files.h"
#include "longformer/error.h"

namespace longformer::io {

void write_png(const std::filesystem::path& path, std::span<const uint8_t> rgb, uint32_t width,
               uint32_t height) {
  constexpr uint64_t kChannels = 3;
  if (rgb.empty() || rgb.size() != kChannels * width * height) {
    throw Error(ErrorCode::kInternal,
                std::to_string(rgb.size()) + " bytes do not fill " + std::to_string(width) + "x" +
                    std::to_string(height) + " pixels",
                path.string());
  }
  // The simplified interface reports errors by value: no jump passes through our frames.
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  const bool written =
      png_image_write_to_memory(&image, bytes.data(), &size, 0, rgb.data(), 0, nullptr) != 0;
  if (!written) {
    const std::string reason = image.message;
    png_image_free(&image);
    throw Error(ErrorCode::kIo, "cannot be written: " + reason, path.string());
  }
  bytes.resize(size);
  write_file_atomic(path, bytes);
}

}  // namespace longformer::io
