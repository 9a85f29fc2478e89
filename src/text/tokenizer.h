// Text to ids and back, as the fast tokenizer library computes it, offsets included.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longformer::text {

// Contents of the tokenizer files of a model directory (files are read by io). tokenizer_json wins
// where present.
struct TokenizerFiles {
  std::optional<std::string> tokenizer_json;
  std::optional<std::string> vocab_txt;   // WordPiece
  std::optional<std::string> vocab_json;  // byte-level BPE, with merges_txt
  std::optional<std::string> merges_txt;
  std::optional<std::string>
      sentencepiece;  // spiece.model, sentencepiece.bpe.model, tokenizer.model
  std::optional<std::string> tokenizer_config;    // tokenizer_config.json
  std::optional<std::string> special_tokens_map;  // special_tokens_map.json
  std::optional<std::string> added_tokens;        // added_tokens.json
  // "model_type" of config.json, which tells the tokenizer's class where no other file does.
  std::string model_type;
  std::string place;  // directory, for messages
};

struct Offset {
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const Offset&) const = default;
};

struct Encoding {
  std::vector<int64_t> ids;
  std::vector<int64_t> type_ids;
  // Bytes of the original text, half-open; (0, 0) for special tokens of the template.
  std::vector<Offset> offsets;
  std::vector<int8_t> sequence;  // 0: first text, 1: second, -1: added by the template
  // Which word of its text a token belongs to: the index in a list of words, else the number of the
  // piece that the pre-tokeniser cut; -1 for special tokens of the template.
  std::vector<int32_t> words;
  size_t size() const { return ids.size(); }
};

// A text, or a text that is already split into words. Offsets of a list count inside each word.
struct TextInput {
  std::string_view text;
  std::span<const std::string> words;
  bool is_split = false;
  TextInput(std::string_view value) : text(value) {}    // NOLINT(google-explicit-constructor)
  TextInput(const std::string& value) : text(value) {}  // NOLINT(google-explicit-constructor)
  TextInput(const char* value) : text(value) {}         // NOLINT(google-explicit-constructor)
  explicit TextInput(std::span<const std::string> list) : words(list), is_split(true) {}
};

enum class Truncation { kLongestFirst, kOnlyFirst, kOnlySecond };
enum class Side { kRight, kLeft };  // the end that is cut off
struct TruncationSettings {
  int64_t max_length = 0;  // special tokens included
  int64_t stride = 0;      // tokens that neighbouring windows share
  Truncation strategy = Truncation::kLongestFirst;
  Side side = Side::kRight;
};

struct EncodeSettings {
  bool add_special_tokens = true;
};

class Tokenizer {
 public:
  // Throws kInvalidFile (file and rule) for broken files, kUnsupported naming a component type that
  // this version lacks.
  static Tokenizer load(const TokenizerFiles& files);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Invalid UTF-8 is replaced by U+FFFD, one for each maximal bad subsequence; offsets stay those
  // of the original bytes. Never truncates or pads. Thread-safe.
  Encoding encode(const TextInput& text, const EncodeSettings& settings = {}) const;
  Encoding encode_pair(const TextInput& first, const TextInput& second,
                       const EncodeSettings& settings = {}) const;
  // One text (second absent) or a pair, cut to windows: the first is the truncated text, the others
  // hold what was cut off. Throws kInvalidArgument where the settings cannot be met (a stride that
  // is not below the window, a side that would vanish, room for no token).
  std::vector<Encoding> encode_windows(const TextInput& first,
                                       const std::optional<TextInput>& second,
                                       const EncodeSettings& settings,
                                       const TruncationSettings& truncation) const;
  // Wraps ids without special tokens in the model's template: what encode() would add around one
  // text.
  std::vector<int64_t> special_prefix() const;  // e.g. {101}
  std::vector<int64_t> special_suffix() const;  // e.g. {102}

  // What stands for text that the vocabulary cannot spell; none where it can spell every byte.
  std::optional<int64_t> unknown_id() const;
  int64_t vocabulary_size() const;  // largest id + 1, added tokens included
  std::optional<int64_t> id(std::string_view token) const;
  bool has_token(int64_t id) const;            // ids may have gaps
  bool is_special(int64_t id) const;           // left out by decode(skip_special_tokens)
  const std::string& token(int64_t id) const;  // throws kInvalidArgument outside the vocabulary
  std::string decode(const std::vector<int64_t>& ids, bool skip_special_tokens = true) const;
  // What the decoder makes of any strings, as the reference's convert_tokens_to_string.
  std::string decode_tokens(std::vector<std::string> tokens) const;
  // Whether tokens that go on with a word begin with a prefix ("##").
  bool marks_continuations() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

// Converts byte offsets of `text` to another unit, in place. Offsets must lie on character borders
// and need no order.
enum class OffsetUnit { kByte, kCodePoint, kUtf16 };
void convert_offsets(std::string_view text, OffsetUnit unit, std::vector<Offset>& offsets);

}  // namespace longformer::text
