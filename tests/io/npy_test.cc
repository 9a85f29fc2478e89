#include "io/npy.h"

#include <limits>

#include "io/testing.h"

namespace longformer::io {
namespace {

class Npy : public DirectoryTest {};

TEST_F(Npy, WritesWhatNumpyWrites) {
  write_npy(path("a.npy"), std::vector<float>{1, 2, 3, 4, 5, 6.5f}, 2, 3);
  // numpy.save of the same array, numpy 2.
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  const std::string expected = std::string("\x93NUMPY\x01\x00v\x00", 10) + header +
                               std::string(117 - header.size(), ' ') + "\n" +
                               std::string("\0\0\x80?\0\0\0@\0\0@@\0\0\x80@\0\0\xA0@\0\0\xD0@", 24);
  EXPECT_EQ(slurp(path("a.npy")), expected);
}

TEST_F(Npy, DataBeginsAtAMultipleOf64ForEveryHeaderLength) {
  for (int64_t rows = 0; rows < 2'000'000; rows = rows * 10 + 1) {
    const std::vector<float> values(static_cast<size_t>(std::min<int64_t>(rows, 1000)));
    write_npy(path("a.npy"), values, static_cast<int64_t>(values.size()), 1);
    const std::string bytes = slurp(path("a.npy"));
    const size_t data =
        10 + static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
    EXPECT_EQ(data % 64, 0u);
    EXPECT_EQ(bytes[data - 1], '\n');
    EXPECT_EQ(bytes.size(), data + 4 * values.size());
  }
}

TEST_F(Npy, RefusesValuesThatDoNotFillTheShape) {
  expect_error(ErrorCode::kInternal, {"a.npy", "[2, 2]"},
               [&] { write_npy(path("a.npy"), std::vector<float>(3), 2, 2); });
  EXPECT_TRUE(names().empty());
}

}  // namespace
}  // namespace longformer::io
