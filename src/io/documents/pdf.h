// PDF to plain text with page numbers, by a program of the system: its licence forbids to link it,
// and what it reads may be hostile. Internal to this folder.
#pragma once

#include <chrono>
#include <string>

#include "base/limits.h"
#include "io/documents/document_builder.h"

namespace longformer::io {

struct PdfOptions {
  std::string program = "pdftotext";
  std::chrono::milliseconds time = std::chrono::seconds(kMaxProgramSeconds);
};

// `file` is a file descriptor that stands at the beginning. Throws kInvalidFile or kNotFound with a
// short reason: never one that quotes the document.
MarkedText read_pdf(int file, const PdfOptions& options = {});

// What pdftotext printed: each page ends with a form feed. Pages stand apart by a blank line.
MarkedText text_of_pages(std::string_view printed);

}  // namespace longformer::io
