#include "io/documents/office.h"

#include <algorithm>
#include <array>

#include "io/documents/xml_stream.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

[[noreturn]] void refuse(const std::string& reason) {
  throw Error(ErrorCode::kInvalidFile, reason);
}

// Where the package says that its document lies; empty where it says nothing.
std::string main_part_of(const OfficeArchive& archive) {
  std::string target;
  XmlEvents events;
  events.begin = [&](const XmlTag& tag) {
    if (tag.name == "Relationship" && tag["Type"].ends_with("/officeDocument")) {
      target = tag["Target"];
    }
  };
  parse_xml(archive.open("_rels/.rels"), events);
  target.erase(0, std::min(target.find_first_not_of('/'), target.size()));
  return target;
}

OfficeText read_open_document(const OfficeArchive& archive, std::string_view type) {
  constexpr std::string_view kPrefix = "application/vnd.oasis.opendocument.";
  if (!type.starts_with(kPrefix)) {
    refuse(type.starts_with("application/epub") ? "an EPUB book; convert it to HTML or text"
                                                : "a ZIP archive; unpack it");
  }
  type.remove_prefix(kPrefix.size());
  if (!type.starts_with("text")) {
    refuse("an OpenDocument file without running text (a table, slides or a drawing)");
  }
  constexpr size_t kManifest = 1 << 20;
  const std::string manifest = archive.beginning("META-INF/manifest.xml", kManifest);
  if (archive.has("encrypted-package") || manifest.find("encryption-data") != std::string::npos) {
    refuse("protected by a password; save it without one");
  }
  return {DocumentKind::kOdt, read_odt(archive)};
}

std::string_view describe(std::string_view main_part) noexcept {
  if (main_part.starts_with("xl/")) return "an Excel workbook (XLSX)";
  if (main_part.starts_with("ppt/")) return "a PowerPoint presentation (PPTX)";
  return "an Office file without running text";
}

OfficeText read_any(const OfficeArchive& archive) {
  constexpr size_t kLongestType = 256;
  const std::string type = archive.beginning("mimetype", kLongestType);
  if (!type.empty()) return read_open_document(archive, type);
  if (archive.has("[Content_Types].xml") && archive.has("_rels/.rels")) {
    const std::string main_part = main_part_of(archive);
    if (!main_part.starts_with("word/")) refuse(std::string(describe(main_part)));
    return {DocumentKind::kDocx, read_docx(archive, main_part)};
  }
  refuse(archive.has("META-INF/MANIFEST.MF") ? "a Java archive" : "a ZIP archive; unpack it");
}

}  // namespace

OfficeText read_office(int file) {
  OfficeText result = read_any(OfficeArchive(file));
  if (result.text.text.empty()) refuse("no text in it");
  return result;
}

}  // namespace longformer::io
