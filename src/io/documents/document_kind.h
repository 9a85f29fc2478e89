// What a file is, by its content first and its name second. Internal to this folder.
#pragma once

#include <string>
#include <string_view>

#include "io/documents/documents.h"

namespace longformer::io {

// kZip may be DOCX or ODT: only its directory, at the end, tells.
enum class FileKind { kText, kMarkdown, kHtml, kPdf, kZip, kOther };

struct Recognised {
  FileKind kind = FileKind::kText;
  std::string what;  // of kOther: "an image (PNG)", "binary", …
};

// `head` is the beginning of the expanded bytes, "…/notes.md.gz" counts as "notes.md".
Recognised recognise(std::string_view head, std::string_view name);

}  // namespace longformer::io
