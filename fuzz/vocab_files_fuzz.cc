// Tokenizer files without tokenizer.json. The first byte says which ones follow, each but the last
// up to a line of four dashes: vocab.txt; vocab.json, merges.txt and added_tokens.json; or a
// SentencePiece model; all with tokenizer_config.json and special_tokens_map.json behind them.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "longformer/error.h"
#include "tokenizer_checks.h"

namespace {

constexpr std::string_view kBorder = "\n----\n";

// The next file of the input; nothing where the input has ended.
std::optional<std::string> next_file(std::string_view& input) {
  if (input.empty()) return std::nullopt;
  const size_t border = input.find(kBorder);
  std::string file(input.substr(0, border));
  input.remove_prefix(border == input.npos ? input.size() : border + kBorder.size());
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  longformer::text::TokenizerFiles files;
  files.place = "input";
  if (data[0] % 3 == 0) {
    files.vocab_txt = next_file(input);
  } else if (data[0] % 3 == 1) {
    files.vocab_json = next_file(input);
    files.merges_txt = next_file(input);
    files.added_tokens = next_file(input);
  } else {
    files.sentencepiece = next_file(input);
  }
  files.tokenizer_config = next_file(input);
  files.special_tokens_map = next_file(input);
  try {
    longformer::fuzz::check_tokenizer(longformer::text::Tokenizer::load(files),
                                      "The fox's  \xC3\xA9\xF0\x9F\x98\x80\n1\xFF \xEF\xAC\x81");
  } catch (const longformer::Error&) {
  }
  return 0;
}
