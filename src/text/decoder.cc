#include "text/decoder.h"

#include <string_view>
#include <utility>

namespace longformer::text {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// The reference cleans each token after its space was put before it, in this order.
void clean_up(std::string& token) {
  static constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  for (const auto& [from, to] : kRules) replace_all(token, from, to);
}

}  // namespace

std::string Decoder::decode(std::vector<std::string> tokens) const {
  std::string out;
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::string& token = tokens[i];
    if (kind == Kind::kSpaces) {
      if (i > 0) out += ' ';
    } else {
      if (i > 0) {
        if (token.starts_with(prefix)) {
          token.erase(0, prefix.size());
        } else {
          token.insert(0, 1, ' ');
        }
      }
      if (cleanup) clean_up(token);
    }
    out += token;
  }
  return out;
}

}  // namespace longformer::text
