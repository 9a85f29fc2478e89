// The "normalizer" of tokenizer.json, every type that the reference has.
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "longformer/error.h"
#include "text/charsmap.h"
#include "text/files/json.h"
#include "text/normalizer.h"

namespace longformer::text {
namespace {

constexpr size_t kMaxRules = 256;  // of one file; published files have at most ten

void add(NormalizerRule rule, const JsonObject& part, std::vector<NormalizerRule>& rules) {
  if (rules.size() == kMaxRules) {
    throw Error(ErrorCode::kInvalidFile,
                part.name() + " has more than " + std::to_string(kMaxRules) + " steps",
                part.place());
  }
  rules.push_back(std::move(rule));
}

NormalizerRule read_replace(const JsonObject& part) {
  NormalizerRule rule{NormalizerStep::kReplace};
  const JsonObject pattern(part.object("pattern"), part.member("pattern"), part.place());
  rule.text = part.string("content");
  if (pattern.find("String") != nullptr) {
    rule.literal = pattern.string("String");
    // The reference's matcher finds the empty string everywhere.
    if (rule.literal.empty()) rule.pattern.emplace("", part.place());
  } else {
    rule.pattern.emplace(pattern.string("Regex"), part.place());
  }
  return rule;
}

std::optional<std::string> decode_base64(std::string_view text) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return std::nullopt;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xFF));
  }
  return bytes;
}

NormalizerRule read_charsmap(const JsonObject& part) {
  const Json* text = part.find("precompiled_charsmap");
  if (text == nullptr || !text->is_string()) part.fail("precompiled_charsmap", "must be a string");
  const std::optional<std::string> bytes = decode_base64(text->get_ref<const std::string&>());
  if (!bytes) part.fail("precompiled_charsmap", "is not base64");
  NormalizerRule rule{NormalizerStep::kCharsmap};
  rule.charsmap = std::make_shared<const Charsmap>(*bytes, part.place());
  return rule;
}

BertNormalizerSettings read_bert(const JsonObject& part) {
  BertNormalizerSettings settings;
  settings.clean_text = part.boolean("clean_text");
  settings.handle_chinese_chars = part.boolean("handle_chinese_chars");
  settings.lowercase = part.boolean("lowercase");
  if (part.find("strip_accents") != nullptr) settings.strip_accents = part.boolean("strip_accents");
  return settings;
}

// The steps of types that have no settings beyond flags; empty for other types.
std::vector<NormalizerStep> plain_steps(const JsonObject& part, const std::string& type) {
  if (type == "BertNormalizer") return bert_steps(read_bert(part));
  if (type == "NFC") return {NormalizerStep::kCompose};
  if (type == "NFD") return {NormalizerStep::kDecompose};
  if (type == "NFKC") return {NormalizerStep::kComposeCompatible};
  if (type == "NFKD") return {NormalizerStep::kDecomposeCompatible};
  if (type == "Lowercase") return {NormalizerStep::kLowercase};
  if (type == "StripAccents") return {NormalizerStep::kRemoveMarks};
  if (type == "Nmt") return {NormalizerStep::kNmt};
  if (type == "ByteLevel") return {NormalizerStep::kByteLevel};
  return {};
}

void read_rules(const Json& json, const std::string& name, const std::string& place,
                std::vector<NormalizerRule>& rules) {
  const JsonObject part(json, name, place);
  const std::string type = part.type();
  if (type == "Sequence") {
    for (const Json& inner : part.array("normalizers")) {  // as deep as the reader lets JSON be
      read_rules(inner, part.member("normalizers"), place, rules);
    }
  } else if (type == "Strip") {
    if (part.boolean("strip_left")) add({NormalizerStep::kStripLeft}, part, rules);
    if (part.boolean("strip_right")) add({NormalizerStep::kStripRight}, part, rules);
  } else if (type == "Replace") {
    add(read_replace(part), part, rules);
  } else if (type == "Prepend") {
    add({NormalizerStep::kPrepend, part.string("prepend")}, part, rules);
  } else if (type == "Precompiled") {
    add(read_charsmap(part), part, rules);
  } else if (type == "BertNormalizer" || !plain_steps(part, type).empty()) {
    for (const NormalizerStep step : plain_steps(part, type)) add({step}, part, rules);
  } else {
    throw Error(ErrorCode::kUnsupported,
                name + " of type \"" + printable(type) +
                    "\" is not supported by this version, which has BertNormalizer, ByteLevel, "
                    "Lowercase, NFC, NFD, NFKC, NFKD, Nmt, Precompiled, Prepend, Replace, "
                    "Sequence, Strip and StripAccents",
                place);
  }
}

}  // namespace

std::vector<NormalizerStep> bert_steps(const BertNormalizerSettings& settings) {
  std::vector<NormalizerStep> steps;
  if (settings.clean_text) steps.push_back(NormalizerStep::kCleanText);
  if (settings.handle_chinese_chars) steps.push_back(NormalizerStep::kPadCjk);
  if (settings.strip_accents.value_or(settings.lowercase)) {
    steps.push_back(NormalizerStep::kDecompose);
    steps.push_back(NormalizerStep::kRemoveNonspacing);
  }
  if (settings.lowercase) steps.push_back(NormalizerStep::kLowercase);
  return steps;
}

Normalizer read_normalizer(const Json& json, const std::string& place) {
  std::vector<NormalizerRule> rules;
  read_rules(json, "normalizer", place, rules);
  return Normalizer(std::move(rules));
}

}  // namespace longformer::text
