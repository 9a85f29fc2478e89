// Broken and hostile tokenizer files: one Error that names the file and the rule, nothing else.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/limits.h"
#include "longformer/error.h"
#include "test_vocabulary.h"

namespace longformer::text {
namespace {

using Json = nlohmann::json;

void expect_error(const TokenizerFiles& files, ErrorCode code, const std::string& part) {
  try {
    Tokenizer::load(files);
    FAIL() << "loaded; expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("model"), std::string::npos) << error.what();
  }
}

void expect_invalid(const std::string& text, const std::string& part) {
  expect_error(json_files(text), ErrorCode::kInvalidFile, part);
}

// Loads the good file after a change.
void expect_changed(const std::function<void(Json&)>& change, ErrorCode code,
                    const std::string& part) {
  Json json = bert_json();
  change(json);
  expect_error(json_files(json.dump()), code, part);
}

void expect_invalid_change(const std::function<void(Json&)>& change, const std::string& part) {
  expect_changed(change, ErrorCode::kInvalidFile, part);
}

std::string with_vocab(const std::string& vocab) {
  Json json = bert_json();
  json["model"]["vocab"] = "HERE";
  std::string text = json.dump();
  text.replace(text.find("\"HERE\""), 6, vocab);
  return text;
}

TEST(HostileJson, NotJson) {
  expect_invalid("", "not valid JSON");
  expect_invalid("{", "not valid JSON at byte");
  expect_invalid("{} x", "not valid JSON at byte");
  expect_invalid("[]", "must be an object");
  expect_invalid("{\"a\":\"\xFF\"}", "not valid JSON at byte");
  expect_invalid("{\"a\":\"\\ud800\"}", "not valid JSON at byte");
  expect_invalid("{\"a\":1e400}", "not valid JSON at byte");
  expect_invalid("{}", "model is missing");
}

TEST(HostileJson, DepthAndDuplicates) {
  expect_invalid("{\"a\":" + std::string(100'000, '['), "nested deeper than 64");
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += "{\"a\":";
  expect_invalid(nested, "nested deeper than 64");
  expect_invalid("{\"model\":{},\"model\":{}}", "occurs twice");
}

TEST(HostileJson, SizeLimit) {
  expect_invalid(std::string(kMaxTokenizerBytes + 1, ' '), "larger than the limit");
}

TEST(HostileJson, VocabularyIds) {
  expect_invalid(with_vocab("{\"[UNK]\":0,\"a\":-1}"), "its id must lie in 0..1999999");
  expect_invalid(with_vocab("{\"[UNK]\":0,\"a\":2000000}"), "its id must lie in");
  expect_invalid(with_vocab("{\"[UNK]\":0,\"a\":2147483648}"),
                 "vocabulary entry 2: its id must lie in");
  expect_invalid(with_vocab("{\"[UNK]\":0,\"a\":18446744073709551615}"), "its id must lie in");
  expect_invalid(with_vocab("{\"[UNK]\":0,\"a\":1.5}"), "vocabulary entry 2 has no whole number");
  expect_invalid(with_vocab("{\"[UNK]\":0,\"a\":\"1\"}"), "has no whole number");
  expect_invalid(with_vocab("{\"[UNK]\":0,\"a\":null}"), "has no whole number");
  expect_invalid(with_vocab("{\"[UNK]\":0,\"a\":{\"b\":1}}"), "has no whole number");
  expect_invalid(with_vocab("{\"[UNK]\":0,\"a\":[1]}"), "has no whole number");
  expect_invalid(with_vocab("{\"[UNK]\":0,\"a\":1,\"b\":1}"),
                 "two vocabulary entries have the id 1");
  expect_invalid(with_vocab("{\"[UNK]\":0,\"a\":1,\"a\":2}"), "the same token twice");
  expect_invalid(with_vocab("{}"), "has no vocab");
  expect_invalid(with_vocab("[[\"a\",0.5]]"), "has no vocab");
  expect_invalid(with_vocab("{\"" + std::string(4097, 'a') + "\":0}"), "longer than 4096 bytes");
}

TEST(HostileJson, VocabularyTooLarge) {
  std::string vocab = "{";
  for (int64_t i = 0; i <= kMaxVocabulary; ++i)
    vocab += "\"\":0,";  // refused before it is compared
  expect_invalid(with_vocab(vocab + "\"a\":1}"), "more than 2000000 vocabulary entries");
}

TEST(HostileJson, Model) {
  expect_invalid_change([](Json& j) { j["model"]["unk_token"] = "nowhere"; }, "unknown token");
  expect_invalid_change([](Json& j) { j["model"]["unk_token"] = 7; },
                        "model.unk_token must be a string");
  expect_invalid_change([](Json& j) { j["model"].erase("unk_token"); },
                        "model.unk_token is missing");
  expect_invalid_change([](Json& j) { j["model"].erase("continuing_subword_prefix"); },
                        "continuing_subword_prefix is missing");
  expect_invalid_change([](Json& j) { j["model"]["max_input_chars_per_word"] = -1; },
                        "max_input_chars_per_word must be a whole number");
  expect_invalid_change([](Json& j) { j["model"] = "WordPiece"; }, "model must be an object");
}

TEST(HostileJson, AddedTokens) {
  const auto first = [](Json& j) -> Json& { return j["added_tokens"][0]; };
  expect_invalid_change([&](Json& j) { first(j)["content"] = 1; }, "content must be a string");
  expect_invalid_change([&](Json& j) { first(j)["content"] = std::string(5000, 'x'); },
                        "longer than 4096");
  expect_invalid_change([&](Json& j) { first(j)["id"] = -4; }, "id must be a whole number");
  expect_invalid_change([&](Json& j) { first(j)["id"] = 3'000'000'000u; }, "its id must lie in");
  expect_invalid_change([&](Json& j) { first(j).erase("lstrip"); }, "lstrip is missing");
  expect_invalid_change([](Json& j) { j["added_tokens"] = 5; }, "added_tokens must be a list");
  // Empty once its accent is stripped: it would match between all characters.
  expect_invalid_change(
      [&](Json& j) {
        first(j)["content"] = "\u0301";
        first(j)["normalized"] = true;
      },
      "empty after normalisation");
  // The vocabulary leaves a gap, so the next free id by count is one that is in use.
  expect_invalid_change(
      [&](Json& j) {
        j["model"]["vocab"]["x"] = 21;
        first(j)["content"] = "<p>";
        j["model"]["vocab"]["y"] = 22;
      },
      "which is taken");
}

TEST(HostileJson, Template) {
  const auto set = [](const char* single, const char* pair, const char* specials) {
    return [=](Json& j) {
      j["post_processor"] = {{"type", "TemplateProcessing"},
                             {"single", Json::parse(single)},
                             {"pair", Json::parse(pair)},
                             {"special_tokens", Json::parse(specials)}};
    };
  };
  const char* a = R"([{"Sequence":{"id":"A","type_id":0}}])";
  const char* b = R"([{"Sequence":{"id":"B","type_id":0}}])";
  const char* aa = R"([{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"A","type_id":0}}])";
  const char* cls =
      R"([{"SpecialToken":{"id":"C","type_id":0}},{"Sequence":{"id":"A","type_id":0}}])";
  expect_invalid_change(set(b, a, "{}"), "must use A and not B");
  expect_invalid_change(set("[]", a, "{}"), "must use A and not B");
  expect_changed(set(aa, a, "{}"), ErrorCode::kUnsupported, "repeats a text");
  expect_invalid_change(set(cls, a, "{}"), "is not among the special_tokens");
  expect_invalid_change(set(cls, a, R"({"C":{"ids":[21]}})"), "the id 21");
  expect_invalid_change(set(cls, a, R"({"C":{"ids":[-1]}})"), "must be whole numbers");
  expect_invalid_change(set(cls, a, R"({"C":{}})"), "ids is missing");
  expect_invalid_change(set(R"([{"Sequence":{"id":"Z","type_id":0}}])", a, "{}"), "must be A or B");
  expect_invalid_change([](Json& j) { j["post_processor"]["cls"] = {"[CLS]"}; },
                        "must be a token and its id");
  expect_invalid_change(
      [](Json& j) {
        j["post_processor"]["cls"] = {"[CLS]", 4000};
      },
      "the id 4000");
  // A pair template without B is refused when a pair comes, not silently cut.
  Json json = bert_json();
  set(a, a, "{}")(json);
  const Tokenizer tokenizer = load_json(json);
  EXPECT_EQ(tokenizer.encode("cat").ids, std::vector<int64_t>{9});
  EXPECT_THROW(tokenizer.encode_pair("cat", "the"), Error);
}

TEST(HostileJson, UnsupportedTypesAreNamed) {
  const auto expect_unsupported = [](const char* part, const char* type) {
    expect_changed(
        [=](Json& j) {
          j[part] = {{"type", type}};
        },
        ErrorCode::kUnsupported, std::string(part) + " of type \"" + type + "\"");
  };
  expect_unsupported("model", "BPE");
  expect_unsupported("model", "Unigram");
  expect_unsupported("normalizer", "NFKC");
  expect_unsupported("pre_tokenizer", "ByteLevel");
  expect_unsupported("post_processor", "RobertaProcessing");
  expect_unsupported("decoder", "ByteLevel");
  expect_changed([](Json& j) { j["version"] = "2.0"; }, ErrorCode::kUnsupported, "version \"2.0\"");
  expect_changed([](Json& j) { j["model"]["type"] = "evil\x1b[2J" + std::string(200, 'x'); },
                 ErrorCode::kUnsupported, "\"evil?[2Jxxx");
  expect_invalid_change([](Json& j) { j["normalizer"] = {{"type", 3}}; }, "type must be a string");
  expect_invalid_change([](Json& j) { j["normalizer"]["lowercase"] = "yes"; },
                        "must be true or false");
}

TEST(HostileVocabTxt, Cases) {
  TokenizerFiles files;
  files.place = "model";
  expect_error(files, ErrorCode::kNotFound, "no tokenizer.json and no vocab.txt");
  files.vocab_txt = "";
  expect_error(files, ErrorCode::kInvalidFile, "unknown token");
  files.vocab_txt = "[UNK]\n\xC3(\n";
  expect_error(files, ErrorCode::kInvalidFile, "not UTF-8 at byte 6");
  files.vocab_txt = "[UNK]\n" + std::string(4097, 'a');
  expect_error(files, ErrorCode::kInvalidFile, "line 2 is longer than 4096");
  files.vocab_txt = std::string(static_cast<size_t>(kMaxVocabulary) + 1, '\n');
  expect_error(files, ErrorCode::kInvalidFile, "more than 2000000 lines");

  files.vocab_txt = "[UNK]\n[CLS]\n[SEP]\n[PAD]\n[MASK]\na\n";
  files.tokenizer_config = "{\"do_lower_case\":1}";
  expect_error(files, ErrorCode::kInvalidFile, "do_lower_case must be true or false");
  files.tokenizer_config = "{\"tokenizer_class\":\"MPNetTokenizer\"}";
  expect_error(files, ErrorCode::kUnsupported, "MPNetTokenizer");
  files.tokenizer_config = "{\"added_tokens_decoder\":{\"x\":{\"content\":\"a\"}}}";
  expect_error(files, ErrorCode::kInvalidFile, "whole numbers as its keys");
  files.tokenizer_config =
      "{\"added_tokens_decoder\":{\"99999999999999999999\":{\"content\":\"a\"}}}";
  expect_error(files, ErrorCode::kInvalidFile, "whole numbers as its keys");
  files.tokenizer_config.reset();
  files.added_tokens = "{\"a\":-1}";
  expect_error(files, ErrorCode::kInvalidFile, "must be whole numbers");
  files.added_tokens = "{\"a\":5";
  expect_error(files, ErrorCode::kInvalidFile, "added_tokens.json: not valid JSON");
  files.added_tokens.reset();
  files.special_tokens_map = "{\"cls_token\":7}";
  expect_error(files, ErrorCode::kInvalidFile, "cls_token must be an object");
}

// Every prefix and many single-byte changes of a good file load or give an Error; whatever loads
// can be used.
TEST(HostileJson, TruncatedAndChangedFiles) {
  const std::string good = bert_json().dump();
  for (size_t n = 0; n < good.size(); n += 7) {
    EXPECT_THROW(Tokenizer::load(json_files(good.substr(0, n))), Error);
  }
  size_t loaded = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = "0\"}{[,:-x\xFF"[i % 10];
    try {
      const Tokenizer tokenizer = Tokenizer::load(json_files(bad));
      const Encoding encoding = tokenizer.encode("the unaffable café [MASK]");
      for (const int64_t id : encoding.ids) EXPECT_LT(id, tokenizer.vocabulary_size());
      ++loaded;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(loaded, 0u);
}

}  // namespace
}  // namespace longformer::text
