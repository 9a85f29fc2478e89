// The alphabet of byte-level BPE: one printable character for each byte. 0x21-0x7E, 0xA1-0xAC and
// 0xAE-0xFF stand for themselves, the other 68 bytes in increasing order are U+0100 to U+0143.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace longformer::text::byte_alphabet {

namespace internal {
constexpr std::array<char32_t, 256> make_characters() {
  std::array<char32_t, 256> result{};
  char32_t next = 0x100;
  for (char32_t b = 0; b < 256; ++b) {
    const bool itself = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b != 0xAD);
    result[b] = itself ? b : next++;
  }
  return result;
}
inline constexpr std::array<char32_t, 256> kCharacters = make_characters();
constexpr std::array<int16_t, 0x144> make_bytes() {
  std::array<int16_t, 0x144> result{};
  for (int16_t& byte : result) byte = -1;
  for (int16_t b = 0; b < 256; ++b) result[kCharacters[static_cast<size_t>(b)]] = b;
  return result;
}
inline constexpr std::array<int16_t, 0x144> kBytes = make_bytes();
}  // namespace internal

constexpr char32_t character(uint8_t byte) { return internal::kCharacters[byte]; }

// -1 for a character outside the alphabet.
constexpr int byte(char32_t character) {
  return character < internal::kBytes.size() ? internal::kBytes[character] : -1;
}

// Appends the characters of bytes, as UTF-8.
void append(std::string_view bytes, std::string& out);

}  // namespace longformer::text::byte_alphabet
