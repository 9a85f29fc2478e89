// The lines of a file one after the other, however large it is: for formats with a record a line.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace longformer::io {

struct TextLine {
  int64_t number = 0;     // from 1
  std::string text;       // without its end (LF or CR LF), without a byte order mark; any bytes
  bool too_long = false;  // then `text` is empty
  bool ended = true;      // false: the file ends in the middle of it, or without a line feed
  int64_t end = 0;        // bytes of the (expanded) file up to here
};

class TextLines {
 public:
  // "-": standard input. gzip is expanded. Throws kNotFound, kIo, or kInvalidFile for what is no
  // regular file.
  TextLines(const std::string& name, size_t max_line_bytes);
  ~TextLines();
  TextLines(const TextLines&) = delete;
  TextLines& operator=(const TextLines&) = delete;

  // False at the end. Throws kIo; kInvalidFile with the name for damaged gzip data.
  bool next(TextLine& line);
  // How much of the file has been read, 0 to 1; 0 where its size is unknown.
  double share() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longformer::io
