// Documents made for the tests: gzip, zip archives, small PDF files.
#pragma once

#include <zip.h>
#include <zlib.h>

#include <string>
#include <utility>
#include <vector>

#include "io/documents/byte_source.h"
#include "io/documents/documents.h"
#include "io/testing.h"

namespace longformer::io {

inline std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// Writes a zip archive of {name, bytes}; with a password its files are encrypted.
inline void write_zip(const std::string& path,
                      const std::vector<std::pair<std::string, std::string>>& files,
                      const char* password = nullptr) {
  zip_t* const archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  ASSERT_NE(archive, nullptr);
  for (const auto& [name, bytes] : files) {
    zip_source_t* const source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    const zip_int64_t index = zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
    ASSERT_GE(index, 0) << name;
    const auto place = static_cast<zip_uint64_t>(index);
    ASSERT_EQ(zip_set_file_compression(archive, place, ZIP_CM_DEFLATE, 1), 0);
    if (password == nullptr) continue;
    ASSERT_EQ(zip_file_set_encryption(archive, place, ZIP_EM_AES_128, password), 0);
  }
  ASSERT_EQ(zip_close(archive), 0);
}

// A PDF file with one line of text a page; `trailer` goes into its trailer.
inline std::string pdf_bytes(const std::vector<std::string>& pages,
                             const std::string& trailer = {}) {
  std::vector<std::string> objects = {"<< /Type /Catalog /Pages 2 0 R >>", "",
                                      "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"};
  std::string kids;
  for (const std::string& page : pages) {
    const size_t number = objects.size() + 1;
    kids += std::to_string(number) + " 0 R ";
    objects.push_back(
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> "
        ">> /Contents " +
        std::to_string(number + 1) + " 0 R >>");
    const std::string content = page.empty() ? "" : "BT /F1 12 Tf 72 700 Td (" + page + ") Tj ET";
    objects.push_back("<< /Length " + std::to_string(content.size()) + " >>\nstream\n" + content +
                      "\nendstream");
  }
  objects[1] =
      "<< /Type /Pages /Kids [" + kids + "] /Count " + std::to_string(pages.size()) + " >>";
  std::string bytes = "%PDF-1.4\n", table = "0000000000 65535 f \n";
  for (size_t i = 0; i < objects.size(); ++i) {
    std::string offset = std::to_string(bytes.size());
    table += std::string(10 - offset.size(), '0') + offset + " 00000 n \n";
    bytes += std::to_string(i + 1) + " 0 obj\n" + objects[i] + "\nendobj\n";
  }
  const std::string count = std::to_string(objects.size() + 1);
  return bytes + "xref\n0 " + count + "\n" + table + "trailer\n<< /Root 1 0 R /Size " + count +
         trailer + " >>\nstartxref\n" + std::to_string(bytes.size()) + "\n%%EOF\n";
}

// Memory for a source of any size, in blocks of any size.
inline ByteSource memory_source(std::string bytes) {
  return [bytes = std::move(bytes), done = size_t{0}](char* out, size_t size) mutable {
    const size_t got = std::min(size, bytes.size() - done);
    std::copy_n(bytes.data() + done, got, out);
    done += got;
    return got;
  };
}

// A document that comes in one part.
inline Document read_one(const std::string& name, const ReadOptions& options = {}) {
  std::vector<Document> parts;
  read_document(name, options, [&](Document part) { parts.push_back(std::move(part)); });
  EXPECT_EQ(parts.size(), 1u) << name;
  return parts.empty() ? Document() : std::move(parts[0]);
}

inline void expect_unreadable(const std::string& name, const std::string& reason,
                              const ReadOptions& options = {}) {
  try {
    read_document(name, options, [](const Document&) {});
    ADD_FAILURE() << name << " was read";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), reason);
  }
}

// "1 Title", "2 Title #anchor", …
inline std::vector<std::string> outline(const std::vector<Heading>& headings) {
  std::vector<std::string> lines;
  for (const Heading& heading : headings) {
    lines.push_back(std::to_string(heading.level) + " " + heading.title +
                    (heading.anchor.empty() ? "" : " #" + heading.anchor));
  }
  return lines;
}

}  // namespace longformer::io
