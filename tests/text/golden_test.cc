// What the reference tokenizer gave (tools/tokenizer_goldens.py, tools/bpe_goldens.py): ids, type
// ids, words, offsets in three units, decoded text.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace longformer::text {
namespace {

using Json = nlohmann::json;

Tokenizer load(const Json& line) {
  const auto file = [&](const char* key) -> std::optional<std::string> {
    if (!line["files"].contains(key)) return std::nullopt;
    return line["files"][key].get<std::string>();
  };
  TokenizerFiles files;
  files.tokenizer_json = file("tokenizer_json");
  files.vocab_txt = file("vocab_txt");
  files.vocab_json = file("vocab_json");
  files.merges_txt = file("merges_txt");
  files.tokenizer_config = file("tokenizer_config");
  files.special_tokens_map = file("special_tokens_map");
  files.added_tokens = file("added_tokens");
  files.place = line["name"];
  return Tokenizer::load(files);
}

// A text of a case, or a list of words.
struct Input {
  explicit Input(const Json& json) {
    if (json.is_array()) {
      words = json.get<std::vector<std::string>>();
      split = true;
    } else {
      text = json.get<std::string>();
    }
  }
  TextInput input() const { return split ? TextInput(std::span(words)) : TextInput(text); }
  // What the offsets of a token count in.
  const std::string& around(int32_t word) const {
    return split ? words.at(static_cast<size_t>(word)) : text;
  }

  std::string text;
  std::vector<std::string> words;
  bool split = false;
};

Json in_unit(const Input& a, const Input& b, const Encoding& encoding, OffsetUnit unit) {
  Json result = Json::array();
  for (size_t i = 0; i < encoding.size(); ++i) {
    std::vector<Offset> one = {encoding.offsets[i]};
    if (encoding.sequence[i] >= 0) {
      const Input& side = encoding.sequence[i] == 0 ? a : b;
      convert_offsets(side.around(encoding.words[i]), unit, one);
    }
    result.push_back({one[0].begin, one[0].end});
  }
  return result;
}

void check_encoding(const Tokenizer& tokenizer, const Json& line) {
  EncodeSettings settings;
  settings.add_special_tokens = line.value("special", true);
  const Input a(line["a"]);
  const Input b(line.contains("b") ? line["b"] : Json(""));
  const Encoding encoding = line.contains("b")
                                ? tokenizer.encode_pair(a.input(), b.input(), settings)
                                : tokenizer.encode(a.input(), settings);
  EXPECT_EQ(Json(encoding.ids), line["ids"]);
  EXPECT_EQ(Json(encoding.type_ids), line["types"]);
  ASSERT_EQ(encoding.offsets.size(), encoding.size());
  ASSERT_EQ(encoding.sequence.size(), encoding.size());
  ASSERT_EQ(encoding.words.size(), encoding.size());
  if (line.contains("sequence")) {
    EXPECT_EQ(Json(std::vector<int>(encoding.sequence.begin(), encoding.sequence.end())),
              line["sequence"]);
  }
  if (line.contains("words")) {
    EXPECT_EQ(Json(encoding.words), line["words"]);
  }
  EXPECT_EQ(in_unit(a, b, encoding, OffsetUnit::kByte), line["bytes"]);
  // Left out where they equal the bytes.
  EXPECT_EQ(in_unit(a, b, encoding, OffsetUnit::kCodePoint), line.value("chars", line["bytes"]));
  EXPECT_EQ(in_unit(a, b, encoding, OffsetUnit::kUtf16), line.value("utf16", line["bytes"]));
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, EqualsTheReference) {
  std::ifstream file(std::string(LONGFORMER_TEST_DATA) + "/text/" + GetParam() + ".jsonl");
  ASSERT_TRUE(file);
  std::map<std::string, Tokenizer> tokenizers;
  std::string text;
  size_t cases = 0;
  for (size_t number = 1; std::getline(file, text); ++number) {
    SCOPED_TRACE(std::string(GetParam()) + ".jsonl:" + std::to_string(number));
    const Json line = Json::parse(text);
    if (line.contains("files")) {
      tokenizers.emplace(line["name"], load(line));
      continue;
    }
    const Tokenizer& tokenizer = tokenizers.at(line["use"]);
    ++cases;
    if (line.contains("decode")) {
      const auto ids = line["decode"].get<std::vector<int64_t>>();
      EXPECT_EQ(tokenizer.decode(ids), line["text"].get<std::string>());
      EXPECT_EQ(tokenizer.decode(ids, false), line["text_all"].get<std::string>());
    } else {
      check_encoding(tokenizer, line);
    }
  }
  EXPECT_GT(cases, 40u);
}

INSTANTIATE_TEST_SUITE_P(Files, Golden,
                         testing::Values("uncased", "normalizers", "added_tokens", "decode",
                                         "directories", "bpe", "bpe_options", "pretokenizers",
                                         "trimming", "bpe_directories"),
                         [](const auto& file) { return std::string(file.param); });

}  // namespace
}  // namespace longformer::text
