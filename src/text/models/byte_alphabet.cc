#include "text/models/byte_alphabet.h"

#include "text/unicode/utf8.h"

namespace longformer::text::byte_alphabet {

void append(std::string_view bytes, std::string& out) {
  for (const char c : bytes) utf8::append(character(static_cast<uint8_t>(c)), out);
}

}  // namespace longformer::text::byte_alphabet
