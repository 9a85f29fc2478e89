#include "text/decoder_steps.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "longformer/error.h"
#include "text/models/byte_alphabet.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

constexpr std::string_view kReplacementText = "\xEF\xBF\xBD";  // U+FFFD

// Bytes of all tokens, against hostile files: each of several replacements may multiply a text.
class Budget {
 public:
  explicit Budget(size_t bytes) : left_(bytes) {}
  void spend(size_t bytes) {
    if (bytes > left_) {
      throw Error(
          ErrorCode::kInvalidFile,
          "the decoder of the tokenizer makes the text many times as long; it cannot be used");
    }
    left_ -= bytes;
  }

 private:
  size_t left_;
};

size_t character_bytes(std::string_view text, size_t at) {
  const size_t begin = at;
  utf8::next(text, at);
  return at - begin;
}

// An empty `from` occurs before each character and at the end.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to,
                        Budget& budget) {
  std::string out;
  const auto put = [&](std::string_view piece) {
    budget.spend(piece.size());
    out += piece;
  };
  if (from.empty()) {
    for (size_t at = 0; at < text.size();) {
      const size_t length = character_bytes(text, at);
      put(to);
      put(text.substr(at, length));
      at += length;
    }
    put(to);
    return out;
  }
  size_t at = 0;
  for (size_t hit = text.find(from); hit != text.npos; hit = text.find(from, at)) {
    put(text.substr(at, hit - at));
    put(to);
    at = hit + from.size();
  }
  put(text.substr(at));
  return out;
}

// The reference's rules, in this order.
void clean_up(std::string& token) {
  static constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  if (token.find(' ') == std::string::npos) return;
  for (const auto& [from, to] : kRules) {
    Budget budget(SIZE_MAX);  // none of them makes a text longer
    token = replace_all(token, from, to, budget);
  }
}

std::string join(const TokenTexts& tokens) {
  size_t bytes = 0;
  for (const std::string& token : tokens) bytes += token.size();
  std::string out;
  out.reserve(bytes);
  for (const std::string& token : tokens) out += token;
  return out;
}

std::string repaired(std::string bytes) {
  if (utf8::valid_prefix(bytes) == bytes.size()) return bytes;
  return utf8::Repaired(bytes).text();
}

void run(const SpacesStep&, TokenTexts& tokens, size_t) {
  for (size_t i = 1; i < tokens.size(); ++i) tokens[i].insert(0, 1, ' ');
}

void run(const WordPieceStep& step, TokenTexts& tokens, size_t) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::string& token = tokens[i];
    if (i > 0) {
      if (token.starts_with(step.prefix)) {
        token.erase(0, step.prefix.size());
      } else {
        token.insert(0, 1, ' ');
      }
    }
    if (step.cleanup) clean_up(token);
  }
}

void run(const ByteLevelStep&, TokenTexts& tokens, size_t) {
  std::string bytes;
  for (const std::string& token : tokens) {
    const size_t begin = bytes.size();
    for (size_t at = 0; at < token.size();) {
      const int byte = byte_alphabet::byte(utf8::next(token, at));
      if (byte < 0) {  // a token with a character outside the alphabet stands for itself
        bytes.resize(begin);
        bytes += token;
        break;
      }
      bytes += static_cast<char>(byte);
    }
  }
  tokens = {repaired(std::move(bytes))};
}

// The byte of a token <0xXX>. The reference also takes a plus sign for the first digit.
std::optional<char> fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  const int high = token[3] == '+' ? 0 : digit(token[3]);
  const int low = digit(token[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

void run(const ByteFallbackStep&, TokenTexts& tokens, size_t max_bytes) {
  TokenTexts out;
  std::string bytes;  // of the run of byte tokens that is open
  Budget budget(max_bytes);
  const auto close = [&] {
    if (bytes.empty()) return;
    if (utf8::valid_prefix(bytes) == bytes.size()) {
      out.push_back(bytes);
    } else {
      budget.spend(bytes.size() * kReplacementText.size());
      out.insert(out.end(), bytes.size(), std::string(kReplacementText));
    }
    bytes.clear();
  };
  for (std::string& token : tokens) {
    if (const std::optional<char> byte = fallback_byte(token)) {
      bytes += *byte;
      continue;
    }
    close();
    out.push_back(std::move(token));
  }
  close();
  tokens = std::move(out);
}

void run(const FuseStep&, TokenTexts& tokens, size_t) { tokens = {join(tokens)}; }

void run(const MetaspaceStep& step, TokenTexts& tokens, size_t max_bytes) {
  Budget budget(max_bytes);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view space = i == 0 && step.prepend ? "" : " ";
    tokens[i] = replace_all(tokens[i], step.replacement, space, budget);
  }
}

void run(const StripStep& step, TokenTexts& tokens, size_t) {
  for (std::string& token : tokens) {
    std::string_view rest = token;
    for (uint64_t i = 0; i < step.start && rest.starts_with(step.content); ++i) {
      rest.remove_prefix(step.content.size());
    }
    for (uint64_t i = 0; i < step.stop && rest.ends_with(step.content); ++i) {
      rest.remove_suffix(step.content.size());
    }
    token = std::string(rest);
  }
}

void run(const ReplaceStep& step, TokenTexts& tokens, size_t max_bytes) {
  Budget budget(max_bytes);
  std::vector<RegexMatch> matches;
  size_t bytes = 0;
  for (const std::string& token : tokens) bytes += token.size();
  RegexBudget time(bytes);
  for (std::string& token : tokens) {
    if (token.empty()) continue;
    if (!step.regex) {
      token = replace_all(token, step.text, step.content, budget);
      continue;
    }
    step.regex->find_all(token, matches, time);
    budget.spend(token.size());
    budget.spend(matches.size() * step.content.size());
    std::string out;
    size_t at = 0;
    for (const RegexMatch& match : matches) {
      out.append(token, at, match.begin - at);
      out += step.content;
      at = match.end;
    }
    token = out.append(token, at);
  }
}

void run(const BpeStep& step, TokenTexts& tokens, size_t max_bytes) {
  Budget budget(max_bytes);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view space = i + 1 == tokens.size() ? "" : " ";
    tokens[i] = replace_all(tokens[i], step.suffix, space, budget);
  }
}

void run(const CtcStep& step, TokenTexts& tokens, size_t max_bytes) {
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  Budget budget(max_bytes);
  for (std::string& token : tokens) {
    token = replace_all(token, step.pad_token, "", budget);
    if (!step.cleanup) continue;
    clean_up(token);
    token = replace_all(token, step.word_delimiter, " ", budget);
  }
  std::erase(tokens, "");
}

}  // namespace

void apply(const DecoderStep& step, TokenTexts& tokens, size_t max_bytes) {
  std::visit([&](const auto& s) { run(s, tokens, max_bytes); }, step);
}

}  // namespace longformer::text
