// Text in an encoding that the document names. Internal to this folder.
#pragma once

#include <optional>
#include <string_view>

#include "io/documents/text_encoding.h"

namespace longformer::io {

// `label` as web pages write it ("ISO-8859-2", "shift_jis"), in any case. Nothing for a label that
// is not known, that means UTF-8 or UTF-16, or that this system cannot convert. Bytes that the
// encoding does not have become U+FFFD.
std::optional<DecodedText> decode_charset(std::string_view bytes, std::string_view label);

}  // namespace longformer::io
