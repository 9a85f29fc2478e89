// DOCX and ODT to plain text with headings. Paragraphs stand apart by blank lines, rows of tables
// and items of lists on lines of their own. Footnotes and endnotes follow the paragraph that refers
// to them; comments, tables of contents, page headers and footers, and text that a tracked change
// removed are left out. Internal to this folder.
#pragma once

#include "io/documents/document_builder.h"
#include "io/documents/office_archive.h"

namespace longformer::io {

struct OfficeText {
  DocumentKind kind = DocumentKind::kDocx;
  MarkedText text;
};

// `file` is a file descriptor of a zip archive that can be positioned. Throws kInvalidFile with a
// short reason; for archives that are no such document it says what they are.
OfficeText read_office(int file);

MarkedText read_docx(const OfficeArchive& archive, const std::string& main_part);
MarkedText read_odt(const OfficeArchive& archive);

}  // namespace longformer::io
