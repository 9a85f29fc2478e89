// PyTorch files. The input is a whole file; or, where it begins with a pickle's mark and is no file
// by itself, the program of an archive that has two storages. In an accepted file every tensor can
// be read, with as many bytes as shape and type say, and nothing but known names was called.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "io/checkpoint/pickle_names.h"
#include "io/checkpoint/torch_file.h"
#include "io/torch_files.h"
#include "longformer/error.h"

namespace {

using longformer::Error;
using longformer::io::TorchFile;

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const TorchFile& file, size_t file_size) {
  size_t bytes = 0;
  for (const auto& tensor : file.tensors) {
    if (!tensor.is_readable()) {
      try {
        tensor.read("input");
        std::abort();  // what a call would have made must not be there
      } catch (const Error&) {
      }
      continue;
    }
    const longformer::Tensor read = tensor.read("input");
    const size_t size = static_cast<size_t>(read.elements()) * longformer::dtype_size(read.dtype);
    require(read.bytes().size() == size);
    bytes += size;
  }
  require(bytes <= 16 * file_size + (1 << 20));
  for (const std::string& name : file.refused) {
    const size_t space = name.find(' ');
    require(space != std::string::npos);
    const std::string_view text = name;
    require(!longformer::io::find_pickle_name(text.substr(0, space), text.substr(space + 1)));
  }
}

void parse(const std::string& bytes) {
  try {
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
    check(longformer::io::parse_torch(
              longformer::own_bytes(std::vector<std::byte>(data, data + bytes.size())), "input"),
          bytes.size());
  } catch (const Error& error) {
    require(error.code() != longformer::ErrorCode::kInternal);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  parse(input);
  if (size > 0 && data[0] == 0x80) {
    parse(longformer::io::torch_zip(input,
                                    {{"0", std::string(64, '\1')}, {"1", std::string(24, '\2')}}));
    parse(longformer::io::torch_legacy(input, {{"0", std::string(64, '\1')}}));
  }
  return 0;
}
