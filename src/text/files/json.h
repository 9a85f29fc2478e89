// JSON of tokenizer files: bounded in size and depth before anything is built, without recursion,
// duplicate keys refused.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "text/piece.h"

namespace longformer::text {

using Json = nlohmann::json;

// The object at model.vocab goes straight into `vocabulary` where that is given (a DOM of two
// million entries would be many times as large) and is null in the result. Throws kInvalidFile at
// `place` with the byte offset.
Json parse_json(std::string_view text, uint64_t max_bytes, const std::string& place,
                Vocabulary* vocabulary = nullptr);

// A document that is such an object itself.
Vocabulary parse_vocabulary(std::string_view text, uint64_t max_bytes, const std::string& place);

// Members of an object, with kInvalidFile at `place` that names the member where it is absent or of
// another type. Strings longer than kMaxTokenBytes are refused.
class JsonObject {
 public:
  JsonObject(const Json& json, std::string name, std::string place);

  const Json* find(const char* key) const;  // null where absent or JSON null
  bool boolean(const char* key) const;
  bool boolean(const char* key, bool fallback) const;
  std::string string(const char* key) const;
  std::string string(const char* key, const std::string& fallback) const;
  uint64_t natural(const char* key) const;
  const Json& array(const char* key) const;
  const Json& object(const char* key) const;
  std::string type() const { return string("type"); }
  std::string member(const char* key) const { return name_ + "." + key; }
  [[noreturn]] void fail(const char* key, const std::string& rule) const;
  const std::string& name() const { return name_; }
  const std::string& place() const { return place_; }

 private:
  const Json& get(const char* key) const;

  const Json& json_;
  std::string name_;
  std::string place_;
};

// A name from a file, made fit for a message: printable ASCII, at most 64 characters.
std::string printable(const std::string& name);

// Throws kInvalidFile unless 0 <= id < kMaxVocabulary. `what` names the entry.
int32_t checked_id(int64_t id, const std::string& what, const std::string& place);
// Throws kInvalidFile unless every id and every token occurs once, both within the limits.
void check_vocabulary(const Vocabulary& vocabulary, const std::string& place);

}  // namespace longformer::text
