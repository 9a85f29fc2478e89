#include "io/npy.h"

#include <bit>
#include <string>

#include "io/files.h"
#include "longformer/error.h"
#include "tensor/tensor.h"

namespace longformer::io {

static_assert(std::endian::native == std::endian::little, "values are written as they stand");

void write_npy(const std::filesystem::path& path, std::span<const float> values, int64_t rows,
               int64_t columns) {
  if (static_cast<uint64_t>(element_count({rows, columns})) != values.size()) {
    throw Error(ErrorCode::kInternal,
                std::to_string(values.size()) + " values do not fill " + to_string({rows, columns}),
                path.string());
  }
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(rows) + ", " + std::to_string(columns) + "), }";
  // Magic, version and length take 10 bytes; the data begins at a multiple of 64, after a newline.
  constexpr size_t kPreamble = 10;
  constexpr size_t kAlignment = 64;
  header.append(kAlignment - 1 - (kPreamble + header.size()) % kAlignment, ' ');
  header += '\n';
  std::string preamble("\x93NUMPY\x01\x00", 8);
  preamble += static_cast<char>(header.size() & 0xFF);
  preamble += static_cast<char>(header.size() >> 8);

  AtomicFile file(path);
  file.write(preamble + header);
  file.write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  file.commit();
}

}  // namespace longformer::io
