// The records that are printed are those that `schema` describes; CSV holds the same.
#include <map>
#include <set>

#include "cli/command_fixture.h"

namespace longformer {
namespace {

class Records : public Command {
 protected:
  // Whether a value has one of the types that a schema allows.
  static bool fits(const Json& value, const Json& schema) {
    const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
    for (const Json& type : types) {
      const std::string name = type.get<std::string>();
      if (name == "string" && value.is_string()) return true;
      if (name == "integer" && value.is_number_integer()) return true;
      if (name == "number" && value.is_number()) return true;
      if (name == "null" && value.is_null()) return true;
      if (name == "boolean" && value.is_boolean()) return true;
      if (name == "object" && value.is_object()) return true;
      if (name == "array" && value.is_array()) {
        return std::all_of(value.begin(), value.end(),
                           [&](const Json& item) { return fits(item, schema["items"]); });
      }
    }
    return false;
  }

  void expect_record(const Json& schema, const Json& record) {
    std::set<std::string> keys;
    for (const auto& [key, value] : record.items()) {
      keys.insert(key);
      ASSERT_TRUE(schema["properties"].contains(key)) << key;
      EXPECT_TRUE(fits(value, schema["properties"][key])) << key << ": " << value.dump();
    }
    for (const Json& key : schema["required"]) EXPECT_TRUE(keys.contains(key)) << key;
  }

  void expect_schema(const std::string& command, const std::string& arguments) {
    const Outcome printed = run("schema " + command);
    ASSERT_EQ(printed.code, 0) << printed.err;
    const Json schema = Json::parse(printed.out);
    EXPECT_EQ(schema["type"], "object");
    const Outcome result = run(command + " " + arguments);
    ASSERT_EQ(result.code, 0) << result.err;
    const std::vector<Json> lines = json_lines(result.out);
    ASSERT_FALSE(lines.empty());
    for (const Json& line : lines) expect_record(schema, line);
  }
};

TEST_F(Records, AreThoseOfTheSchema) {
  put(path("page.html"),
      "<h1 id=top>Barn</h1><p>The fox sleeps.</p><h2>Night</h2><p>The hen runs in the rain.</p>");
  expect_schema("search", "fox --model model text.txt page.html --json");
  expect_schema("embed", "--model model text.txt page.html --json");
  expect_schema("embed", "--model model text.txt page.html --passages --json");
  expect_schema("tokenize", "--model model text.txt --json");
  expect_schema("bench", "--lengths 16 --window 4 --heads 1 --repeats 1 --json");
  expect_schema("bench", "--model model --lengths 16 --repeats 1 --json");
  expect_schema("classify", "--model bert --allow-new-head --text fox --json --top-k 0");
  expect_schema("classify",
                "--model bert --allow-new-head text.txt page.html --threshold 2 --json");
  expect_schema("fill-mask", "--model bert --allow-new-head --text 'fox [MASK] [MASK]' --json");
  expect_schema("choose", "--model bert --allow-new-head text.txt --choice a --choice b --json");
  expect_schema("tag", "--model bert --allow-new-head text.txt page.html --json");
  expect_schema("inspect", "--model model --length 16 --global 1 --json");
  expect_schema("answer", "'the fox ?' --model bert --allow-new-head text.txt page.html --json");
  put(path("labels.jsonl"), "{\"label\": 1}\n");
  expect_schema("evaluate",
                "--task classification --data labels.jsonl --predictions labels.jsonl --json");
  expect_schema("convert", "bert long --to-long 128 --attention-window 32 --json");
  expect_schema("pattern", "--length 64 --window 8 --json");
  expect_refused("schema nothing", "search");
}

TEST_F(Records, OfTrainingsAreThoseOfTheSchemas) {
  put(path("rows.jsonl"),
      "{\"text\": \"the fox\", \"label\": \"a\"}\n{\"text\": \"hen\", \"label\": \"b\"}\n");
  const auto schema = [&](const std::string& kind) {
    return Json::parse(run("schema " + kind).out);
  };
  for (const std::string& more : {std::string(" --eval rows.jsonl"), std::string()}) {
    const Outcome trained =
        run("train classify rows.jsonl --model model --labels data --max-steps 2 --logging-steps 1 "
            "--json true --output run" +
            std::to_string(more.size()) + more);
    ASSERT_EQ(trained.code, 0) << trained.err;
    std::map<std::string, int> kinds;
    for (const Json& line : json_lines(trained.out)) {
      const std::string kind = line.contains("ending")       ? "train-result"
                               : line.contains("evaluation") ? "train-evaluation"
                                                             : "train";
      ++kinds[kind];
      expect_record(schema(kind), line);
    }
    EXPECT_EQ(kinds["train"], 2);
    EXPECT_EQ(kinds["train-evaluation"] > 0, !more.empty());
    EXPECT_EQ(kinds["train-result"], 1);
  }
}

TEST_F(Records, CsvHoldsTheSameAsJson) {
  const Outcome csv = run("embed --model model text.txt --passages --passage-tokens 8 --csv");
  const std::vector<Json> lines =
      json_lines(run("embed --model model text.txt --passages --passage-tokens 8 --json").out);
  ASSERT_EQ(csv.code, 0) << csv.err;
  std::vector<std::string> rows;
  for (size_t at = 0; at < csv.out.size();) {
    const size_t end = csv.out.find("\r\n", at);
    rows.push_back(csv.out.substr(at, end - at));
    at = end + 2;
  }
  ASSERT_EQ(rows.size(), lines.size() + 1);
  EXPECT_TRUE(rows[0].starts_with("file,passage,line_start")) << rows[0];
  EXPECT_TRUE(rows[0].ends_with("embedding_14,embedding_15")) << rows[0];
  EXPECT_TRUE(rows[1].starts_with("text.txt,")) << rows[1];
  const double last = std::stod(rows[1].substr(rows[1].rfind(',') + 1));
  EXPECT_FLOAT_EQ(static_cast<float>(last), lines[0]["embedding"][15].get<float>());
}

TEST_F(Records, CsvIsSafeInASpreadsheet) {
  put(path("=cmd.txt"), "=SUM(A1) the fox, \"sleeps\".\n");
  for (const char* start : {"+", "-", "@", "=", "\xEF\xBC\x9D"}) {
    put(path("start.txt"), std::string(start) + "fox sleeps in the barn");
    const Outcome result = run("embed --model model start.txt --passages --csv");
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out.find("," + std::string(start) + "fox"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("'" + std::string(start) + "fox"), std::string::npos) << result.out;
  }
  const Outcome result = run("embed --model model ./=cmd.txt --passages --csv");
  EXPECT_NE(result.out.find("\"'=SUM(A1) the fox, \"\"sleeps\"\".\""), std::string::npos)
      << result.out;
  const Outcome search = run("search fox --model model =cmd.txt --csv");
  ASSERT_EQ(search.code, 0) << search.err;
  EXPECT_TRUE(search.out.find("'=cmd.txt") != std::string::npos) << search.out;
}

TEST_F(Records, CsvGoesToAFileToo) {
  ASSERT_EQ(run("embed --model model text.txt --output v.csv").code, 0);
  EXPECT_EQ(io::read_file(path("v.csv"), 1 << 20), run("embed --model model text.txt --csv").out);
  expect_refused("embed --model model text.txt --output v.csv --csv", "--csv");
}

}  // namespace
}  // namespace longformer
