#include "io/documents/documents.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "io/documents/byte_source.h"
#include "io/documents/converter.h"
#include "io/documents/document_kind.h"
#include "io/documents/document_parts.h"
#include "io/documents/html.h"
#include "io/documents/markdown.h"
#include "io/documents/office.h"
#include "io/documents/pdf.h"
#include "io/documents/text_encoding.h"
#include "io/posix.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

using Visit = std::function<void(Document)>;

// The name stays out of the messages: they stand beside it as a reason.
FileDescriptor open_document(const std::string& name) {
  try {
    return open_for_reading(name);
  } catch (const Error& error) {
    const std::string message = error.what();
    const std::string prefix = error.place() + ": ";
    throw Error(error.code(),
                message.starts_with(prefix) ? message.substr(prefix.size()) : message);
  }
}

Document marked_document(const std::string& name, DocumentKind kind, MarkedText marked) {
  Document document;
  document.name = name;
  document.kind = kind;
  document.has_lines = false;
  document.text = std::move(marked.text);
  document.headings = std::move(marked.headings);
  document.pages = std::move(marked.pages);
  document.replaced = marked.replaced;
  return document;
}

void read_text(const std::string& name, DocumentKind kind, ExpandedSource& source,
               const Visit& visit) {
  source.set_limit(source.is_gzip() ? kMaxDocumentBytes : kMaxTextBytes);
  MarkdownHeadings headings;
  read_text_parts(source, kDocumentPartBytes, [&](TextPart part) {
    Document document;
    document.name = name;
    document.kind = kind;
    if (kind == DocumentKind::kMarkdown) document.headings = headings.scan(part.text);
    document.text = std::move(part.text);
    document.replaced = part.replaced;
    document.first_byte = part.first_byte;
    document.first_line = part.first_line;
    document.last = part.last;
    visit(std::move(document));
  });
}

void read_converted(const std::string& name, const Converter& converter, const Visit& visit) {
  open_document(name);  // says why it cannot be read
  const std::string printed = convert_file(converter, name);
  if (looks_binary(std::string_view(printed).substr(0, 64 << 10))) {
    throw Error(ErrorCode::kInvalidFile, "the converter printed binary data, not text");
  }
  DecodedText decoded = decode_text(printed);
  if (decoded.text.empty()) throw Error(ErrorCode::kInvalidFile, "the converter printed no text");
  MarkedText marked;
  marked.text = std::move(decoded.text);
  marked.replaced = decoded.replaced;
  visit(marked_document(name, DocumentKind::kConverted, std::move(marked)));
}

// A file that can be positioned: the document's own, or a copy in memory of what comes from a pipe
// or is expanded.
class Positioned {
 public:
  Positioned(int descriptor, bool is_file, ExpandedSource& source) : descriptor_(descriptor) {
    if (is_file && !source.is_gzip() && lseek(descriptor, 0, SEEK_SET) == 0) return;
    copy_ = source.spool();
    descriptor_ = copy_.get();
  }
  int get() const noexcept { return descriptor_; }

 private:
  FileDescriptor copy_;
  int descriptor_;
};

}  // namespace

void read_document(const std::string& name, const ReadOptions& options, const Visit& visit) {
  if (const Converter* const converter = find_converter(options.converters, name)) {
    return read_converted(name, *converter, visit);
  }
  const bool is_file = name != "-";
  const FileDescriptor file = is_file ? open_document(name) : FileDescriptor();
  const int descriptor = is_file ? file.get() : STDIN_FILENO;
  ExpandedSource source(
      [descriptor](char* out, size_t size) { return read_some(descriptor, out, size, {}); });
  const Recognised recognised = recognise(source.head(), name);
  source.set_limit(kMaxDocumentBytes);
  switch (recognised.kind) {
    case FileKind::kText:
      return read_text(name, DocumentKind::kText, source, visit);
    case FileKind::kMarkdown:
      return read_text(name, DocumentKind::kMarkdown, source, visit);
    case FileKind::kHtml:
      source.set_limit(kMaxMarkupBytes);
      return visit(marked_document(name, DocumentKind::kHtml, read_html(source.read_all())));
    case FileKind::kPdf: {
      const Positioned positioned(descriptor, is_file, source);
      return visit(marked_document(name, DocumentKind::kPdf, read_pdf(positioned.get())));
    }
    case FileKind::kZip: {
      const Positioned positioned(descriptor, is_file, source);
      OfficeText office = read_office(positioned.get());
      return visit(marked_document(name, office.kind, std::move(office.text)));
    }
    case FileKind::kOther:
      break;
  }
  throw Error(ErrorCode::kInvalidFile, recognised.what);
}

}  // namespace longformer::io
