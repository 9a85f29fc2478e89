// Post-processors: what the reference gave (tools/tokenizer_step_goldens.py), and what is refused.
#include "text/post_processor.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/expect_error.h"

namespace longformer::text {
namespace {

using test::expect_error;

std::vector<Offset> offsets(const Json& json) {
  std::vector<Offset> result;
  for (const Json& span : json) result.push_back({span[0], span[1]});
  return result;
}

// One side of a case: the text as written and its tokens before the post-processor.
struct Side {
  explicit Side(const Json& json) {
    encoding.ids = json["ids"].get<std::vector<int64_t>>();
    encoding.offsets = offsets(json["spans"]);
    encoding.words.resize(encoding.size());
    if (json.contains("words")) {
      words = json["words"].get<std::vector<std::string>>();
      encoding.words = json["word_ids"].get<std::vector<int32_t>>();
    } else {
      text = json["text"].get<std::string>();
    }
    encoding.sequence.resize(encoding.size());
    encoding.type_ids.resize(encoding.size());
    is_split = json.contains("words");
  }
  TextInput input() const {
    return is_split ? TextInput(std::span<const std::string>(words)) : TextInput(text);
  }
  // Added tokens, all of which have brackets here, stand in the text as they were found.
  std::string found_as(size_t i, const std::vector<std::string>& tokens) const {
    const std::string& token = tokens[static_cast<size_t>(encoding.ids[i])];
    if (token.size() < 2 || token.front() != '<' || token.back() != '>') return token;
    const std::string& whole = is_split ? words[static_cast<size_t>(encoding.words[i])] : text;
    const Offset& span = encoding.offsets[i];
    return whole.substr(static_cast<size_t>(span.begin),
                        static_cast<size_t>(span.end - span.begin));
  }
  std::string text;
  std::vector<std::string> words;
  bool is_split = false;
  Encoding encoding;
};

void expect_equal(const Encoding& got, const Json& want) {
  EXPECT_EQ(got.ids, want["ids"].get<std::vector<int64_t>>());
  EXPECT_EQ(got.type_ids, want["types"].get<std::vector<int64_t>>());
  EXPECT_EQ(got.offsets, offsets(want["offsets"]));
  EXPECT_EQ(std::vector<int>(got.sequence.begin(), got.sequence.end()),
            want["sequence"].get<std::vector<int>>());
  ASSERT_EQ(got.words.size(), got.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got.words[i] < 0, got.sequence[i] < 0) << i;
}

TEST(PostProcessor, EqualsTheReference) {
  std::ifstream file(std::string(LONGFORMER_TEST_DATA) + "/text/post_processors.jsonl");
  ASSERT_TRUE(file);
  std::vector<std::string> tokens;
  size_t cases = 0;
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line);
    if (json.contains("tokens")) {
      tokens = json["tokens"].get<std::vector<std::string>>();
      continue;
    }
    const Json& post = json["post_processor"];
    SCOPED_TRACE(post.dump());
    const PostProcessor processor =
        post.is_null() ? PostProcessor() : read_post_processor(post, "file");
    for (const Json& one : json["cases"]) {
      SCOPED_TRACE(one.dump());
      const auto trimmed = [&](const char* key) {
        Side side(one[key]);
        processor.trim(side.encoding, side.input(),
                       [&](size_t i) { return end_spaces(side.found_as(i, tokens)); });
        return side.encoding;
      };
      const Encoding first = trimmed("a");
      const Encoding second = one.contains("b") ? trimmed("b") : Encoding();
      const Encoding* other = one.contains("b") ? &second : nullptr;
      expect_equal(processor.assemble(first, other, true), one["with"]);
      if (one.contains("without")) {
        expect_equal(processor.assemble(first, other, false), one["without"]);
      }
      EXPECT_EQ(processor.special_tokens(other != nullptr),
                static_cast<int64_t>(one["with"]["ids"].size() - first.size() - second.size()));
      ++cases;
    }
  }
  EXPECT_GT(cases, 100u);
}

PostProcessor roberta(bool add_prefix_space) {
  PostProcessor processor;
  processor.post = PostTemplate::roberta(0, 2);
  processor.trim_offsets = true;
  processor.add_prefix_space = add_prefix_space;
  return processor;
}

Encoding encoding(std::vector<Offset> spans) {
  Encoding result;
  result.ids.resize(spans.size());
  for (size_t i = 0; i < spans.size(); ++i) result.ids[i] = static_cast<int64_t>(i);
  result.offsets = std::move(spans);
  result.words.resize(result.size());
  result.sequence.resize(result.size());
  result.type_ids.resize(result.size());
  return result;
}

std::vector<Offset> trimmed(const PostProcessor& processor, const TextInput& text,
                            const std::vector<std::string>& tokens, std::vector<Offset> spans) {
  Encoding side = encoding(std::move(spans));
  processor.trim(side, text, [&](size_t i) { return end_spaces(tokens[i]); });
  return side.offsets;
}

// "a<mask>b" where each segment gets a space: the reference places the last token after its letter.
TEST(PostProcessor, KeepsThePrefixSpaceBug) {
  EXPECT_EQ(trimmed(roberta(true), "a<mask>b", {"Ġa", "<mask>", "Ġb"}, {{0, 1}, {1, 7}, {7, 8}}),
            (std::vector<Offset>{{0, 1}, {1, 7}, {8, 8}}));
}

// The first token of a text that starts with a space: its span starts at the letter only where the
// space was not the tokenizer's own.
TEST(PostProcessor, FirstTokenAfterASpace) {
  const std::vector<Offset> spans = {{0, 2}, {2, 4}};
  EXPECT_EQ(trimmed(roberta(false), " a b", {"Ġa", "Ġb"}, spans),
            (std::vector<Offset>{{1, 2}, {3, 4}}));
  EXPECT_EQ(trimmed(roberta(true), " a b", {"Ġa", "Ġb"}, spans),
            (std::vector<Offset>{{0, 2}, {3, 4}}));
}

// Spans move by characters of the text, whatever their bytes, and stay on their borders.
TEST(PostProcessor, MovesByCharacters) {
  const std::string text = "\u3000\u3000é\u2003\xF0\x9F\x98\x80";
  EXPECT_EQ(trimmed(roberta(false), text, {"<s>", "Ġé\u2003", "ð"}, {{0, 6}, {3, 11}, {11, 15}}),
            (std::vector<Offset>{{0, 6}, {6, 8}, {11, 15}}));
  // Not UTF-8: each bad byte is a character.
  EXPECT_EQ(trimmed(roberta(false),
                    "\xFF\xFE"
                    "a",
                    {"ĠĠ", "Ġa"}, {{0, 1}, {1, 3}}),
            (std::vector<Offset>{{1, 1}, {2, 3}}));
}

// An added token takes the white space that it absorbed out of its span again.
TEST(PostProcessor, AddedTokensAbsorbSpace) {
  EXPECT_EQ(
      trimmed(roberta(false), "a  <mask> b", {"a", "  <mask>", "Ġb"}, {{0, 1}, {1, 9}, {9, 11}}),
      (std::vector<Offset>{{0, 1}, {3, 9}, {10, 11}}));
}

TEST(PostProcessor, SpansOfWords) {
  const std::vector<std::string> words = {" a", "b "};
  Encoding side = encoding({{0, 2}, {0, 2}});
  side.words = {0, 1};
  const std::vector<std::string> tokens = {"Ġa", "ĠbĠ"};
  roberta(true).trim(side, TextInput(std::span<const std::string>(words)),
                     [&](size_t i) { return end_spaces(tokens[i]); });
  EXPECT_EQ(side.offsets, (std::vector<Offset>{{0, 2}, {0, 1}}));
}

TEST(PostProcessor, PairTemplateMustUseBoth) {
  PostProcessor processor = roberta(false);
  processor.post.pair = processor.post.single;
  const Encoding one = encoding({{0, 1}});
  expect_error(ErrorCode::kUnsupported, {"does not use both"},
               [&] { processor.assemble(one, &one, true); });
  EXPECT_EQ(processor.assemble(one, nullptr, true).ids, (std::vector<int64_t>{0, 0, 2}));
}

TEST(PostProcessor, RefusesBrokenFiles) {
  const auto refuses = [](const char* json, ErrorCode code, const std::string& part) {
    SCOPED_TRACE(json);
    expect_error(code, {"file", part}, [&] { read_post_processor(Json::parse(json), "file"); });
  };
  const ErrorCode invalid = ErrorCode::kInvalidFile;
  const ErrorCode unsupported = ErrorCode::kUnsupported;
  refuses(R"({"type":"Foo"})", unsupported, "\"Foo\" is not supported");
  refuses(R"({"type":"RobertaProcessing","sep":["</s>"],"cls":["<s>",0]})", invalid,
          "post_processor.sep must be a token and its id");
  refuses(R"({"type":"RobertaProcessing","trim_offsets":1,"sep":["</s>",2],"cls":["<s>",0]})",
          invalid, "post_processor.trim_offsets must be true or false");
  refuses(R"({"type":"BertProcessing","sep":["</s>",-2],"cls":["<s>",0]})", invalid,
          "whole numbers");
  refuses(R"({"type":"Sequence","processors":[{"type":"ByteLevel"},{"type":"ByteLevel"}]})",
          unsupported, "a second part that trims offsets");
  refuses(R"({"type":"Sequence","processors":[
             {"type":"TemplateProcessing","single":[],"pair":[],"special_tokens":{}},
             {"type":"BertProcessing","sep":["</s>",2],"cls":["<s>",0]}]})",
          unsupported, "a second part that adds special tokens");
  refuses(R"({"type":"Sequence"})", invalid, "post_processor.processors is missing");
  refuses(R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x","type_id":0}}],
             "pair":[],"special_tokens":{}})",
          invalid, "is not among the special_tokens");
}

}  // namespace
}  // namespace longformer::text
