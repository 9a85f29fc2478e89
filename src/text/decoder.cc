#include "text/decoder.h"

#include <string>
#include <utility>

#include "longformer/error.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

constexpr size_t kMaxSteps = 64;  // a decoder of a model has up to five
// Bytes of the tokens after any step, over those before the first one.
constexpr size_t kMaxGrowth = 16;
constexpr size_t kFreeBytes = 4096;

std::string one_character(const JsonObject& part, const char* key) {
  std::string text = part.string(key);
  size_t at = 0;
  if (!text.empty()) utf8::next(text, at);
  if (text.empty() || at != text.size()) part.fail(key, "must be one character");
  return text;
}

MetaspaceStep read_metaspace(const JsonObject& part) {
  const bool add_prefix_space = part.boolean("add_prefix_space", true);
  const std::string scheme = part.string("prepend_scheme", add_prefix_space ? "always" : "never");
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    part.fail("prepend_scheme", "must be always, first or never");
  }
  if (!add_prefix_space && scheme != "never") {
    part.fail("prepend_scheme", "must be never where add_prefix_space is false");
  }
  return {one_character(part, "replacement"), scheme != "never"};
}

ReplaceStep read_replace(const JsonObject& part) {
  const JsonObject pattern(part.object("pattern"), part.member("pattern"), part.place());
  ReplaceStep step;
  step.content = part.string("content");
  if (pattern.find("Regex") != nullptr) {
    step.regex.emplace(pattern.string("Regex"), part.place());
  } else {
    step.text = pattern.string("String");
  }
  return step;
}

void read_steps(const Json& json, const std::string& name, const std::string& place,
                std::vector<DecoderStep>& steps) {
  const JsonObject part(json, name, place);
  const std::string type = part.type();
  if (type == "Sequence") {  // nested at most as deep as parse_json() allows
    for (const Json& inner : part.array("decoders")) {
      read_steps(inner, part.member("decoders"), place, steps);
    }
    return;
  }
  if (steps.size() >= kMaxSteps) {
    throw Error(ErrorCode::kInvalidFile,
                "the decoder has more than " + std::to_string(kMaxSteps) + " steps", place);
  }
  if (type == "WordPiece") {
    steps.push_back(WordPieceStep{part.string("prefix"), part.boolean("cleanup")});
  } else if (type == "ByteLevel") {
    steps.push_back(ByteLevelStep{});
  } else if (type == "Metaspace") {
    steps.push_back(read_metaspace(part));
  } else if (type == "ByteFallback") {
    steps.push_back(ByteFallbackStep{});
  } else if (type == "Fuse") {
    steps.push_back(FuseStep{});
  } else if (type == "Strip") {
    steps.push_back(
        StripStep{one_character(part, "content"), part.natural("start"), part.natural("stop")});
  } else if (type == "Replace") {
    steps.push_back(read_replace(part));
  } else if (type == "BPEDecoder") {
    steps.push_back(BpeStep{part.string("suffix")});
  } else if (type == "CTC") {
    steps.push_back(CtcStep{part.string("pad_token"), part.string("word_delimiter_token"),
                            part.boolean("cleanup")});
  } else {
    throw Error(ErrorCode::kUnsupported,
                part.name() + " of type \"" + printable(type) +
                    "\" is not supported by this version, which has WordPiece, ByteLevel, "
                    "Metaspace, ByteFallback, Fuse, Strip, Replace, BPEDecoder, CTC and Sequence",
                place);
  }
}

}  // namespace

Decoder::Decoder() : steps_{SpacesStep{}} {}

Decoder Decoder::word_piece(std::string prefix, bool cleanup) {
  return Decoder({WordPieceStep{std::move(prefix), cleanup}});
}

Decoder Decoder::byte_level() { return Decoder({ByteLevelStep{}}); }

Decoder Decoder::metaspace(std::string replacement, bool prepend) {
  return Decoder({MetaspaceStep{std::move(replacement), prepend}});
}

Decoder Decoder::from_json(const Json& json, const std::string& place) {
  std::vector<DecoderStep> steps;
  read_steps(json, "decoder", place, steps);
  return Decoder(std::move(steps));
}

std::string Decoder::decode(std::vector<std::string> tokens) const {
  size_t bytes = 0;
  for (const std::string& token : tokens) bytes += token.size();
  for (const DecoderStep& step : steps_) apply(step, tokens, bytes * kMaxGrowth + kFreeBytes);
  std::string out;
  for (const std::string& token : tokens) out += token;
  return out;
}

}  // namespace longformer::text
