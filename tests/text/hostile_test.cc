// Broken and hostile tokenizer files: one Error that names the file and the rule, nothing else.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "base/limits.h"
#include "longformer/error.h"
#include "support/expect_error.h"
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
  expect_invalid(with_vocab("7"), "has no vocab");
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
  for (const char* part : {"model", "normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    expect_unsupported(part, "Surprise");
  }
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
  expect_error(files, ErrorCode::kNotFound, "no tokenizer: a model directory needs tokenizer.json");
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

TEST(HostileVocabTxt, BpeFiles) {
  TokenizerFiles files;
  files.place = "model";
  files.vocab_json = "{\"<s>\":0,\"</s>\":1,\"a\":2,\"b\":3,\"ab\":4}";
  expect_error(files, ErrorCode::kNotFound, "no merges.txt");
  std::swap(files.vocab_json, files.merges_txt);
  expect_error(files, ErrorCode::kNotFound, "no vocab.json");
  std::swap(files.vocab_json, files.merges_txt);
  files.merges_txt = "#version: 0.2\na b\n";
  EXPECT_EQ(Tokenizer::load(files).encode("ab").ids, (std::vector<int64_t>{0, 4, 1}));

  const auto expect_merges = [&](const std::string& merges, const std::string& part) {
    files.merges_txt = merges;
    expect_error(files, ErrorCode::kInvalidFile, part);
  };
  expect_merges("#version: 0.2\na b\na c\n", "merge 2 names or makes a token");
  expect_merges("a b\n\nb a\n", "merge 2 must be two tokens");
  expect_merges("a b c\n", "merge 1 must be two tokens");
  expect_merges("a \xFF\n", "merges.txt: not UTF-8 at byte 2");
  expect_merges(std::string(8193, 'a') + " b\n", "merge 1 is longer than 8192 bytes");
  expect_merges(std::string(static_cast<size_t>(kMaxMerges) + 1, '\n'), "more than 4000000 lines");

  files.merges_txt = "a b\n";
  const auto expect_vocab = [&](const std::string& vocab, const std::string& part) {
    files.vocab_json = vocab;
    expect_error(files, ErrorCode::kInvalidFile, part);
  };
  expect_vocab("", "vocab.json: not valid JSON");
  expect_vocab("[]", "must be an object of tokens");
  expect_vocab("7", "must be an object of tokens");
  expect_vocab("{}", "holds no tokens");
  expect_vocab("{\"a\":{}}", "has no whole number");
  expect_vocab("{\"a\":0,\"b\":0}", "two vocabulary entries have the id 0");
  expect_vocab("{\"a\":0,\"b\":1,\"ab\":2000000}", "its id must lie in");
  files.tokenizer_config = "{\"tokenizer_class\":\"CLIPTokenizer\"}";
  files.vocab_json = "{\"a\":0}";
  expect_error(files, ErrorCode::kUnsupported, "CLIPTokenizer");
}

Json bpe_json() {
  Json json = bert_json();
  json["normalizer"] = nullptr;
  json["pre_tokenizer"] = nullptr;
  json["post_processor"] = nullptr;
  json["added_tokens"] = Json::array();
  json["model"] = {{"type", "BPE"},
                   {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}, {"<unk>", 3}}},
                   {"unk_token", "<unk>"},
                   {"merges", {"a b"}}};
  return json;
}

TEST(HostileJson, Bpe) {
  EXPECT_EQ(load_json(bpe_json()).encode("abx").ids, (std::vector<int64_t>{2, 3}));
  const auto expect = [](const std::string& merges, const std::string& part) {
    Json json = bpe_json();
    json["model"]["merges"] = Json::parse(merges);
    expect_invalid(json.dump(), part);
  };
  expect(R"(["a x"])", "merge 1 names or makes a token that the vocabulary lacks");
  expect(R"(["a b","ab b"])", "merge 2 names or makes a token");
  expect(R"(["a b",["a","b"]])", "merge 2 must be a pair of tokens like the others");
  expect(R"([["a","b","c"]])", "merge 1 must be a pair");
  expect(R"([["a",7]])", "merge 1 must be a pair");
  expect(R"([7])", "merge 1 must be a pair");
  expect(R"([[")" + std::string(4097, 'a') + R"(","b"]])", "longer than 4096 bytes");
  expect(R"("a b")", "model.merges must be a list");
  Json json = bpe_json();
  json["model"]["dropout"] = 0.1;
  expect_error(json_files(json.dump()), ErrorCode::kUnsupported, "model.dropout above zero");
  json["model"]["dropout"] = "much";
  expect_invalid(json.dump(), "dropout must be a number");
  json["model"]["dropout"] = 0.0;
  EXPECT_EQ(load_json(json).encode("ab").ids, std::vector<int64_t>{2});
  json["model"]["end_of_word_suffix"] = std::string(100, 'w');
  expect_invalid(json.dump(), "at most 32 bytes");
  json["model"]["unk_token"] = "nowhere";  // as in the reference: a fault only where it is needed
  json["model"]["end_of_word_suffix"] = nullptr;
  EXPECT_EQ(load_json(json).encode("ab").ids, std::vector<int64_t>{2});
  EXPECT_THROW(load_json(json).encode("abx"), Error);
  json["model"]["byte_fallback"] = true;
  json["model"]["end_of_word_suffix"] = "</w>";
  expect_error(json_files(json.dump()), ErrorCode::kUnsupported, "byte_fallback together with");
}

TEST(HostileJson, Unigram) {
  const auto expect = [](const std::string& vocab, const Json& unk_id, const std::string& part) {
    Json json = bpe_json();
    json["model"] = {{"type", "Unigram"}, {"vocab", Json::parse(vocab)}, {"unk_id", unk_id}};
    expect_invalid(json.dump(), part);
  };
  expect(R"([["a",0.5,1]])", nullptr, "must be a list of pieces with their scores");
  expect(R"([[0.5,"a"]])", nullptr, "must be a list of pieces");
  expect(R"({"a":0})", nullptr, "model.vocab");
  expect(R"([[")" + std::string(4097, 'a') + R"(",0]])", nullptr, "a piece longer than 4096");
  expect(R"([["a",0]])", -1, "unk_id must be a whole number");
  expect(R"([["a",0]])", 1, "unknown");
}

// Each step doubles the text.
TEST(HostileJson, PreTokenizerThatGrows) {
  Json json = bpe_json();
  const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}};
  json["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", Json::array()}};
  for (int i = 0; i < 60; ++i) json["pre_tokenizer"]["pretokenizers"].push_back(bytes);
  const Tokenizer tokenizer = load_json(json);
  try {
    tokenizer.encode(std::string(1000, '\x01'));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidFile);
    EXPECT_NE(std::string(error.what()).find("64 times as long"), std::string::npos);
  }
}

// A pattern that backtracks without end gives an answer or an Error, soon.
TEST(HostileJson, PatternThatBacktracks) {
  Json json = bpe_json();
  json["pre_tokenizer"] = {{"type", "Split"},
                           {"pattern", {{"Regex", "(a+)+$"}}},
                           {"behavior", "Isolated"},
                           {"invert", false}};
  const auto start = std::chrono::steady_clock::now();
  try {
    load_json(json).encode(std::string(100'000, 'a') + "b");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidFile) << error.what();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

// Added tokens of white space that absorb all that follows overlap, so that trimming their spans
// takes the square of a long run's length.
TEST(HostileJson, OverlappingAddedTokensOfSpaceAreTrimmedSoon) {
  Json json = bpe_json();
  json["post_processor"] = {{"type", "ByteLevel"},
                            {"trim_offsets", true},
                            {"add_prefix_space", false},
                            {"use_regex", true}};
  json["added_tokens"].push_back({{"id", json["model"]["vocab"].size()},
                                  {"content", " "},
                                  {"single_word", false},
                                  {"lstrip", false},
                                  {"rstrip", true},
                                  {"normalized", false},
                                  {"special", false}});
  const auto start = std::chrono::steady_clock::now();
  const Tokenizer tokenizer = load_json(json);
  EXPECT_EQ(tokenizer.encode(std::string(100, ' ')).size(), 100u);
  test::expect_error(ErrorCode::kInvalidFile, {"absorb the same white space too often"},
                     [&] { tokenizer.encode(std::string(300'000, ' ')); });
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

// Tokens of thousands of bytes that nearly match everywhere: a walk for each byte of the text would
// take 4096 steps.
TEST(HostileJson, LongTokensTakeLinearTime) {
  const std::string run(4095, 'a');
  const auto start = std::chrono::steady_clock::now();
  Json json = bert_json();
  json["model"]["max_input_chars_per_word"] = 100'000'000;
  json["model"]["vocab"]["##" + std::string(4000, 'a') + "b"] = 21;
  const std::string text(4'000'000, 'a');
  EXPECT_EQ(load_json(json).encode(text).size(), text.size() + 2);
  json = bert_json();
  json["added_tokens"].push_back({{"id", 21},
                                  {"content", run + "b"},
                                  {"single_word", false},
                                  {"lstrip", false},
                                  {"rstrip", false},
                                  {"normalized", false},
                                  {"special", false}});
  EXPECT_EQ(load_json(json).encode(text).ids, (std::vector<int64_t>{2, 1, 3}));
  EXPECT_EQ(load_json(json).encode("the " + run + run + "b").ids,
            (std::vector<int64_t>{2, 8, 1, 21, 3}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
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
