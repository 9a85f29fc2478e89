// tokenizer.json and the text that it encodes: the input up to its first zero byte is the file, the
// rest is the text. A tokenizer that loads encodes and decodes any text, its own tokens among them.
#include <cstdint>
#include <string>
#include <string_view>

#include "longformer/error.h"
#include "tokenizer_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using longformer::text::Tokenizer;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t border = input.find('\0');
  const std::string_view text = border == input.npos ? "a b\xC3\xA9\xFF" : input.substr(border + 1);
  try {
    longformer::text::TokenizerFiles files;
    files.tokenizer_json = std::string(input.substr(0, border));
    files.place = "input";
    longformer::fuzz::check_tokenizer(Tokenizer::load(files), text);
  } catch (const longformer::Error&) {
  }
  return 0;
}
