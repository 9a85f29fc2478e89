// tokenizer.json and the text that it encodes: the input up to its first zero byte is the file, the
// rest is the text. A tokenizer that loads encodes any text; offsets lie inside it, and ids have
// names.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "longformer/error.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using longformer::text::Encoding;
  using longformer::text::Tokenizer;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t border = input.find('\0');
  const std::string_view text = border == input.npos ? "a b\xC3\xA9\xFF" : input.substr(border + 1);
  try {
    longformer::text::TokenizerFiles files;
    files.tokenizer_json = std::string(input.substr(0, border));
    files.place = "input";
    const Tokenizer tokenizer = Tokenizer::load(files);
    tokenizer.encode("");
    const Encoding encoding = tokenizer.encode(text);
    for (size_t i = 0; i < encoding.size(); ++i) {
      const auto [begin, end] = encoding.offsets[i];
      if (begin < 0 || begin > end || end > static_cast<int64_t>(text.size())) std::abort();
      tokenizer.token(encoding.ids[i]);
    }
  } catch (const longformer::Error&) {
  }
  return 0;
}
