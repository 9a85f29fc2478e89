// bench: small shapes, but real processes, plots and refusals.
#include <set>

#include "cli/command_fixture.h"
#include "io/documents/xml_stream.h"

namespace longformer {
namespace {

class Bench : public Command {
 protected:
  static constexpr const char* kSmall =
      "bench --lengths 96,40 --window 16 --heads 2 --head-dim 32 ";

  // A program that stands in for Python with the reference.
  std::string put_python(const std::string& body) {
    put(path("python"), "#!/bin/sh\n" + body + "\n");
    fs::permissions(path("python"), fs::perms::owner_all);
    return path("python").string();
  }

  // What the reference would say of the points of this run, so that it agrees.
  std::string agreeing_python() {
    return put_python(
        "if [ \"$3\" = check ]; then echo '{\"torch\": \"2.0\", \"transformers\": \"4.0\"}'; exit; "
        "fi\n"
        "ours=$(echo \"$3\" | sed 's/\"implementation\":\"reference\"/"
        "\"implementation\":\"longformer\"/')\n"
        "exec " LONGFORMER_BINARY " bench --point \"$ours\"");
  }

  static std::set<std::string> names(const std::vector<Json>& records) {
    std::set<std::string> result;
    for (const Json& record : records) result.insert(record["implementation"].get<std::string>());
    return result;
  }
};

struct Drawing {
  int polylines = 0;
  std::string text;
};

Drawing read_svg(const fs::path& path) {
  Drawing drawing;
  const std::string svg = io::read_file(path, 1 << 20);
  size_t given = 0;
  const auto source = [&](char* out, size_t size) {
    const size_t count = svg.copy(out, size, given);
    given += count;
    return count;
  };
  io::parse_xml(source,
                {.begin =
                     [&](const io::XmlTag& tag) {
                       drawing.polylines += tag.name == "polyline";
                       EXPECT_EQ(tag["href"], "");
                     },
                 .end = [](std::string_view) {},
                 .text = [&](std::string_view text) { drawing.text += std::string(text) + "\n"; }});
  return drawing;
}

TEST_F(Bench, GivesTheImplementationsAtEachLength) {
  const Outcome result = run(std::string(kSmall) +
                             "--json --threads 2 --repeats 2 --implementations chunks,longformer");
  ASSERT_EQ(result.code, 0) << result.err;
  const std::vector<Json> records = json_lines(result.out);
  ASSERT_EQ(records.size(), 4u);  // by length, and each length by implementation
  for (size_t i = 0; i < records.size(); ++i) {
    const Json& record = records[i];
    EXPECT_EQ(record["length"], i < 2 ? 40 : 96);
    EXPECT_EQ(record["implementation"], i % 2 == 0 ? "longformer" : "chunks");
    EXPECT_LE(record["seconds_min"], record["seconds_median"]);
    EXPECT_LE(record["seconds_median"], record["seconds_max"]);
    EXPECT_GT(record["seconds_min"], 0);
    EXPECT_EQ(record["repeats"], 2);
    EXPECT_EQ(record["threads"], 2);
    EXPECT_EQ(record["window"], 16);
    EXPECT_EQ(record["model"], nullptr);
  }
}

// The scores that full attention stores are the memory that it is said to take.
TEST_F(Bench, MemoryIsThatOfThePoint) {
  const Outcome result =
      run("bench --lengths 1024 --window 64 --heads 8 --head-dim 16 --repeats 1 --json "
          "--implementations loop,full");
  ASSERT_EQ(result.code, 0) << result.err;
  const std::vector<Json> records = json_lines(result.out);
  ASSERT_EQ(records.size(), 2u);
  constexpr int64_t kScores = 8 * 1024 * 1024 * 4, kPlane = 1024 * 8 * 16 * 4;
  EXPECT_EQ(records[0]["implementation"], "loop");
  EXPECT_LT(records[0]["peak_bytes"].get<int64_t>(), kScores / 4);
  EXPECT_GE(records[1]["peak_bytes"].get<int64_t>(), kScores);
  EXPECT_LT(records[1]["peak_bytes"].get<int64_t>(), kScores + 4 * kPlane + (8 << 20));
}

TEST_F(Bench, DrawsWhatItMeasured) {
  const Outcome result = run(std::string(kSmall) + "--svg plot.svg --repeats 1");
  ASSERT_EQ(result.code, 0) << result.err;
  for (const char* word : {"tokens", "longformer", "chunks", "full", "loop", "window 16"}) {
    EXPECT_NE(result.out.find(word), std::string::npos) << word << "\n" << result.out;
  }
  const Drawing drawing = read_svg(path("plot.svg"));
  EXPECT_EQ(drawing.polylines, 8);  // four implementations in two panels
  for (const char* word : {"tokens\n", "longformer\n", "full\n", "40\n", "96\n", "time of a call",
                           "peak memory of a call", "B\n"}) {
    EXPECT_NE(drawing.text.find(word), std::string::npos) << word << drawing.text;
  }
}

TEST_F(Bench, DilationLeavesThoseThatHaveIt) {
  const Outcome result = run(std::string(kSmall) + "--json --repeats 1 --dilation 3");
  ASSERT_EQ(result.code, 0) << result.err;
  const std::vector<Json> records = json_lines(result.out);
  EXPECT_EQ(names(records), (std::set<std::string>{"longformer", "loop"}));
  EXPECT_EQ(records[0]["dilation"], 3);
  expect_refused("bench --dilation 2 --implementations chunks", "no dilation");
  expect_refused("bench --dilation 2 --implementations full", "no dilation");
  expect_refused("bench --dilation 2 --against reference", "no dilation");
}

TEST_F(Bench, TimesAModelWithItsWindowsAndWithout) {
  const Outcome result = run("bench --model model --lengths 20,64 --repeats 1 --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const std::vector<Json> records = json_lines(result.out);
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(names(records), (std::set<std::string>{"longformer", "full"}));
  EXPECT_EQ(records[0]["model"], fs::canonical(model()).string());
  EXPECT_EQ(records[0]["window"], nullptr);
  EXPECT_EQ(records[0]["heads"], 4);
  // A model without windows has one way; without --lengths the longest text that it reads.
  const std::vector<Json> bert = json_lines(run("bench --model bert --repeats 1 --json").out);
  ASSERT_EQ(bert.size(), 1u);
  EXPECT_EQ(bert[0]["length"], 64);
  expect_refused("bench --model model --lengths 65", "at most 64");
  expect_refused("bench --model model --implementations loop", "attention alone");
  expect_refused("bench --model model --window 8", "--window");
}

TEST_F(Bench, TheReferenceIsOneMoreLine) {
  const Outcome result = run(std::string(kSmall) +
                             "--json --repeats 1 --implementations longformer --svg plot.svg "
                             "--against reference --python " +
                             agreeing_python());
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(names(json_lines(result.out)), (std::set<std::string>{"longformer", "reference"}));
  EXPECT_EQ(read_svg(path("plot.svg")).polylines, 4);
}

TEST_F(Bench, AnotherOutputIsNoComparison) {
  const std::string python = put_python(
      "if [ \"$3\" = check ]; then echo '{\"torch\": \"2.0\", \"transformers\": \"4.0\"}'; exit; "
      "fi\n"
      "echo '{\"seconds\": 1, \"peak_bytes\": 1, \"magnitude\": 1, \"peak_is_of_the_call\": "
      "true}'");
  const Outcome result =
      run(std::string(kSmall) + "--json --repeats 1 --against reference --python " + python);
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("computed another output"), std::string::npos) << result.err;
}

TEST_F(Bench, WithoutTheReferenceItSaysWhatToInstall) {
  // The Python of this machine, without its packages.
  const std::string bare = put_python("exec python3 -I -S \"$@\"");
  expect_refused("bench --against reference --python " + bare, "pip install torch transformers");
  expect_refused("bench --against reference --python nothere", "no such program");
  expect_refused("bench --against reference --python " + put_python("exit 1"), "no Python");
}

TEST_F(Bench, WhatWouldNotFitIsLeftOut) {
  // 12 heads of a million times a million scores: 53 TB.
  const Outcome result =
      run("bench --lengths 32,1048576 --implementations full --repeats 1 --json --limit 1e6");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(json_lines(result.out).size(), 1u);
  EXPECT_NE(result.err.find("full at 1048576 tokens"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("52.8 TB"), std::string::npos) << result.err;
  EXPECT_EQ(run("bench --lengths 1048576 --implementations full").code, 2);
}

TEST_F(Bench, WhatWouldTakeTooLongIsLeftOut) {
  const Outcome result =
      run("bench --lengths 32,2048 --heads 1 --window 16 --implementations full "
          "--repeats 1 --json --limit 1e-3");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(json_lines(result.out).size(), 1u);
  EXPECT_NE(result.err.find("--limit"), std::string::npos) << result.err;
}

TEST_F(Bench, RefusesNonsense) {
  expect_refused("bench --window 0", "at least 2 tokens");
  expect_refused("bench --window 7", "an even number");
  expect_refused("bench --window -2", "--window");
  expect_refused("bench --lengths ''", "--lengths");
  expect_refused("bench --lengths 0", "--lengths");
  expect_refused("bench --lengths 12,x", "--lengths");
  expect_refused("bench --heads 0", "--heads");
  expect_refused("bench --head-dim 257", "--head-dim");
  expect_refused("bench --implementations cuda", "--implementations");
  expect_refused("bench --repeats 0", "--repeats");
  expect_refused("bench --limit 0", "--limit");
  expect_refused("bench --python python3", "--against");
  expect_refused("bench --against tensorflow", "--against");
  expect_refused("bench --point nonsense", "no point");
  expect_refused("bench --svg nowhere/plot.svg", "nowhere");
}

}  // namespace
}  // namespace longformer
