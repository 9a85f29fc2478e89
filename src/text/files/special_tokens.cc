#include "text/files/special_tokens.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/limits.h"
#include "longformer/error.h"

namespace longformer::text {
namespace {

constexpr size_t kMaxAdditionalTokens = 2000;  // compared with each other one by one
constexpr const char* kAdditional = "additional_special_tokens";

// In the order in which the reference adds those that no file has.
constexpr std::array<const char*, 7> kKeys = {"bos_token", "eos_token", "unk_token", "sep_token",
                                              "pad_token", "cls_token", "mask_token"};

struct Special {
  AddedToken token;
  bool has_flags = false;
};

void check_length(const AddedToken& token, const std::string& name, const std::string& place) {
  if (token.content.size() <= kMaxTokenBytes) return;
  throw Error(ErrorCode::kInvalidFile,
              name + " is longer than " + std::to_string(kMaxTokenBytes) + " bytes", place);
}

AddedToken plain_token(std::string content, bool special) {
  AddedToken token;
  token.content = std::move(content);
  token.special = special;
  token.normalized = !special;
  return token;
}

// A token is a string or an object with its flags.
Special read_token(const Json& json, const std::string& name, const std::string& place,
                   bool special) {
  Special result;
  result.has_flags = !json.is_string();
  if (json.is_string()) {
    result.token = plain_token(json.get<std::string>(), special);
  } else {
    const JsonObject part(json, name, place);
    AddedToken& token = result.token;
    token.content = part.string("content");
    token.single_word = part.boolean("single_word", false);
    token.lstrip = part.boolean("lstrip", false);
    token.rstrip = part.boolean("rstrip", false);
    token.special = part.boolean("special", special) || special;
    token.normalized = part.boolean("normalized", !token.special);
  }
  check_length(result.token, name, place);
  return result;
}

class Reader {
 public:
  Reader(const TokenizerFiles& files, const JsonObject& config, const SpecialTokenRules& rules)
      : files_(files), config_(config), rules_(rules) {}

  SpecialTokens read(const std::vector<AddedToken>& model_tokens) {
    for (const auto& [key, rule] : rules_) specials_[key] = by_rule(key, rule.content);
    read_specials(config_);
    if (config_.find("added_tokens_decoder") != nullptr) {
      read_decoder_map();
    } else {  // the older carriers count only without it
      read_special_map();
      read_added_tokens();
    }
    take_flags_of_added();
    return collect(model_tokens);
  }

 private:
  std::string path(const char* file) const { return files_.place + "/" + file; }

  Special by_rule(const std::string& key, std::string content) const {
    Special special;
    special.token = plain_token(std::move(content), true);
    const auto rule = rules_.find(key);
    if (rule == rules_.end() || !rule->second.has_flags) return special;
    special.has_flags = true;
    special.token.lstrip = rule->second.lstrip;
    special.token.normalized = rule->second.normalized;
    return special;
  }

  // Adds the special tokens that an object names; those of a later file replace those of an earlier
  // one.
  void read_specials(const JsonObject& file) {
    for (const char* key : kKeys) {
      const Json* json = file.find(key);
      if (json == nullptr) continue;
      named_.insert(key);
      specials_[key] = read_token(*json, file.member(key), file.place(), true);
      if (json->is_string()) specials_[key] = by_rule(key, json->get<std::string>());
    }
    if (file.find(kAdditional) == nullptr) return;
    for (const Json& json : file.array(kAdditional)) {
      if (additional_.size() >= kMaxAdditionalTokens) {
        file.fail(kAdditional,
                  "holds more than " + std::to_string(kMaxAdditionalTokens) + " tokens");
      }
      const Special special = read_token(json, file.member(kAdditional), file.place(), true);
      const auto same = [&](const Special& s) { return s.token == special.token; };
      if (std::none_of(additional_.begin(), additional_.end(), same)) {
        additional_.push_back(special);
      }
    }
  }

  // added_tokens_decoder of tokenizer_config.json: id (as a string) to token.
  void read_decoder_map() {
    const std::string name = config_.member("added_tokens_decoder");
    for (const auto& [key, json] : config_.object("added_tokens_decoder").items()) {
      const bool digits = !key.empty() && key.size() <= 9 &&
                          key.find_first_not_of("0123456789") == std::string::npos;
      if (!digits) config_.fail("added_tokens_decoder", "must have whole numbers as its keys");
      added_[checked_id(std::stoll(key), name, config_.place())] =
          read_token(json, name, config_.place(), false).token;
    }
  }

  void read_special_map() {
    if (!files_.special_tokens_map) return;
    const std::string place = path("special_tokens_map.json");
    const Json json = parse_json(*files_.special_tokens_map, kMaxJsonBytes, place);
    read_specials(JsonObject(json, "the document", place));
  }

  // added_tokens.json: token to id.
  void read_added_tokens() {
    if (!files_.added_tokens) return;
    const std::string place = path("added_tokens.json");
    std::set<std::string> special;
    for (const auto& [key, entry] : specials_) special.insert(entry.token.content);
    for (const Special& entry : additional_) special.insert(entry.token.content);
    const Json json = parse_json(*files_.added_tokens, kMaxJsonBytes, place);
    const JsonObject file(json, "the document", place);
    for (const auto& [content, id] : json.items()) {
      if (!id.is_number_unsigned()) {
        throw Error(ErrorCode::kInvalidFile, "the ids must be whole numbers, zero or more", place);
      }
      const auto number = std::min<uint64_t>(id.get<uint64_t>(), INT32_MAX);
      AddedToken token = plain_token(content, special.contains(content));
      check_length(token, "a token", place);
      added_[checked_id(static_cast<int64_t>(number), "an added token", place)] = std::move(token);
    }
  }

  // A special token that a file names, and whose flags a list of added tokens gives, has those.
  void take_flags_of_added() {
    std::map<std::string_view, const AddedToken*> by_content;
    for (const auto& [id, token] : added_) by_content[token.content] = &token;
    for (auto& [key, special] : specials_) {
      const auto known = by_content.find(special.token.content);
      if (known == by_content.end() || !named_.contains(key)) continue;
      special.token = *known->second;
      special.has_flags = true;
    }
  }

  SpecialTokens collect(const std::vector<AddedToken>& model_tokens) {
    SpecialTokens result;
    std::vector<Special> order;
    std::set<std::string> seen;
    for (const char* key : kKeys) {
      const auto special = specials_.find(key);
      if (special == specials_.end()) continue;
      result.contents[key] = special->second.token.content;
      if (seen.insert(special->second.token.content).second) order.push_back(special->second);
    }
    for (const Special& special : additional_) {
      result.additional.push_back(special.token.content);
      if (seen.insert(special.token.content).second) order.push_back(special);
    }
    std::set<std::string> known;
    const auto add = [&](AddedToken token) {
      token.special = token.special || seen.contains(token.content);
      known.insert(token.content);
      result.added.push_back(std::move(token));
    };
    for (const AddedToken& token : model_tokens) {
      known.insert(token.content);
      result.added.push_back(token);
    }
    for (const auto& [id, token] : added_) add(token);
    for (const Special& special : order) {
      if (special.has_flags || !known.contains(special.token.content)) add(special.token);
    }
    return result;
  }

  const TokenizerFiles& files_;
  const JsonObject& config_;
  const SpecialTokenRules& rules_;
  std::map<std::string, Special> specials_;
  std::set<std::string> named_;  // keys that a file names
  std::vector<Special> additional_;
  std::map<int64_t, AddedToken> added_;
};

}  // namespace

SpecialTokens read_special_tokens(const TokenizerFiles& files, const JsonObject& config,
                                  const SpecialTokenRules& rules,
                                  const std::vector<AddedToken>& model_tokens) {
  return Reader(files, config, rules).read(model_tokens);
}

}  // namespace longformer::text
