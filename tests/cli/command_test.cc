// The command as a program: what it prints, its options and its exit codes.
#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "cli/command_fixture.h"

namespace longformer {
namespace {

TEST_F(Command, SearchPrintsJsonRecords) {
  const Outcome result = run("search --model model --json --top 2 'the fox' text.txt");
  ASSERT_EQ(result.code, 0) << result.err;
  const std::vector<Json> records = json_lines(result.out);
  ASSERT_FALSE(records.empty());
  const std::string document = io::read_file(text(), 1 << 20);
  for (size_t i = 0; i < records.size(); ++i) {
    const Json& record = records[i];
    EXPECT_EQ(record["rank"], i + 1);
    EXPECT_EQ(record["file"], "text.txt");
    const size_t begin = record["byte_start"], end = record["byte_end"];
    EXPECT_EQ(record["passage"], document.substr(begin, end - begin));
    EXPECT_NE(record["passage"].get<std::string>().find(record["best_sentence"].get<std::string>()),
              std::string::npos);
  }
}

TEST_F(Command, SearchReadsStandardInput) {
  const Outcome result = run("search --model model --json 'the fox' -", "", text().string());
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(json_lines(result.out)[0]["file"], "-");
}

TEST_F(Command, SkippedFilesAreCountedAndTheRestIsDone) {
  put(path("empty.txt"), "");
  put(path("binary"), std::string("\0\1\2\3", 4));
  const Outcome result =
      run("search --model model --json 'the fox' empty.txt text.txt binary nothere.txt");
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_FALSE(json_lines(result.out).empty());
  for (const char* name : {"empty.txt", "binary", "nothere.txt"}) {
    EXPECT_NE(result.err.find(name), std::string::npos) << result.err;
  }
}

TEST_F(Command, NothingUsableIsBadUsage) {
  put(path("empty.txt"), "");
  EXPECT_EQ(run("search --model model 'the fox' empty.txt").code, 2);
  EXPECT_EQ(run("embed --model model empty.txt").code, 2);
}

TEST_F(Command, NothingFoundHasItsOwnCode) {
  const Outcome result = run("search --model model --min-score 1 'the fox' text.txt");
  EXPECT_EQ(result.code, 4) << result.err;
  EXPECT_EQ(result.out, "");
}

TEST_F(Command, CopiesAndLinksCountOnce) {
  fs::copy_file(text(), path("copy.txt"));
  fs::create_symlink(text(), path("link.txt"));
  const Outcome result =
      run("search --model model --json --top 100 'the fox' text.txt copy.txt link.txt");
  ASSERT_EQ(result.code, 0) << result.err;
  for (const Json& record : json_lines(result.out)) EXPECT_EQ(record["file"], "text.txt");
}

TEST_F(Command, AClosedPipeEndsQuietly) {
  const Outcome result = run("search --model model --json --top 100 'the fox' text.txt", "",
                             "/dev/null", "| head -c 1");
  EXPECT_EQ(result.out, "{");
  EXPECT_EQ(result.err, "");
}

TEST_F(Command, AFullOutputIsAFailure) {
  const Outcome result = run("embed --model model text.txt >/dev/full");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("No space left"), std::string::npos) << result.err;
}

TEST_F(Command, EmbedGivesOneVectorADocumentOrOneAPassage) {
  const Outcome whole = run("embed --model model text.txt");
  ASSERT_EQ(whole.code, 0) << whole.err;
  const std::vector<Json> records = json_lines(whole.out);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0]["embedding"].size(), 16u);
  EXPECT_EQ(records[0]["windows"], 1);
  const Outcome passages = run("embed --model model --passages --passage-tokens 8 text.txt");
  ASSERT_EQ(passages.code, 0) << passages.err;
  EXPECT_GT(json_lines(passages.out).size(), 1u);
}

TEST_F(Command, LongTextIsReadInWindowsAndTheUserIsTold) {
  std::string words;
  for (int i = 0; i < 300; ++i) words += "the fox runs ";
  put(path("long.txt"), words);
  const Outcome result = run("embed --model model long.txt");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_GT(json_lines(result.out)[0]["windows"].get<int>(), 1);
  EXPECT_EQ(json_lines(result.out)[0]["tokens"], 900);
  EXPECT_NE(result.err.find("windows"), std::string::npos) << result.err;
}

TEST_F(Command, UnknownWordsAreSaid) {
  put(path("zh.txt"), "\xE6\x9C\x80\xE9\x95\xBF\xE7\x9A\x84\xE6\xB2\xB3\xE6\xB5\x81");
  for (const std::string arguments :
       {"search --model model 'the fox' zh.txt text.txt", "embed --model model zh.txt text.txt"}) {
    const Outcome result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_NE(result.err.find("zh.txt is mostly unknown words"), std::string::npos) << result.err;
  }
  EXPECT_EQ(run("embed --model model text.txt").err.find("unknown"), std::string::npos);
}

TEST_F(Command, TokenizeGivesIdsTokensAndOffsetsInTheAskedUnit) {
  put(path("t.txt"), "\xC3\xA9 \xF0\x9F\x98\x80 fox");
  const auto last = [&](const std::string& unit) {
    return json_lines(run("tokenize --model model --json --offsets " + unit + " t.txt").out)
        .at(0)["offsets"]
        .at(3);
  };
  EXPECT_EQ(last("codepoint"), Json::parse("[4, 7]"));
  EXPECT_EQ(last("utf16"), Json::parse("[5, 8]"));
  EXPECT_EQ(last("byte"), Json::parse("[8, 11]"));
}

TEST_F(Command, TokenizeNeedsNoWeights) {
  fs::remove(model() / "model.safetensors");
  const Outcome result = run("tokenize --model model --json text.txt");
  EXPECT_EQ(result.code, 0) << result.err;
}

TEST_F(Command, ForwardWritesTheNamesAndShapesOfTheReference) {
  write_inputs({integers("input_ids", {2, 3}, {5, 6, 7, 8, 9, 0}),
                integers("attention_mask", {2, 3}, {1, 1, 1, 1, 1, 0})});
  const Outcome result = run("forward --model model --inputs in --outputs out --hidden-states");
  ASSERT_EQ(result.code, 0) << result.err;
  std::map<std::string, Shape> shapes;
  for (const io::NamedTensor& tensor : io::read_safetensors(path("out")).tensors) {
    EXPECT_EQ(tensor.tensor.dtype, DType::kF32);
    shapes[tensor.name] = tensor.tensor.shape;
  }
  const Shape states{2, 3, 16};
  EXPECT_EQ(shapes, (std::map<std::string, Shape>{{"last_hidden_state", states},
                                                  {"pooler_output", {2, 16}},
                                                  {"hidden_states.0", states},
                                                  {"hidden_states.1", states},
                                                  {"hidden_states.2", states}}));
}

TEST_F(Command, ForwardTimesEveryPassAndWritesTheSameOutput) {
  write_inputs({integers("input_ids", {1, 3}, {5, 6, 7})});
  ASSERT_EQ(run("forward --model model --inputs in --outputs once").code, 0);
  const Outcome result = run("forward --model model --inputs in --outputs out --timing --repeat 4");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(io::read_file(path("out"), 1 << 20), io::read_file(path("once"), 1 << 20));
  const Json timing = json_lines(result.err).at(0);
  std::vector<double> passes = timing.at("passes_s");
  ASSERT_EQ(passes.size(), 4u);
  std::sort(passes.begin(), passes.end());
  EXPECT_GT(passes.front(), 0.0);
  EXPECT_DOUBLE_EQ(timing.at("compute_s"), (passes[1] + passes[2]) / 2);
  expect_refused("forward --model model --inputs in --outputs no --repeat 4", "--timing");
  expect_refused("forward --model model --inputs in --outputs no --timing --repeat 0", "--repeat");
}

TEST_F(Command, ForwardRefusesBadTensorsAndWritesNothing) {
  const auto refused = [&](const std::vector<io::NamedTensor>& tensors, const std::string& says) {
    write_inputs(tensors);
    expect_refused("forward --model model --inputs in --outputs out", says);
    EXPECT_FALSE(fs::exists(path("out"))) << says;
  };
  const io::NamedTensor ids = integers("input_ids", {1, 3}, {5, 6, 7});
  refused({integers("input_ids", {1, 3}, {5, 36, 7})}, "id 36");
  refused({integers("input_ids", {1, 3}, {5, -1, 7})}, "id -1");
  refused({integers("input_ids", {3}, {5, 6, 7})}, "[batch, seq]");
  refused({integers("input_ids", {1, 0}, {})}, "[batch, seq]");
  refused({integers("ids", {1, 3}, {5, 6, 7})}, "input_ids");
  refused({ids, integers("attention_mask", {1, 3}, {1, 2, 0})}, "global_attention_mask");
  refused({ids, integers("global_attention_mask", {1, 3}, {1, -1, 0})}, "value -1");
  refused({ids, integers("attention_mask", {1, 2}, {1, 1})}, "[1, 2]");
  refused({ids, integers("token_type_ids", {1, 3}, {0, 2, 0})}, "token type 2");
  refused({ids, integers("position_ids", {1, 3}, {0, 65, 0})}, "position 65");
  refused({ids, integers("labels", {1, 3}, {0, 0, 0})}, "labels");
  refused({ids,
           {"attention_mask",
            make_tensor({1, 3}, std::span<const float>(std::vector<float>{1, 1, 1}))}},
          "attention_mask");
  refused({integers("input_ids", {1, 70}, std::vector<int64_t>(70, 5))}, "70 tokens");
}

TEST_F(Command, BrokenModelsAreOneLine) {
  put(path("nomodel/readme"), "x");
  expect_refused("embed --model missing text.txt", "missing");
  expect_refused("embed --model nomodel text.txt", "config.json");
  fs::create_directories(path("noweights"));
  fs::copy_file(model() / "config.json", path("noweights/config.json"));
  expect_refused("info --model noweights", "model.safetensors");
  const std::string weights = io::read_file(model() / "model.safetensors", 1 << 24);
  for (const size_t size : {size_t{0}, size_t{7}, size_t{9}, size_t{200}, weights.size() - 1}) {
    put(model() / "model.safetensors", weights.substr(0, size));
    expect_refused("embed --model model text.txt", "model.safetensors");
  }
  put(model() / "model.safetensors", weights + "x");
  expect_refused("embed --model model text.txt", "model.safetensors");
}

TEST_F(Command, AWrongShapeNamesTensorAndBothShapes) {
  std::string config = io::read_file(model() / "config.json", 1 << 20);
  config.replace(config.find("\"intermediate_size\": 32"), 23, "\"intermediate_size\": 40");
  put(model() / "config.json", config);
  expect_refused("embed --model model text.txt", "[40, 16]");
}

TEST_F(Command, ConvertChecksItselfAndLeavesNothingWhenItFails) {
  const Outcome result =
      run("convert --to-long 200 --attention-window 8 --position-period 32 bert long");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(run("embed --model long text.txt").code, 0);
  expect_refused("convert --to-long 200 --attention-window 8 bert long", "long");
  for (const std::string bad :
       {"--to-long 200 --attention-window 7", "--to-long 0 --attention-window 8",
        "--to-long 200 --attention-window 8 --position-period 65"}) {
    const Outcome refused = run("convert " + bad + " bert other");
    EXPECT_EQ(refused.code, 2) << bad << "\n" << refused.err;
    EXPECT_FALSE(fs::exists(path("other"))) << bad;
  }
  expect_refused("convert --to-long 200 --attention-window 8 model other", "longformer");
}

TEST_F(Command, AnUnknownCommandIsNamedBesideThoseThatThereAre) {
  expect_refused("srch fox", "\"srch\" is no command");
  expect_refused("srch fox", "search, ");
}

TEST_F(Command, APromptThatIsNoNameIsTakenAsText) {
  put(model() / "config_sentence_transformers.json", R"({"prompts": {"query": "one "}})");
  EXPECT_NE(run("embed --model model text.txt --prompt qwery").err.find("none of those"),
            std::string::npos);
  EXPECT_EQ(run("embed --model model text.txt --prompt query").err, "");
  expect_refused("embed --model model text.txt --prompt document", "no prompt for a document");
}

TEST_F(Command, UsageErrorsNameTheOption) {
  for (const std::string arguments :
       {"", "nonsense", "search", "search --top 0 x text.txt", "search --context all x text.txt",
        "embed --threads 0 text.txt", "embed --no-such-option text.txt", "forward --model model"}) {
    const Outcome result = run(arguments);
    EXPECT_EQ(result.code, 2) << arguments;
    EXPECT_EQ(result.out, "") << arguments;
    EXPECT_NE(result.err.find("--help"), std::string::npos) << arguments << "\n" << result.err;
  }
  EXPECT_EQ(run("--help").code, 0);
  EXPECT_EQ(run("search --help").code, 0);
  EXPECT_NE(run("--version").out.find('.'), std::string::npos);
}

TEST_F(Command, BadEnvironmentIsNamed) {
  EXPECT_NE(run("info --model model", "env LONGFORMER_ISA=avx1024").err.find("LONGFORMER_ISA"),
            std::string::npos);
  const std::string threads = "cd " + directory_.path().string() + " && LONGFORMER_THREADS=many " +
                              LONGFORMER_BINARY + " info --model model 2>/dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(threads.c_str())), 2);
}

TEST_F(Command, VerboseTellsWhereTheTimeWent) {
  const std::string arguments = "embed --model model --threads 2 --json text.txt";
  const Outcome quiet = run(arguments, "env LONGFORMER_VERBOSE=0");
  EXPECT_EQ(quiet.code, 0) << quiet.err;
  EXPECT_EQ(quiet.err.find("GFLOP/s"), std::string::npos);

  const Outcome verbose = run(arguments, "env LONGFORMER_VERBOSE=1");
  EXPECT_EQ(verbose.code, 0);
  EXPECT_EQ(verbose.out, quiet.out);
  std::vector<std::string> lines;
  std::istringstream text(verbose.err);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  const auto heading = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("operation ") && line.ends_with("GFLOP/s");
  });
  ASSERT_NE(heading, lines.end()) << verbose.err;
  EXPECT_NE(verbose.err.find("sums over all threads"), std::string::npos);
  const std::regex row(R"((\w+).* +([0-9.]+) +([0-9.]+) %.*)");  // operation, ms, share
  std::set<std::string> operations;
  double shares = 0.0;
  double last_time = std::numeric_limits<double>::infinity();
  for (auto line = heading + 1; line != lines.end(); ++line) {
    std::smatch match;
    ASSERT_TRUE(std::regex_match(*line, match, row)) << *line;
    operations.insert(match[1]);
    EXPECT_LE(std::stod(match[2]), last_time) << *line;
    last_time = std::stod(match[2]);
    shares += std::stod(match[3]);
  }
  EXPECT_NEAR(shares, 100.0, 0.06 * static_cast<double>(lines.size()));
  for (const std::string operation :
       {"linear", "matmul_nt", "matmul_nn", "softmax_strip", "split_heads", "layer_norm"}) {
    EXPECT_TRUE(operations.contains(operation)) << operation << "\n" << verbose.err;
  }

  const Outcome wrong = run(arguments, "env LONGFORMER_VERBOSE=yes");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.out, "");
  EXPECT_NE(wrong.err.find("LONGFORMER_VERBOSE: unknown value; allowed are 0 and 1"),
            std::string::npos)
      << wrong.err;
}

TEST_F(Command, WithoutADefaultModelTheCommandToMakeItIsNamed) {
  const Outcome result =
      run("search 'the fox' text.txt", "env LONGFORMER_HOME=" + path("home").string());
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("tools/default_model.sh"), std::string::npos) << result.err;
}

// Each option must change what it says it changes.
TEST_F(Command, SearchOptionsReachTheSearch) {
  const auto records = [&](const std::string& options) {
    return json_lines(
        run("search --model model --json --top 100 'the fox' text.txt " + options).out);
  };
  const std::vector<Json> small = records("--passage-tokens 8");
  EXPECT_GT(small.size(), records("--passage-tokens 60").size());
  EXPECT_EQ(
      json_lines(
          run("search --model model --json --top 2 --passage-tokens 8 'the fox' text.txt").out)
          .size(),
      2u);
  for (size_t i = 1; i < small.size(); ++i) EXPECT_LE(small[i]["score"], small[i - 1]["score"]);
  EXPECT_NE(small.front()["score"], small.back()["score"]);
  EXPECT_NE(records("--context passage"), records("--context document"));
  EXPECT_NE(records("--context both"), records("--context document"));
  EXPECT_NE(records("--pooling max"), records("--pooling mean"));
  const std::string text = io::read_file(path("text.txt"), 1 << 20);
  for (const Json& record : small) {
    const auto line = [&](size_t byte) {
      return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n');
    };
    EXPECT_EQ(record["line_start"], line(record["byte_start"]));
    EXPECT_EQ(record["line_end"], line(record["byte_end"]));
  }
}

TEST_F(Command, EmbedWritesEachFormatWithTheSameVectors) {
  const std::string arguments = "embed --model model --passages --passage-tokens 8 text.txt ";
  const std::vector<Json> lines = json_lines(run(arguments).out);
  ASSERT_GT(lines.size(), 2u);
  for (const char* name : {"v.jsonl", "v.npy", "v.safetensors"}) {
    const Outcome result = run(arguments + "--output " + name);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(json_lines(io::read_file(path("v.jsonl"), 1 << 20)), lines);
  const io::SafetensorsFile file = io::read_safetensors(path("v.safetensors"));
  ASSERT_EQ(file.tensors.size(), 2u);
  const bool bytes_first = file.tensors[0].name == "text.txt#bytes";
  const Tensor& vectors = file.tensors[bytes_first ? 1 : 0].tensor;
  const std::vector<int64_t> bytes = to_i64(file.tensors[bytes_first ? 0 : 1].tensor);
  ASSERT_EQ(vectors.shape, (Shape{static_cast<int64_t>(lines.size()), 16}));
  const std::vector<float> values = to_f32(vectors);
  const std::string text = io::read_file(path("text.txt"), 1 << 20);
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto embedding = lines[i]["embedding"].get<std::vector<float>>();
    EXPECT_EQ(embedding, std::vector<float>(&values[i * 16], &values[i * 16] + 16));
    const auto begin = static_cast<size_t>(bytes[2 * i]);
    EXPECT_EQ(lines[i]["passage"],
              text.substr(begin, static_cast<size_t>(bytes[2 * i + 1]) - begin));
  }
  const std::string npy = io::read_file(path("v.npy"), 1 << 20);
  EXPECT_NE(npy.find("'shape': (" + std::to_string(lines.size()) + ", 16)"), std::string::npos);
  EXPECT_EQ(npy.substr(npy.size() - values.size() * 4),
            std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4));
}

TEST_F(Command, EmbedOptionsReachTheVectors) {
  const auto vectors = [&](const std::string& options) {
    return run("embed --model model text.txt " + options).out;
  };
  EXPECT_NE(vectors("--pooling max"), vectors("--pooling mean"));
  EXPECT_NE(vectors("--pooling cls"), vectors("--pooling mean"));
  EXPECT_NE(vectors("--passages --context passage"), vectors("--passages --context document"));
}

// A row for every file that was named: copies and links too.
TEST_F(Command, EmbedGivesEachNamedFileItsVector) {
  fs::copy_file(text(), path("copy.txt"));
  fs::create_symlink(text(), path("link.txt"));
  const std::vector<Json> lines =
      json_lines(run("embed --model model copy.txt link.txt text.txt").out);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1]["file"], "link.txt");
  EXPECT_EQ(lines[0]["embedding"], lines[2]["embedding"]);
}

TEST_F(Command, TokenizeGivesTheIdsOfTheVocabulary) {
  put(path("t.txt"), "The fox runs, unknownword");
  const Json record = json_lines(run("tokenize --model model --json t.txt").out).at(0);
  EXPECT_EQ(record["input_ids"], Json::parse("[2, 12, 8, 17, 6, 1, 3]"));
  EXPECT_EQ(record["tokens"],
            Json::parse(R"(["[CLS]", "the", "fox", "runs", ",", "[UNK]", "[SEP]"])"));
}

TEST_F(Command, ForwardUsesEveryInput) {
  const Shape shape{1, 20};
  std::vector<int64_t> ids, mask(20, 1), global(20, 0), types(20, 0), positions;
  for (int64_t t = 0; t < 20; ++t) {
    ids.push_back(5 + t % 7);
    positions.push_back(30 - t);
  }
  mask[19] = 0;
  global[0] = 1;
  types[3] = 1;
  const auto states = [&](std::vector<io::NamedTensor> more) {
    more.push_back(integers("input_ids", shape, ids));
    write_inputs(more);
    const Outcome result = run("forward --model model --inputs in --outputs out");
    EXPECT_EQ(result.code, 0) << result.err;
    return io::read_file(path("out"), 1 << 20);
  };
  const std::string plain = states({});
  EXPECT_NE(plain, states({integers("attention_mask", shape, mask)}));
  EXPECT_NE(plain, states({integers("global_attention_mask", shape, global)}));
  EXPECT_NE(plain, states({integers("token_type_ids", shape, types)}));
  EXPECT_NE(plain, states({integers("position_ids", shape, positions)}));
  EXPECT_EQ(plain, states({integers("global_attention_mask", shape, std::vector<int64_t>(20, 0))}));
}

TEST_F(Command, ThreadsOptionSetsThePool) {
  const Json info = json_lines(run("info --model model --json --threads 3").out).at(0);
  EXPECT_EQ(info["threads"], 3);
}

TEST_F(Command, ErrorsNameTheHelpOfTheSubcommand) {
  EXPECT_NE(run("search onlyaquery").err.find("longformer search --help"), std::string::npos);
}

TEST_F(Command, SameBitsForAnyNumberOfThreads) {
  const std::string first = run("embed --model model --threads 1 --passages text.txt").out;
  EXPECT_FALSE(first.empty());
  for (const char* threads : {"2", "3", "8"}) {
    EXPECT_EQ(first,
              run("embed --model model --passages text.txt --threads " + std::string(threads)).out);
  }
}

}  // namespace
}  // namespace longformer
