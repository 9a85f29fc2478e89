// HTML to plain text with its headings. Internal to this folder.
#pragma once

#include <string_view>

#include "io/documents/document_builder.h"

namespace longformer::io {

// Any bytes, at most kMaxMarkupBytes. What a browser shows of the content: scripts, styles, hidden
// parts and navigation (nav, header, footer, aside, role=navigation) are left out, unless nothing
// else is there. Throws kInvalidFile with a short reason.
MarkedText read_html(std::string_view bytes);

// The encoding that a <meta> element or an XML declaration at the beginning names; may be empty.
std::string_view declared_charset(std::string_view head);

}  // namespace longformer::io
