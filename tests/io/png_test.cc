#include "io/png.h"

#include <gtest/gtest.h>
#include <png.h>

#include <vector>

#include "io/files.h"
#include "io/testing.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

using Png = DirectoryTest;

TEST_F(Png, ComesBackPixelByPixel) {
  const uint32_t width = 37, height = 11;
  std::vector<uint8_t> pixels;
  for (uint32_t i = 0; i < width * height * 3; ++i) pixels.push_back((i * 7 + i / 5) & 255);
  const auto path = directory_ / "picture.png";
  write_png(path, pixels, width, height);
  const std::string bytes = read_file(path, 1 << 20);
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()), 0);
  EXPECT_EQ(image.width, width);
  EXPECT_EQ(image.height, height);
  EXPECT_EQ(image.format, PNG_FORMAT_RGB);
  std::vector<uint8_t> read(PNG_IMAGE_SIZE(image));
  ASSERT_NE(png_image_finish_read(&image, nullptr, read.data(), 0, nullptr), 0);
  EXPECT_EQ(read, pixels);
}

TEST_F(Png, RefusesWhatDoesNotFitAndLeavesNothing) {
  const std::vector<uint8_t> pixels(12);
  EXPECT_THROW(write_png(directory_ / "a.png", pixels, 2, 3), Error);
  EXPECT_THROW(write_png(directory_ / "a.png", {}, 0, 0), Error);
  EXPECT_THROW(write_png(directory_ / "none" / "a.png", pixels, 2, 2), Error);
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

}  // namespace
}  // namespace longformer::io
