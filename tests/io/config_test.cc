#include "io/config.h"

#include <limits>

#include "io/files.h"
#include "io/testing.h"

namespace longformer::io {
namespace {

Config parse(const std::string& text) { return Config::parse(text, "config.json"); }

void expect_refused(const std::string& text, std::vector<std::string> parts) {
  parts.emplace_back("config.json");
  expect_error(ErrorCode::kInvalidFile, parts, [&] { parse(text); });
}

TEST(Config, ReadsEachType) {
  const Config config = parse(
      R"({"hidden_size": 768, "whole": 512.0, "eps": 1e-05, "eps2": 1e-5, "flag": true, "none": null,
          "name": "é", "window": [512, 256.0], "one": 64, "architectures": ["A", "B"], "neg": -3})");
  EXPECT_EQ(config.integer("hidden_size", 1, 1, 1000), 768);
  EXPECT_EQ(config.integer("whole", 1, 1, 1000), 512);
  EXPECT_EQ(config.integer("neg", 1, -5, 0), -3);
  EXPECT_EQ(config.number("eps", 0, 0, 1), 1e-5);
  EXPECT_EQ(config.number("eps2", 0, 0, 1), 1e-5);
  EXPECT_EQ(config.number("hidden_size", 0, 0, 1e9), 768.0);
  EXPECT_TRUE(config.boolean("flag", false));
  EXPECT_EQ(config.string("name", ""), "é");
  EXPECT_EQ(config.integers("window", 1, 512), (std::vector<int64_t>{512, 256}));
  EXPECT_EQ(config.integers("one", 1, 512), std::vector<int64_t>{64});
  EXPECT_EQ(config.strings("architectures"), (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(config.place(), "config.json");
}

TEST(Config, AbsentAndNullFieldsHaveTheCallersDefault) {
  const Config config = parse(R"({"none": null})");
  for (const char* const key : {"none", "absent", ""}) {
    EXPECT_FALSE(config.has(key));
    EXPECT_EQ(config.integer(key, 7, 0, 1), 7);  // the default need not lie in the range
    EXPECT_EQ(config.number(key, 0.5, 0, 1), 0.5);
    EXPECT_TRUE(config.boolean(key, true));
    EXPECT_EQ(config.string(key, "x"), "x");
    EXPECT_TRUE(config.integers(key, 0, 1).empty());
    EXPECT_TRUE(config.strings(key).empty());
  }
}

TEST(Config, RefusesOtherTypesAndRanges) {
  const Config config = parse(
      R"({"f": 1.5, "s": "12", "b": true, "l": [1, "2"], "big": 18446744073709551615, "huge": 1e300,
          "o": {"k": 1}, "t": ["a", 1], "n": [null]})");
  const auto integer = [&](const char* key, std::vector<std::string> parts) {
    parts.emplace_back(key);
    parts.emplace_back("from 1 to 10");
    expect_error(ErrorCode::kInvalidFile, parts, [&] { config.integer(key, 1, 1, 10); });
  };
  integer("f", {"1.5"});
  integer("s", {"\"12\""});
  integer("b", {"true"});
  integer("l", {"a list of 2"});
  integer("big", {"18446744073709551615"});
  integer("huge", {"1e+300"});
  integer("o", {"an object"});
  expect_error(ErrorCode::kInvalidFile, {"l[1]"}, [&] { config.integers("l", 0, 10); });
  expect_error(ErrorCode::kInvalidFile, {"n[0]"}, [&] { config.integers("n", 0, 10); });
  expect_error(ErrorCode::kInvalidFile, {"\"s\""}, [&] { config.integers("s", 0, 10); });
  expect_error(ErrorCode::kInvalidFile, {"t[1]", "a string"}, [&] { config.strings("t"); });
  expect_error(ErrorCode::kInvalidFile, {"list of strings"}, [&] { config.strings("f"); });
  expect_error(ErrorCode::kInvalidFile, {"\"f\"", "from 0 to 1"},
               [&] { config.number("f", 0, 0, 1); });
  expect_error(ErrorCode::kInvalidFile, {"\"s\""}, [&] { config.number("s", 0, 0, 1e9); });
  expect_error(ErrorCode::kInvalidFile, {"true or false"}, [&] { config.boolean("f", false); });
  expect_error(ErrorCode::kInvalidFile, {"a string"}, [&] { config.string("f", ""); });
}

TEST(Config, ShowsLongValuesShort) {
  const Config config = parse("{\"s\": \"" + std::string(100'000, 'x') + "\"}");
  expect_error(ErrorCode::kInvalidFile, {"xxx\"..."}, [&] { config.integer("s", 1, 0, 9); });
}

TEST(Config, RefusesBrokenDocumentsWithTheOffset) {
  expect_refused("", {"byte"});
  expect_refused("{\"a\": }", {"byte 6", "not valid JSON"});
  expect_refused("{\"a\": NaN}", {"byte 6", "invalid literal"});
  expect_refused("{\"a\": Infinity}", {"byte"});
  expect_refused("{\"a\": -Infinity}", {"byte"});
  expect_refused("{\"a\": 1e999}", {"too large"});
  expect_refused("{\"a\": \"\xC3\x28\"}", {"UTF-8"});
  expect_refused("{} {}", {"byte 3"});
  expect_refused(std::string("{}\0{", 4), {"byte 2", "NUL"});
  expect_refused("[1]", {"a list of 1", "JSON object is needed"});
  expect_refused("3", {"JSON object is needed"});
  expect_refused("{\"a\": " + std::string(100'000, '['), {"deeper than 64", "byte 69"});
  expect_refused("{\"a\": \"" + std::string(10'000, 's'), {"not valid JSON"});
  EXPECT_NO_THROW(parse("{\"a\": " + std::string(63, '[') + std::string(63, ']') + "}"));
  EXPECT_NO_THROW(parse("{\"a\": \"" + std::string(1000, '[') + "\\\"[[\"}"));  // inside a string
}

TEST(Config, LastDuplicateWinsAtItsFirstPlace) {
  const Config config = parse(R"({"a": {"x": [1]}, "b": 2, "a": 3})");
  EXPECT_EQ(config.integer("a", 0, 0, 9), 3);
  EXPECT_EQ(config.dump(), "{\n  \"a\": 3,\n  \"b\": 2\n}\n");
}

TEST(Config, ManyKeysAreNotQuadratic) {
  std::string text = "{\"id2label\": {";
  for (int i = 0; i < 100'000; ++i) text += (i ? ",\"" : "\"") + std::to_string(i) + "\":0";
  const Config config = parse(text + "}, \"x\": 1}");
  EXPECT_EQ(config.integer("x", 0, 0, 1), 1);
}

TEST(Config, SetsAndDumpsInOrder) {
  Config config = parse(R"({"z": 1, "keep": {"b": [1.5, 1e-05, "é"], "a": null}, "y": 2})");
  config.set("y", int64_t{20});
  config.set("new", "text");
  config.set("list", std::vector<int64_t>{1, 2});
  config.set("names", std::vector<std::string>{"LongformerModel"});
  config.set_null("gone");
  config.erase("z");
  config.erase("never there");
  EXPECT_EQ(config.dump(), R"({
  "keep": {
    "b": [
      1.5,
      1e-05,
      "é"
    ],
    "a": null
  },
  "y": 20,
  "new": "text",
  "list": [
    1,
    2
  ],
  "names": [
    "LongformerModel"
  ],
  "gone": null
}
)");
}

TEST(Config, CopiesAndMovesAreIndependent) {
  Config first = parse(R"({"a": 1})");
  Config copy = first;
  copy.set("a", int64_t{2});
  EXPECT_EQ(first.integer("a", 0, 0, 9), 1);
  const Config moved = std::move(copy);
  EXPECT_EQ(moved.integer("a", 0, 0, 9), 2);
  first = moved;
  EXPECT_EQ(first.integer("a", 0, 0, 9), 2);
  EXPECT_EQ(Config().dump(), "{}\n");
}

class ConfigFile : public DirectoryTest {};

TEST_F(ConfigFile, ReadsAndNamesTheFile) {
  EXPECT_EQ(Config::read(put("config.json", "{\"a\": 4}")).integer("a", 0, 0, 9), 4);
  expect_error(ErrorCode::kNotFound, {"absent.json"}, [&] { Config::read(path("absent.json")); });
  expect_error(ErrorCode::kInvalidFile, {"bad.json", "byte"},
               [&] { Config::read(put("bad.json", "{")); });
  expect_error(ErrorCode::kInvalidFile, {"Is a directory"}, [&] { Config::read(directory_); });
}

TEST(Config, AStringIsAListOfOne) {
  const Config config = Config::parse(R"({"one": "mean", "two": ["mean", "cls"]})", "config.json");
  EXPECT_EQ(config.strings("one"), std::vector<std::string>{"mean"});
  EXPECT_EQ(config.strings("two").size(), 2u);
  EXPECT_TRUE(config.strings("none").empty());
  expect_error(ErrorCode::kInvalidFile, {"\"one\"", "\"mean\"", "must be a list of strings"},
               [&] { config.string_list("one"); });
  EXPECT_EQ(config.string_list("two"), (std::vector<std::string>{"mean", "cls"}));
  EXPECT_TRUE(config.string_list("none").empty());
}

TEST_F(ConfigFile, ReadsAListOfObjects) {
  const auto path = directory_ / "modules.json";
  write_file_atomic(path, R"([{"type": "a"}, {"type": 5}])");
  const std::vector<Config> list = Config::read_list(path);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].string("type", ""), "a");
  expect_error(ErrorCode::kInvalidFile, {"entry 1", "type"}, [&] { list[1].string("type", ""); });
  for (const char* bad : {"[]", "{}", "[1]", "[{}, null]"}) {
    write_file_atomic(path, bad);
    expect_error(ErrorCode::kInvalidFile, {"list of JSON objects"},
                 [&] { Config::read_list(path); });
  }
}

}  // namespace
}  // namespace longformer::io
