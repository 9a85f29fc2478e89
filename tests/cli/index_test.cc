// index and search --index as programs: records, exit codes, kills at any moment, two writers.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <thread>

#include "cli/command_fixture.h"

namespace longformer {
namespace {

class IndexCommand : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    put(path("docs/a.txt"), "The fox sleeps in the barn. The hen runs.\n");
    put(path("docs/b.md"),
        "# Weather\n\nRain comes in the night.\n\n## Snow\n\nSnow in the deep road.\n");
    put(path("docs/c.html"),
        "<html><body><h1 id=\"dogs\">Dogs</h1><p>The old dog eats corn.</p></body></html>");
  }

  // Starts the command; its output goes nowhere.
  pid_t start(const std::vector<std::string>& arguments) {
    const pid_t child = fork();
    if (child != 0) return child;
    if (chdir(directory_.path().c_str()) != 0) _exit(99);
    setenv("LONGFORMER_THREADS", "1", 1);
    const int nowhere = open("/dev/null", O_RDWR);
    for (int descriptor = 0; descriptor <= 2; ++descriptor) dup2(nowhere, descriptor);
    std::vector<char*> words = {const_cast<char*>(LONGFORMER_BINARY)};
    for (const std::string& argument : arguments)
      words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    execv(LONGFORMER_BINARY, words.data());
    _exit(98);
  }

  // 128 + the signal that ended it.
  static int wait_for(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  void put_many(int count) {
    for (int i = 0; i < count; ++i) {
      put(path("many/" + std::to_string(i) + ".txt"),
          "The fox number " + std::to_string(i) + " runs in the night.\n\nRain comes. The " +
              test::tiny_words()[static_cast<size_t>(8 + i % 12)] + " sleeps.\n");
    }
  }
};

TEST_F(IndexCommand, BuildSearchUpdate) {
  const Outcome built = run("index --model model docs --output x --json");
  EXPECT_EQ(built.code, 0) << built.err;
  const Json record = json_lines(built.out).at(0);
  EXPECT_EQ(record["added"], 3);
  EXPECT_EQ(record["files"], 3);
  EXPECT_EQ(record["index"], "x");
  EXPECT_NE(built.err.find("3 added, 0 changed"), std::string::npos) << built.err;

  // The model is the one that the index names.
  const Outcome found = run("search --index x --json --top 100 'the old dog eats corn'");
  EXPECT_EQ(found.code, 0) << found.err;
  const std::vector<Json> results = json_lines(found.out);
  const auto dog = std::find_if(results.begin(), results.end(),
                                [](const Json& result) { return result["file"] == "docs/c.html"; });
  ASSERT_NE(dog, results.end());
  EXPECT_EQ((*dog)["kind"], "html");
  EXPECT_EQ((*dog)["anchor"], "dogs");
  EXPECT_EQ((*dog)["headings"], Json::array({"Dogs"}));
  EXPECT_EQ((*dog)["page_start"], nullptr);
  EXPECT_EQ((*dog)["words"], 1.0);
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i]["rank"], i + 1);
    EXPECT_NEAR(results[i]["score"].get<double>(),
                results[i]["cosine"].get<double>() + 0.15 * results[i]["words"].get<double>(),
                1e-9);
  }
  const Outcome again = run("index docs --output x --json");
  EXPECT_EQ(json_lines(again.out).at(0)["unchanged"], 3);
  EXPECT_EQ(json_lines(again.out).at(0)["tokens"], 0);

  const Outcome shown = run("search --index x 'the old dog eats corn' --path '*.html'");
  EXPECT_NE(shown.out.find("docs/c.html#dogs \xE2\x80\x94 Dogs\n"), std::string::npos) << shown.out;
  EXPECT_EQ(shown.out.find("a.txt"), std::string::npos);
  // From elsewhere the file is named so that it can be opened there.
  const Outcome elsewhere =
      run("search --index ../x 'the old dog eats corn' --path '*.html' --json", "cd docs &&");
  EXPECT_EQ(json_lines(elsewhere.out).at(0)["file"], "c.html");
}

TEST_F(IndexCommand, TheSameAsReadingTheFiles) {
  ASSERT_EQ(run("index --model model docs --output x --vectors f32").code, 0);
  for (const std::string query : {"'the fox'", "'\"deep road\" rain'", "corn"}) {
    const std::vector<Json> files =
        json_lines(run("search --model model --json --top 50 " + query + " docs").out);
    const std::vector<Json> index =
        json_lines(run("search --index x --json --top 50 " + query).out);
    ASSERT_EQ(files.size(), index.size());
    for (size_t i = 0; i < files.size(); ++i) {
      for (const char* key : {"file", "line_start", "line_end", "byte_start", "byte_end",
                              "page_start", "headings", "anchor", "kind", "passage", "verbatim"}) {
        EXPECT_EQ(files[i][key], index[i][key]) << key;
      }
      EXPECT_NEAR(files[i]["score"].get<double>(), index[i]["score"].get<double>(), 1e-5);
    }
  }
}

TEST_F(IndexCommand, TheIndexMayLieAmongTheDocuments) {
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = run("index --model ../model . --output x --json", "cd docs &&");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(json_lines(outcome.out).at(0)["files"], 3);
    EXPECT_EQ(outcome.err.find("skipped x"), std::string::npos) << outcome.err;
  }
  const Outcome piped = run("index --model model docs/a.txt - --output y", "", text().string());
  EXPECT_EQ(piped.code, 3);
  EXPECT_NE(piped.err.find("standard input"), std::string::npos) << piped.err;
}

TEST_F(IndexCommand, IncludeAndExclude) {
  ASSERT_EQ(run("index --model model docs --output x --include '*.txt' --include '*.md'").code, 0);
  const std::vector<Json> results =
      json_lines(run("search --index x --json --top 50 'the fox'").out);
  for (const Json& result : results) EXPECT_NE(result["file"], "docs/c.html");
  const Outcome narrower = run("index docs --output x --json --exclude '*.md'");
  EXPECT_EQ(json_lines(narrower.out).at(0)["removed"], 1);
  EXPECT_EQ(json_lines(narrower.out).at(0)["added"], 1);
}

TEST_F(IndexCommand, UsageAndExitCodes) {
  expect_refused("index --model model docs", "--output");
  expect_refused("index --output x", "PATHS");
  expect_refused("search --index x 'the fox'", "no such index");
  expect_refused("search --index docs 'the fox'", "holds no index");
  EXPECT_EQ(run("index --model model absent --output x").code, 2);
  EXPECT_FALSE(fs::exists(path("x")));
  EXPECT_EQ(run("index --model model --output docs docs").code, 2);  // holds other things
  put(path("docs/binary"), std::string("a\0b\1", 4));
  const Outcome skipped = run("index --model model docs --output x");
  EXPECT_EQ(skipped.code, 3);
  EXPECT_NE(skipped.err.find("1 skipped"), std::string::npos) << skipped.err;
  EXPECT_EQ(run("search --index x --min-score 2 'the fox'").code, 4);
  expect_refused("search --index x --path nothing 'the fox'",
                 "no file of the index matches --path nothing");
  EXPECT_EQ(run("search --index x --path docs 'the fox'").code, 0);
  for (const char* options :
       {"text.txt", "--context passage", "--passage-tokens 9", "--include a"}) {
    EXPECT_EQ(run("search --index x 'the fox' " + std::string(options)).code, 2) << options;
  }
  EXPECT_EQ(run("search 'the fox' --path a text.txt").code, 2);
  expect_refused("index docs --output x --vectors f32", "vectors int8 in the index, f32 asked for");
  EXPECT_EQ(run("index --model model docs --output x --vectors f32 --rebuild").code, 3);
  // Another model.
  test::write_tiny_model(path("other"), "longformer", 32);
  test::put_pooling(path("other"), R"({"pooling_mode_mean_tokens": true})", true);
  expect_refused("search --index x --model other 'the fox'", "max_tokens 64 in the index, 32");
  fs::remove_all(model());
  expect_refused("search --index x 'the fox'", "--model");
}

TEST_F(IndexCommand, WhatIsNotThereIsKept) {
  ASSERT_EQ(run("index --model model docs text.txt --output x").code, 0);
  fs::rename(path("docs"), path("away"));
  for (int round = 0; round < 2; ++round) {  // absent, then empty
    const Outcome kept = run("index docs text.txt --output x --json");
    EXPECT_EQ(kept.code, 3) << kept.err;
    EXPECT_EQ(json_lines(kept.out).at(0)["files"], 4);
    EXPECT_NE(kept.err.find("is kept (3 files)"), std::string::npos) << kept.err;
    fs::create_directory(path("docs"));
  }
  EXPECT_EQ(run("index docs text.txt --output x --rebuild --json --model model").code, 0);
  EXPECT_EQ(json_lines(run("index text.txt --output x --json").out).at(0)["files"], 1);
}

TEST_F(IndexCommand, NothingUsableLeavesNoIndex) {
  put(path("binary/b"), std::string("a\0b\1", 4));
  for (const char* files : {"-", "binary"}) {
    EXPECT_EQ(run(std::string("index --model model --output n ") + files, "", text().string()).code,
              2)
        << files;
    EXPECT_FALSE(fs::exists(path("n"))) << files;
  }
}

TEST_F(IndexCommand, OverridesAreAsTheIndexHasThem) {
  ASSERT_EQ(run("index --model model docs --output x --attention-window 4 --attention-dilation 2 "
                "--max-tokens 128 --positions repeat")
                .code,
            0);
  put(path("docs/d.txt"), "The moon comes.\n");
  const Outcome more = run("index docs --output x");
  EXPECT_EQ(more.code, 0) << more.err;
  const Outcome found = run("search --index x 'the moon'");
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_NE(found.err.find("reads otherwise"), std::string::npos) << found.err;
  const Outcome other = run("search --index x 'the moon' --attention-window 8");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("attention_window 4,4 in the index, 8,8 of this model"),
            std::string::npos)
      << other.err;
}

TEST_F(IndexCommand, PoolingInsideDocumentsIsSaid) {
  test::put_pooling(model(), R"({"pooling_mode_cls_token": true})", true);
  const std::string says = "pools its first or last token";
  const Outcome inside = run("index --model model docs --output x --context document");
  EXPECT_EQ(inside.code, 0) << inside.err;
  EXPECT_NE(inside.err.find(says), std::string::npos) << inside.err;
  put(path("docs/d.txt"), "The moon comes.\n");
  EXPECT_NE(run("index docs --output x").err.find(says), std::string::npos);
  EXPECT_EQ(run("index --model model docs --output y").err.find(says), std::string::npos);
}

TEST_F(IndexCommand, MergingShards) {
  put_many(7);
  ASSERT_EQ(run("index --model model many docs --output whole").code, 0);
  for (const char* shard : {"1/2", "2/2"}) {
    const std::string name = std::string("part") + shard[0];
    ASSERT_EQ(run("index --model model many docs --output " + name + " --shard " + shard).code, 0);
  }
  const Outcome merged = run("index merge part1 part2 --output y --json");
  EXPECT_EQ(merged.code, 0) << merged.err;
  EXPECT_EQ(json_lines(merged.out).at(0)["files"], 10);
  const std::string query = "search --json --top 50 'the fox runs' --index ";
  EXPECT_EQ(run(query + "y").out, run(query + "whole").out);
  expect_refused("index --model model docs --output z --shard 3/2", "got 3/2");
  expect_refused("index merge", "longformer index merge --help");
  expect_refused("index merge part1 part2", "--output");
}

TEST_F(IndexCommand, KilledAtAnyMomentItGoesOn) {
  put_many(60);
  ASSERT_EQ(run("index --model model many --output whole").code, 0);
  std::mt19937 random(17);
  size_t known = 0;
  for (int round = 0; round < 5; ++round) {
    const pid_t child = start({"index", "--model", "model", "many", "--output", "x"});
    std::this_thread::sleep_for(std::chrono::milliseconds(30 + random() % 300));
    kill(child, SIGKILL);
    const int code = wait_for(child);
    if (code == 0) break;  // a fast machine: it was done
    const Outcome state = run("search --index x --json --top 100000 'the fox'");
    if (state.code == 2) continue;  // killed before there was an index
    ASSERT_EQ(state.code == 0 || state.code == 4, true) << state.code << state.err;
    const size_t found = json_lines(state.out).size();
    EXPECT_GE(found, known) << "what was committed stays";
    known = found;
  }
  const Outcome last = run("index --model model many --output x");
  EXPECT_EQ(last.code, 0) << last.err;
  const std::string query = "search --json --top 100000 'the fox' --index ";
  EXPECT_EQ(run(query + "x").out, run(query + "whole").out);
}

TEST_F(IndexCommand, ASecondWriterIsToldAtOnce) {
  put_many(400);
  const pid_t child = start({"index", "--model", "model", "many", "--output", "x"});
  for (int i = 0; i < 500 && !fs::exists(path("x/index.sqlite")); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const Outcome second = run("index --model model docs --output x");
  // Readers are welcome.
  const Outcome reader = run("search --index x 'the fox'");
  kill(child, SIGTERM);
  const int code = wait_for(child);
  if (code == 0) GTEST_SKIP() << "the first writer was done before the second came";
  EXPECT_EQ(second.code, 2);
  EXPECT_NE(second.err.find("another process is writing"), std::string::npos) << second.err;
  EXPECT_TRUE(reader.code == 0 || reader.code == 4 || reader.code == 2) << reader.err;
  EXPECT_EQ(code, 143);
  EXPECT_EQ(run("index --model model docs --output x").code, 0);
}

TEST_F(IndexCommand, BrokenDirectoriesAreRefused) {
  ASSERT_EQ(run("index --model model docs --output x").code, 0);
  const std::string database = io::read_file(path("x/index.sqlite"), 1 << 24);
  const auto vectors = path("x/vectors-1-0.bin");
  const std::string rows = io::read_file(vectors, 1 << 24);
  put(vectors, rows.substr(0, 70));
  expect_refused("search --index x 'the fox'", "cut short");
  expect_refused("index docs --output x", "cut short");
  put(vectors, rows);
  put(path("x/index.sqlite"), database.substr(0, 100));
  EXPECT_EQ(run("search --index x 'the fox'").code, 2);
  put(path("x/index.sqlite"), "no database at all, but a text that goes on for a while");
  expect_refused("search --index x 'the fox'", "not a database");
  expect_refused("index docs --output x", "not a database");
  expect_refused("index --model model docs --output x --rebuild", "remove the directory");
  put(path("x/index.sqlite"), database.substr(0, 100));
  EXPECT_EQ(run("index --model model docs --output x --rebuild").code, 0);
  EXPECT_EQ(run("search --index x 'the fox'").code, 0);
}

}  // namespace
}  // namespace longformer
