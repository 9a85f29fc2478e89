#include "text/post_processor.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "longformer/error.h"
#include "text/unicode/unicode_tables.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

using Kind = TemplatePiece::Kind;

constexpr size_t kMaxTemplatePieces = 256;  // a template of a model has about ten
constexpr char32_t kByteSpace = 0x120;      // U+0020 in the alphabet of byte-level tokens

bool is_space(char32_t c) { return c == kByteSpace || (unicode::flags(c) & unicode::kSpace) != 0; }

size_t leading_spaces(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size() && is_space(utf8::next(text, at));) ++count;
  return count;
}

size_t trailing_spaces(std::string_view text) {
  size_t count = 0;
  for (size_t end = text.size(); end > 0;) {
    size_t at = utf8::previous(text, end);
    end = at;
    if (!is_space(utf8::next(text, at))) break;
    ++count;
  }
  return count;
}

// Characters of text[begin, end), at most `limit`; moves `begin` behind them.
size_t skip(std::string_view text, size_t& begin, size_t end, size_t limit) {
  size_t count = 0;
  while (begin < end && count < limit) {
    begin += utf8::step(text, begin).length;
    ++count;
  }
  begin = std::min(begin, end);
  return count;
}

// The rules of the reference, in characters of the text.
void trim_span(std::string_view text, size_t leading, size_t trailing, Offset& span) {
  auto begin = static_cast<size_t>(span.begin);
  auto end = static_cast<size_t>(span.end);
  skip(text, begin, end, leading);
  if (trailing > 0) {
    size_t at = begin;
    const size_t characters = skip(text, at, end, SIZE_MAX);
    if (trailing <= characters) {
      at = begin;
      skip(text, at, end, characters - trailing);
      end = at;
    } else {
      // More spaces than the span has characters: nothing is left of it, unless even the text
      // before it has fewer.
      at = 0;
      const size_t missing = trailing - characters;
      if (skip(text, at, begin, missing) == missing) end = begin;
    }
  }
  span = {static_cast<int64_t>(begin), static_cast<int64_t>(end)};
}

// An id or type id of a template.
int64_t template_number(const Json& json, const std::string& name, const std::string& place) {
  if (!json.is_number_unsigned()) {
    throw Error(ErrorCode::kInvalidFile, name + " must be whole numbers, zero or more", place);
  }
  const auto number = std::min<uint64_t>(json.get<uint64_t>(), INT32_MAX);
  return checked_id(static_cast<int64_t>(number), name, place);
}

TemplatePiece read_template_piece(const JsonObject& part, const Json& specials) {
  const std::string& place = part.place();
  TemplatePiece piece;
  const bool is_text = part.find("Sequence") != nullptr;
  const char* kind = is_text ? "Sequence" : "SpecialToken";
  const JsonObject inner(part.object(kind), part.member(kind), place);
  const std::string id = inner.string("id");
  piece.type_id = template_number(Json(inner.natural("type_id")), inner.member("type_id"), place);
  if (is_text) {
    if (id != "A" && id != "B") inner.fail("id", "must be A or B");
    piece.kind = id == "A" ? Kind::kFirst : Kind::kSecond;
    return piece;
  }
  piece.kind = Kind::kSpecial;
  const auto known = specials.find(id);
  if (known == specials.end()) inner.fail("id", "is not among the special_tokens");
  const JsonObject entry(*known, "post_processor.special_tokens", place);
  if (entry.array("ids").size() > kMaxTemplatePieces) {
    entry.fail("ids", "holds more than " + std::to_string(kMaxTemplatePieces) + " ids");
  }
  for (const Json& number : entry.array("ids")) {
    piece.ids.push_back(template_number(number, entry.member("ids"), place));
  }
  return piece;
}

std::vector<TemplatePiece> read_template(const JsonObject& part, const char* key) {
  std::vector<TemplatePiece> pieces;
  size_t ids = 0;
  for (const Json& piece : part.array(key)) {
    if (pieces.size() >= kMaxTemplatePieces || ids > kMaxTemplatePieces) {
      part.fail(key, "holds more than " + std::to_string(kMaxTemplatePieces) + " pieces or ids");
    }
    pieces.push_back(read_template_piece(JsonObject(piece, part.member(key), part.place()),
                                         part.object("special_tokens")));
    ids += pieces.back().ids.size();
  }
  return pieces;
}

int64_t read_named_id(const JsonObject& part, const char* key) {
  const Json& token = part.array(key);
  if (token.size() != 2 || !token[0].is_string()) part.fail(key, "must be a token and its id");
  return template_number(token[1], part.member(key), part.place());
}

// Fills a PostProcessor from one processor after another.
class Reader {
 public:
  void read(const Json& json, const std::string& name, const std::string& place) {
    const JsonObject part(json, name, place);
    const std::string type = part.type();
    if (type == "Sequence") {  // nested at most as deep as parse_json() allows
      for (const Json& inner : part.array("processors")) {
        read(inner, part.member("processors"), place);
      }
    } else if (type == "TemplateProcessing") {
      set(part, {read_template(part, "single"), read_template(part, "pair")});
    } else if (type == "BertProcessing") {
      set(part, PostTemplate::bert(read_named_id(part, "cls"), read_named_id(part, "sep")));
    } else if (type == "RobertaProcessing") {
      read_trimming(part);
      set(part, PostTemplate::roberta(read_named_id(part, "cls"), read_named_id(part, "sep")));
    } else if (type == "ByteLevel") {
      read_trimming(part);
    } else {
      throw Error(ErrorCode::kUnsupported,
                  name + " of type \"" + printable(type) +
                      "\" is not supported by this version, which has TemplateProcessing, "
                      "BertProcessing, RobertaProcessing, ByteLevel and Sequence",
                  place);
    }
  }

  PostProcessor take() { return std::move(result_); }

 private:
  static void refuse_second(const JsonObject& part, const std::string& what) {
    throw Error(ErrorCode::kUnsupported,
                part.name() + ": a second part that " + what + " is not supported by this version",
                part.place());
  }

  void set(const JsonObject& part, PostTemplate post) {
    if (has_template_) refuse_second(part, "adds special tokens");
    has_template_ = true;
    result_.post = std::move(post);
  }

  void read_trimming(const JsonObject& part) {
    if (!part.boolean("trim_offsets", true)) return;
    if (result_.trim_offsets) refuse_second(part, "trims offsets");
    result_.trim_offsets = true;
    result_.add_prefix_space = part.boolean("add_prefix_space", true);
  }

  PostProcessor result_;
  bool has_template_ = false;
};

void append_side(const Encoding& side, int8_t sequence, int64_t type_id, Encoding& out) {
  const size_t size = out.size() + side.size();
  out.ids.insert(out.ids.end(), side.ids.begin(), side.ids.end());
  out.offsets.insert(out.offsets.end(), side.offsets.begin(), side.offsets.end());
  out.words.insert(out.words.end(), side.words.begin(), side.words.end());
  out.sequence.resize(size, sequence);
  out.type_ids.resize(size, type_id);
}

void append_special(const TemplatePiece& piece, Encoding& out) {
  out.ids.insert(out.ids.end(), piece.ids.begin(), piece.ids.end());
  out.offsets.resize(out.size());
  out.words.resize(out.size(), -1);
  out.sequence.resize(out.size(), -1);
  out.type_ids.resize(out.size(), piece.type_id);
}

}  // namespace

EndSpaces end_spaces(std::string_view token) {
  return {leading_spaces(token), trailing_spaces(token)};
}

int64_t PostProcessor::special_tokens(bool pair) const {
  int64_t count = 0;
  for (const TemplatePiece& piece : pair ? post.pair : post.single) {
    count += static_cast<int64_t>(piece.ids.size());
  }
  return count;
}

void PostProcessor::trim(Encoding& side, const TextInput& text,
                         const std::function<EndSpaces(size_t index)>& spaces_of) const {
  if (!trim_offsets) return;
  for (size_t i = 0; i < side.size(); ++i) {
    const std::string_view whole =
        text.is_split ? std::string_view(text.words[static_cast<size_t>(side.words[i])])
                      : text.text;
    Offset& span = side.offsets[i];
    auto [leading, trailing] = spaces_of(i);
    const bool is_first = i == 0 || span.begin == 0;
    if (leading == 1 && is_first && add_prefix_space) leading = 0;
    if (leading > 0 || trailing > 0) trim_span(whole, leading, trailing, span);
  }
}

Encoding PostProcessor::assemble(const Encoding& first, const Encoding* second,
                                 bool add_special_tokens) const {
  if (second != nullptr && !post.takes_pairs()) {
    throw Error(ErrorCode::kUnsupported,
                "the template of this tokenizer for two texts does not use both");
  }
  Encoding out;
  for (const TemplatePiece& piece : second == nullptr ? post.single : post.pair) {
    if (piece.kind == Kind::kFirst) {
      append_side(first, 0, piece.type_id, out);
    } else if (piece.kind == Kind::kSecond && second != nullptr) {
      append_side(*second, 1, piece.type_id, out);
    } else if (piece.kind == Kind::kSpecial && add_special_tokens) {
      append_special(piece, out);
    }
  }
  return out;
}

PostProcessor read_post_processor(const Json& json, const std::string& place) {
  Reader reader;
  reader.read(json, "post_processor", place);
  return reader.take();
}

}  // namespace longformer::text
