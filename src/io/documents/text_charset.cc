#include "io/documents/text_charset.h"

#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

namespace longformer::io {
namespace {

// Labels that stand for another name. Web pages that say Latin-1 or ASCII mean Windows-1252.
struct Alias {
  std::string_view label;
  std::string_view name;
};
constexpr std::array kAliases = {
    Alias{"iso-8859-1", "windows-1252"}, Alias{"latin1", "windows-1252"},
    Alias{"us-ascii", "windows-1252"},   Alias{"ascii", "windows-1252"},
    Alias{"cp1252", "windows-1252"},     Alias{"iso8859-1", "windows-1252"},
    Alias{"gb2312", "gb18030"},          Alias{"gbk", "gb18030"},
    Alias{"shift-jis", "shift_jis"},     Alias{"sjis", "shift_jis"},
    Alias{"x-sjis", "shift_jis"},        Alias{"ks_c_5601-1987", "euc-kr"},
    Alias{"cp1251", "windows-1251"},     Alias{"koi8", "koi8-r"},
    Alias{"latin2", "iso-8859-2"},       Alias{"tis-620", "windows-874"},
};

struct Charset {
  std::string_view name;
  const char* system;  // what iconv calls it
};
// Encodings without states or escapes only: a document must not choose among everything that the
// system can convert.
constexpr std::array kCharsets = {
    Charset{"windows-1252", "CP1252"},     Charset{"iso-8859-2", "ISO-8859-2"},
    Charset{"iso-8859-3", "ISO-8859-3"},   Charset{"iso-8859-4", "ISO-8859-4"},
    Charset{"iso-8859-5", "ISO-8859-5"},   Charset{"iso-8859-6", "ISO-8859-6"},
    Charset{"iso-8859-7", "ISO-8859-7"},   Charset{"iso-8859-8", "ISO-8859-8"},
    Charset{"iso-8859-9", "ISO-8859-9"},   Charset{"iso-8859-10", "ISO-8859-10"},
    Charset{"iso-8859-13", "ISO-8859-13"}, Charset{"iso-8859-14", "ISO-8859-14"},
    Charset{"iso-8859-15", "ISO-8859-15"}, Charset{"iso-8859-16", "ISO-8859-16"},
    Charset{"koi8-r", "KOI8-R"},           Charset{"koi8-u", "KOI8-U"},
    Charset{"windows-874", "CP874"},       Charset{"windows-1250", "CP1250"},
    Charset{"windows-1251", "CP1251"},     Charset{"windows-1253", "CP1253"},
    Charset{"windows-1254", "CP1254"},     Charset{"windows-1255", "CP1255"},
    Charset{"windows-1256", "CP1256"},     Charset{"windows-1257", "CP1257"},
    Charset{"windows-1258", "CP1258"},     Charset{"gb18030", "GB18030"},
    Charset{"big5", "BIG5-HKSCS"},         Charset{"shift_jis", "CP932"},
    Charset{"euc-jp", "EUC-JP"},           Charset{"euc-kr", "CP949"},
};

const char* system_name(std::string_view label) {
  std::string name(label.substr(0, 64));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const auto alias = std::find_if(kAliases.begin(), kAliases.end(),
                                  [&](const Alias& a) { return a.label == name; });
  if (alias != kAliases.end()) name = alias->name;
  const auto charset = std::find_if(kCharsets.begin(), kCharsets.end(),
                                    [&](const Charset& c) { return c.name == name; });
  return charset == kCharsets.end() ? nullptr : charset->system;
}

class CharsetConverter {
 public:
  explicit CharsetConverter(const char* from) : handle_(iconv_open("UTF-8", from)) {}
  ~CharsetConverter() {
    if (usable()) iconv_close(handle_);
  }
  CharsetConverter(const CharsetConverter&) = delete;
  CharsetConverter& operator=(const CharsetConverter&) = delete;
  bool usable() const noexcept { return handle_ != reinterpret_cast<iconv_t>(-1); }

  DecodedText decode(std::string_view bytes) {
    DecodedText result;
    char* in = const_cast<char*>(bytes.data());
    size_t left = bytes.size();
    while (left != 0) {
      if (step(&in, &left, result.text)) continue;
      append_utf8(result.text, 0xFFFD);
      result.replaced = true;
      ++in;
      --left;
    }
    step(nullptr, nullptr, result.text);  // what waits for a combining character
    return result;
  }

 private:
  // Returns false in front of bytes that mean nothing.
  bool step(char** in, size_t* left, std::string& text) {
    std::array<char, 16 << 10> block;
    char* out = block.data();
    size_t room = block.size();
    const size_t status = iconv(handle_, in, left, &out, &room);
    const bool good = status != static_cast<size_t>(-1) || errno == E2BIG;
    text.append(block.data(), block.size() - room);
    return good;
  }

  const iconv_t handle_;
};

}  // namespace

std::optional<DecodedText> decode_charset(std::string_view bytes, std::string_view label) {
  const char* const name = system_name(label);
  if (name == nullptr) return std::nullopt;
  CharsetConverter converter(name);
  if (!converter.usable()) return std::nullopt;
  return converter.decode(bytes);
}

}  // namespace longformer::io
