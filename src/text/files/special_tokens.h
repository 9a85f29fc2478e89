// Special and added tokens of a directory without tokenizer.json: from tokenizer_config.json,
// special_tokens_map.json and added_tokens.json, as Transformers' fast classes collect them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "text/added_tokens.h"
#include "text/files/json.h"
#include "text/tokenizer.h"

namespace longformer::text {

// What a class does with special tokens that the files give as plain strings, or not at all.
struct SpecialTokenRule {
  std::string content;  // default
  // The class makes a token with flags of it, which it adds again beside those of the files; a bare
  // string is added only where no other file has it.
  bool has_flags = false;
  bool lstrip = false;
  bool normalized = false;
};
using SpecialTokenRules = std::map<std::string, SpecialTokenRule>;  // by "cls_token", …

struct SpecialTokens {
  std::map<std::string, std::string> contents;  // by "cls_token", …
  std::vector<std::string> additional;          // additional_special_tokens
  std::vector<AddedToken> added;                // all tokens in the order in which they are added
};

// `config` is the document of tokenizer_config.json, or an empty object. `model_tokens`: what the
// model's own file adds first. Throws kInvalidFile naming the file.
SpecialTokens read_special_tokens(const TokenizerFiles& files, const JsonObject& config,
                                  const SpecialTokenRules& rules,
                                  const std::vector<AddedToken>& model_tokens = {});

}  // namespace longformer::text
