#include "io/documents.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/limits.h"
#include "io/byte_source.h"
#include "io/posix.h"
#include "io/text_encoding.h"
#include "longformer/error.h"

namespace longformer::io {

Document read_document(const std::string& name) {
  FileDescriptor file;
  int descriptor = STDIN_FILENO;
  // The name stays out of the messages: they stand beside it as a reason.
  try {
    if (name != "-") {
      file = open_for_reading(name);
      descriptor = file.get();
    }
  } catch (const Error& error) {
    const std::string message = error.what();
    const std::string prefix = error.place() + ": ";
    throw Error(error.code(),
                message.starts_with(prefix) ? message.substr(prefix.size()) : message);
  }
  const ByteSource source = [descriptor](char* out, size_t size) {
    return read_some(descriptor, out, size, {});
  };
  std::string bytes = read_expanded(source, kMaxDocumentBytes, [](std::string_view head) {
    if (looks_binary(head)) throw Error(ErrorCode::kInvalidFile, "binary");
  });
  DecodedText decoded = decode_text(std::move(bytes));
  if (decoded.text.empty()) throw Error(ErrorCode::kInvalidFile, "empty");
  return {name, std::move(decoded.text), decoded.replaced};
}

}  // namespace longformer::io
