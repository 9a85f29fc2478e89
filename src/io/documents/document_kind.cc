#include "io/documents/document_kind.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "io/documents/text_encoding.h"

namespace longformer::io {
namespace {

using namespace std::string_view_literals;

struct Magic {
  size_t offset;
  std::string_view bytes;
  std::string_view what;
};

// Longer ones before the shorter ones that they begin with.
constexpr std::array kMagic = {
    Magic{0, "\x89PNG\r\n\x1A\n"sv, "an image (PNG)"},
    Magic{0, "\xFF\xD8\xFF"sv, "an image (JPEG)"},
    Magic{0, "GIF87a"sv, "an image (GIF)"},
    Magic{0, "GIF89a"sv, "an image (GIF)"},
    Magic{0, "II*\0"sv, "an image (TIFF)"},
    Magic{0, "MM\0*"sv, "an image (TIFF)"},
    Magic{8, "WEBP"sv, "an image (WebP)"},
    Magic{0, "8BPS\0"sv, "an image (Photoshop)"},
    Magic{0, "\0\0\1\0"sv, "an image (ICO)"},
    Magic{0, "\0\0\0\x0CjP  "sv, "an image (JPEG 2000)"},
    Magic{4, "ftypavif"sv, "an image (AVIF)"},
    Magic{4, "ftypheic"sv, "an image (HEIC)"},
    Magic{0, "AT&TFORM"sv, "a DjVu document; convert it to PDF or text"},
    Magic{0, "gimp xcf "sv, "an image (XCF)"},
    Magic{8, "WAVE"sv, "sound (WAV)"},
    Magic{8, "AVI "sv, "a video (AVI)"},
    Magic{0, "ID3"sv, "sound (MP3)"},
    Magic{0, "OggS\0"sv, "sound or a video (Ogg)"},
    Magic{0, "fLaC"sv, "sound (FLAC)"},
    Magic{4, "ftyp"sv, "a video (MP4)"},
    Magic{0, "\x1A\x45\xDF\xA3"sv, "a video (Matroska)"},
    Magic{0, "7z\xBC\xAF\x27\x1C"sv, "a 7-Zip archive"},
    Magic{0, "Rar!\x1A\x07"sv, "a RAR archive"},
    Magic{0, "\xFD\x37zXZ\0"sv, "xz data; expand it"},
    Magic{0, "\x28\xB5\x2F\xFD"sv, "Zstandard data; expand it"},
    Magic{0, "\x04\x22\x4D\x18"sv, "LZ4 data; expand it"},
    Magic{4, "\x31\x41\x59\x26\x53\x59"sv, "bzip2 data; expand it"},
    Magic{0, "\x1F\x8B"sv, "gzip data inside gzip data; expand it"},
    Magic{257, "ustar"sv, "a tar archive; unpack it"},
    Magic{0, "!<arch>\n"sv, "an ar archive or Debian package"},
    Magic{0, "\xED\xAB\xEE\xDB"sv, "an RPM package"},
    Magic{0,
          "\x7F"
          "ELF"sv,
          "a program or library (ELF)"},
    Magic{0, "\xCF\xFA\xED\xFE"sv, "a program or library (Mach-O)"},
    Magic{0, "\xCA\xFE\xBA\xBE"sv, "a Java class or program (Mach-O)"},
    Magic{0, "\0asm"sv, "a WebAssembly module"},
    Magic{0, "SQLite format 3\0"sv, "an SQLite database"},
    Magic{0, "PAR1"sv, "a Parquet table"},
    Magic{0, "\x89HDF\r\n\x1A\n"sv, "an HDF5 file"},
    Magic{0, "\x93NUMPY"sv, "a NumPy array"},
    Magic{0, "GGUF"sv, "a model file (GGUF)"},
    Magic{0, "OTTO\0"sv, "a font"},
    Magic{0, "\0\1\0\0\0"sv, "a font"},
    Magic{0, "wOFF"sv, "a font"},
    Magic{0, "wOF2"sv, "a font"},
    Magic{60, "BOOKMOBI"sv, "a Mobipocket book; convert it to text"},
    Magic{0, "{\\rtf"sv, "an RTF document; save it as DOCX or ODT, or name a converter"},
    Magic{0, "%!PS"sv, "a PostScript document; convert it to PDF"},
};

std::string_view without_blanks(std::string_view text) noexcept {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool starts_with_word(std::string_view text, std::string_view word) noexcept {
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(),
                                                  [](char a, char b) { return a == lower(b); });
}

bool ends_with_one_of(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) {
    return name.size() > ending.size() &&
           starts_with_word(name.substr(name.size() - ending.size()), ending);
  });
}

// The first element or document type, behind comments and the XML declaration.
std::string_view first_tag(std::string_view text) noexcept {
  for (;;) {
    text = without_blanks(text);
    const std::string_view end = text.starts_with("<!--") ? "-->" : "?>";
    if (!text.starts_with("<!--") && !text.starts_with("<?xml")) return text;
    const size_t found = text.find(end);
    if (found == std::string_view::npos) return {};
    text.remove_prefix(found + end.size());
  }
}

bool is_tag(std::string_view text, std::string_view tag) noexcept {
  return starts_with_word(text, tag) &&
         (text.size() == tag.size() ||
          "> \t\r\n/"sv.find(text[tag.size()]) != std::string_view::npos);
}

bool is_html(std::string_view tag) noexcept {
  return is_tag(tag, "<!doctype html") || is_tag(tag, "<html") || is_tag(tag, "<head") ||
         is_tag(tag, "<body");
}

// A compound file: Word, Excel and PowerPoint before 2007, and what Office encrypts.
Recognised recognise_compound_file(std::string_view head, std::string_view name) {
  constexpr std::string_view kEncrypted = "E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e"sv;
  const bool encrypted = head.find(kEncrypted) != std::string_view::npos ||
                         ends_with_one_of(name, {".docx", ".docm", ".xlsx", ".pptx"});
  return {FileKind::kOther,
          encrypted ? "protected by a password; save it without one"
                    : "a document of Office before 2007 (DOC, XLS, PPT); save it as DOCX or ODT"};
}

}  // namespace

Recognised recognise(std::string_view head, std::string_view name) {
  if (ends_with_one_of(name, {".gz"})) name.remove_suffix(3);
  const bool named_pdf = ends_with_one_of(name, {".pdf"});
  if (head.starts_with("%PDF-") ||
      (named_pdf && head.substr(0, 1024).find("%PDF-") != std::string_view::npos)) {
    return {FileKind::kPdf, {}};
  }
  if (head.starts_with("PK\3\4") || head.starts_with("PK\5\6") || head.starts_with("PK\7\x8")) {
    return {FileKind::kZip, {}};
  }
  if (head.starts_with("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1")) {
    return recognise_compound_file(head, name);
  }
  for (const Magic& magic : kMagic) {
    if (head.size() > magic.offset && head.substr(magic.offset).starts_with(magic.bytes)) {
      return {FileKind::kOther, std::string(magic.what)};
    }
  }
  if (looks_binary(head)) return {FileKind::kOther, "binary"};

  std::string decoded;
  if (utf16_of(head)) {
    decoded = decode_text(head.substr(0, 4096)).text;
    head = decoded;
  }
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  const std::string_view tag = first_tag(head);
  if (is_html(tag)) return {FileKind::kHtml, {}};
  if (is_tag(tag, "<svg") || is_tag(tag, "<!doctype svg")) {
    return {FileKind::kOther, "an image (SVG)"};
  }
  if (ends_with_one_of(name, {".html", ".htm", ".xhtml", ".shtml"})) return {FileKind::kHtml, {}};
  if (ends_with_one_of(name, {".md", ".markdown"})) return {FileKind::kMarkdown, {}};
  return {FileKind::kText, {}};
}

}  // namespace longformer::io
