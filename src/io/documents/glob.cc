// File name patterns. Matching takes at most (length of the path) x (length of the glob) steps,
// whatever the stars.
#include <optional>
#include <string_view>
#include <vector>

#include "io/documents/documents.h"
#include "io/documents/text_encoding.h"

namespace longformer::io {
namespace {

enum class Kind { kCharacter, kAny, kClass, kStar, kDirectories, kEverything };

struct Token {
  Kind kind;
  std::string_view text;  // of kCharacter: itself; of kClass: what stands between the brackets
};

// A whole character, or a single byte of what is not UTF-8.
std::string_view first_character(std::string_view text) noexcept {
  size_t size = 1;
  while (size < text.size() && size < 4 &&
         (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) {
    ++size;
  }
  return text.substr(0, valid_utf8_prefix(text.substr(0, size)) == size ? size : 1);
}

// The class that begins with "[": its inside, or nothing where no "]" ends it. "]" as the first
// member stands for itself.
std::optional<std::string_view> class_of(std::string_view glob) noexcept {
  const size_t first = glob.size() > 1 && (glob[1] == '!' || glob[1] == '^') ? 2 : 1;
  const size_t end = glob.find(']', first + 1);
  if (end == std::string_view::npos) return std::nullopt;
  return glob.substr(1, end - 1);
}

bool class_holds(std::string_view members, std::string_view character) noexcept {
  const bool negated = members.starts_with('!') || members.starts_with('^');
  if (negated) members.remove_prefix(1);
  bool found = false;
  while (!members.empty() && !found) {
    const std::string_view low = first_character(members);
    members.remove_prefix(low.size());
    std::string_view high = low;
    if (members.size() > 1 && members[0] == '-') {
      high = first_character(members.substr(1));
      members.remove_prefix(1 + high.size());
    }
    found = low <= character && character <= high;  // UTF-8 sorts like code points
  }
  return found != negated;
}

std::vector<Token> tokens_of(std::string_view glob) {
  std::vector<Token> tokens;
  while (!glob.empty()) {
    const bool begins_name = tokens.empty() || tokens.back().kind == Kind::kDirectories ||
                             (tokens.back().kind == Kind::kCharacter && tokens.back().text == "/");
    size_t size = 1;
    if (glob.starts_with("**/") && begins_name) {
      tokens.push_back({Kind::kDirectories, {}});
      size = 3;
    } else if (glob.starts_with("**")) {
      tokens.push_back({Kind::kEverything, {}});
      size = 2;
    } else if (glob[0] == '*') {
      tokens.push_back({Kind::kStar, {}});
    } else if (glob[0] == '?') {
      tokens.push_back({Kind::kAny, {}});
    } else if (const auto members = glob[0] == '[' ? class_of(glob) : std::nullopt) {
      tokens.push_back({Kind::kClass, *members});
      size = members->size() + 2;
    } else {
      const std::string_view character = first_character(glob);
      tokens.push_back({Kind::kCharacter, character});
      size = character.size();
    }
    glob.remove_prefix(size);
  }
  return tokens;
}

bool consumes(const Token& token, std::string_view character) noexcept {
  switch (token.kind) {
    case Kind::kCharacter:
      return token.text == character;
    case Kind::kAny:
      return character != "/";
    case Kind::kClass:
      return character != "/" && class_holds(token.text, character);
    default:
      return false;
  }
}

// reached[i]: the characters so far match the first i tokens. Stars match nothing as well.
void skip_stars(const std::vector<Token>& tokens, std::vector<char>& reached) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool star = tokens[i].kind == Kind::kStar || tokens[i].kind == Kind::kEverything ||
                      tokens[i].kind == Kind::kDirectories;
    if (reached[i] != 0 && star) reached[i + 1] = 1;
  }
}

bool matches_tokens(std::string_view path, const std::vector<Token>& tokens) {
  std::vector<char> reached(tokens.size() + 1, 0);
  // inside[i]: within what "**/" number i stands for, after a character that is no "/".
  std::vector<char> inside(tokens.size(), 0);
  reached[0] = 1;
  skip_stars(tokens, reached);
  while (!path.empty()) {
    const std::string_view character = first_character(path);
    path.remove_prefix(character.size());
    std::vector<char> next(tokens.size() + 1, 0);
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].kind == Kind::kDirectories) {
        const bool runs = reached[i] != 0 || inside[i] != 0;
        inside[i] = runs && character != "/" ? 1 : 0;
        if (runs && character == "/") next[i] = 1;  // between names: may end or go on
      } else if (reached[i] != 0) {
        if (consumes(tokens[i], character)) next[i + 1] = 1;
        if (tokens[i].kind == Kind::kEverything ||
            (tokens[i].kind == Kind::kStar && character != "/")) {
          next[i] = 1;
        }
      }
    }
    reached = std::move(next);
    skip_stars(tokens, reached);
  }
  return reached.back() != 0;
}

}  // namespace

bool matches_glob(std::string_view path, std::string_view glob) {
  if (glob.find('/') == std::string_view::npos) {
    const size_t slash = path.rfind('/');
    if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  }
  return matches_tokens(path, tokens_of(glob));
}

}  // namespace longformer::io
