// inspect: counts, receptive field and memory from a config.json alone.
#include <fstream>
#include <regex>

#include "cli/command_fixture.h"

namespace longformer {
namespace {

constexpr const char* kLongformer =
    R"({"model_type": "longformer", "vocab_size": 50265, "max_position_embeddings": 4098,
        "type_vocab_size": 1, "attention_window": 512, "architectures": ["LongformerForMaskedLM"]})";

class Inspect : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    put(path("bert.json"), R"({"model_type": "bert"})");
    put(path("long/config.json"), kLongformer);
  }

  Json inspect(const std::string& arguments) {
    const Outcome result = run("inspect --json " + arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    const std::vector<Json> lines = json_lines(result.out);
    EXPECT_EQ(lines.size(), 1u);
    return lines.at(0);
  }
};

TEST_F(Inspect, BeginsWithTheNumbersThatPeopleKnow) {
  const Outcome at512 = run("inspect --model bert.json --length 512");
  EXPECT_EQ(at512.code, 0) << at512.err;
  EXPECT_EQ(at512.err, "");
  EXPECT_TRUE(
      at512.out.starts_with("self-attention of layer 0 at 512 tokens, as ptflops counts: "
                            "905.97 MMac and 1.77 M parameters\n"))
      << at512.out;
  EXPECT_NE(at512.out.find("905971968 Mac, 1771776 parameters"), std::string::npos) << at512.out;
  const Outcome longer =
      run("inspect --model bert.json --length 1024 --max-tokens 1024 --positions extend");
  EXPECT_NE(longer.out.find("1.81 GMac and 1.77 M parameters"), std::string::npos) << longer.out;
  EXPECT_NE(longer.out.find("with max_tokens 512 -> 1024"), std::string::npos) << longer.out;
}

TEST_F(Inspect, EveryConvention) {
  const auto counted = [&](const std::string& convention) {
    const Json record = inspect("--model bert.json --length 512 --convention " + convention);
    EXPECT_EQ(record["convention"], convention);
    EXPECT_EQ(record["self_attention"]["count"], record["self_attention"][convention]);
    EXPECT_EQ(record["total"]["count"], record["total"][convention]);
    return record["self_attention"];
  };
  EXPECT_EQ(counted("ptflops")["count"], 905'971'968);
  EXPECT_EQ(counted("torch")["text"], "2.62 GFLOP");
  EXPECT_EQ(counted("exact")["count"], 1'308'622'848);
  EXPECT_GE(counted("executed")["count"], 1'308'622'848);
  expect_refused("inspect --model bert.json --length 8 --convention flops", "--convention");
}

TEST_F(Inspect, ReadsADirectoryWithoutWeights) {
  const Json record = inspect("--model long --length 4096 --global 1");
  EXPECT_EQ(record["model_class"], "LongformerForMaskedLM");
  EXPECT_EQ(record["parameters"], 148'711'257);
  EXPECT_EQ(record["global_tokens"], 1);
  int64_t parameters = 0;
  std::set<std::string> names;
  for (const Json& module : record["modules"]) {
    parameters += module["parameters"].get<int64_t>();
    names.insert(module["name"].get<std::string>());
  }
  EXPECT_EQ(parameters, 148'711'257);
  EXPECT_TRUE(names.count("key_global") == 1 && names.count("head_output") == 1);
  EXPECT_EQ(names.count("pooler"), 0u);
  const Json& field = record["receptive_field"];
  ASSERT_EQ(field.size(), 12u);
  EXPECT_EQ(field[0]["left"], 256);
  EXPECT_EQ(field[11]["right"], 12 * 256);
  EXPECT_EQ(field[0]["tokens"], 513);
  EXPECT_EQ(field[1]["tokens"], 4096);  // through the global token
  const Json local = inspect("--model long --length 4096")["receptive_field"];
  EXPECT_EQ(local[6]["tokens"], 2 * 7 * 256 + 1);
  EXPECT_EQ(local[7]["tokens"], 4096);
}

TEST_F(Inspect, RefusesAnArchitectureThatIsNoList) {
  put(path("text.json"),
      R"({"model_type": "bert", "vocab_size": 8, "hidden_size": 8, "num_hidden_layers": 1,
          "num_attention_heads": 2, "intermediate_size": 8, "architectures": "x"})");
  const Outcome result = run("inspect --model text.json --length 8");
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("\"architectures\" is \"x\"; it must be a list of strings"),
            std::string::npos)
      << result.err;
}

TEST_F(Inspect, WindowsAndDilationAreThoseOfTheOptions) {
  const Json record =
      inspect("--model long --length 4096 --attention-window 64 --attention-dilation 3");
  EXPECT_EQ(record["receptive_field"][0]["window"], 64);
  EXPECT_EQ(record["receptive_field"][1]["left"], 2 * 32 * 3);
  EXPECT_EQ(record["overrides"].size(), 2u);
  const Json full = inspect("--model bert.json --length 100");
  EXPECT_TRUE(full["receptive_field"][0]["left"].is_null());
  EXPECT_EQ(full["receptive_field"][0]["tokens"], 100);
}

TEST_F(Inspect, MemoryFollowsBatchThreadsAndArithmetic) {
  const auto memory = [&](const std::string& more) {
    return inspect("--model long --length 4096 " + more)["memory"];
  };
  const Json one = memory("--threads 1");
  EXPECT_EQ(one["peak"], one["weights"].get<int64_t>() + one["loading"].get<int64_t>() +
                             one["activations"].get<int64_t>() + one["file_pages"].get<int64_t>() +
                             one["libraries"].get<int64_t>());
  EXPECT_GT(one["process"], one["peak"]);
  const Json two = memory("--threads 2 --batch 3");
  EXPECT_EQ(two["threads"], 2);
  EXPECT_EQ(two["batch"], 3);
  EXPECT_GT(two["activations"], 2.5 * one["activations"].get<double>());
  EXPECT_EQ(two["weights"], one["weights"]);
  EXPECT_GT(memory("--threads 1 --global 1")["file_pages"], one["file_pages"]);
  EXPECT_EQ(memory("--compute f32")["compute"], "f32");
  EXPECT_LE(memory("--compute bf16")["weights"], one["weights"]);
  EXPECT_LE(memory("--compute int8")["weights"], one["weights"]);
}

TEST_F(Inspect, TextFitsInto100Columns) {
  const Outcome result = run("inspect --model long --length 4096 --global 2 --batch 4");
  ASSERT_EQ(result.code, 0) << result.err;
  for (size_t begin = 0; begin < result.out.size();) {
    const size_t end = result.out.find('\n', begin);
    EXPECT_LE(end - begin, 100u) << result.out.substr(begin, end - begin);
    begin = end + 1;
  }
  for (const char* part :
       {"query_global x12", "exact / executed", "layer    window", "file pages"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part;
  }
}

TEST_F(Inspect, WhatDoesNotFitTheModelIsNamed) {
  expect_refused("inspect --model long --length 4097", "at most 4096 tokens");
  EXPECT_EQ(run("inspect --model long --length 8192 --max-tokens 8192 --positions repeat").code, 0);
  expect_refused("inspect --model long --length 100 --global 101", "--global 101");
  expect_refused("inspect --model bert.json --length 100 --global 1", "no global attention");
  expect_refused("inspect --model bert.json --length 0", "--length");
  expect_refused("inspect --model bert.json --length 8 --batch 0", "--batch");
  expect_refused("inspect --model bert.json", "--length");
  expect_refused("inspect --model bert.json --length 8 --revision main", "--revision");
  expect_refused("inspect --model nowhere --length 8", "nowhere");
  put(path("broken.json"), "{");
  expect_refused("inspect --model broken.json --length 8", "broken.json");
}

// The estimate beside what a process takes that does it. Not where the system tells nothing, and
// not with a sanitizer, whose memory comes on top.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

TEST_F(Inspect, PeakIsWithinATenthOfWhatIsMeasured) {
  if (kSanitized) GTEST_SKIP() << "memory of a sanitizer comes on top";
  // 28 MB of weights in f32, 12 MB of embeddings.
  const std::string json =
      R"({"model_type": "longformer", "vocab_size": 8000, "hidden_size": 384,
          "num_attention_heads": 6, "intermediate_size": 1536, "num_hidden_layers": 4,
          "type_vocab_size": 1, "pad_token_id": 1, "max_position_embeddings": 8194,
          "attention_window": 128})";
  const EncoderConfig config = read_encoder_config(io::Config::parse(json, "config.json"));
  const test::Tensors tensors = test::random_tensors(config, 5);
  fs::create_directories(path("bare"));
  test::write_checkpoint(path("bare"), json, config, tensors);
  fs::create_directories(path("masked"));  // with logits of 8,000 words
  const std::string head = R"({"architectures": ["LongformerForMaskedLM"], )";
  test::write_checkpoint(path("masked"), head + json.substr(1), config, tensors);
  const auto measure = [&](const std::string& model, int64_t batch, const std::string& how) {
    const int64_t length = 4096 / batch;
    std::vector<int64_t> ids;
    for (int64_t t = 0; t < 4096; ++t) ids.push_back(2 + t * 7919 % 7998);
    write_inputs({integers("input_ids", {batch, length}, ids)});
    const Outcome measured = run("forward --inputs in --outputs out --timing --model " + model +
                                 " --global none " + how);
    ASSERT_EQ(measured.code, 0) << measured.err;
    const Json timing = Json::parse(measured.err.substr(measured.err.find("{\"load_s")));
    const Json memory =
        inspect("--model " + model + " --length " + std::to_string(length) + " --batch " +
                std::to_string(batch) + " " + how.substr(0, how.find(" --allow")))["memory"];
    const double empty = memory["process"].get<double>() - memory["peak"].get<double>();
    const double taken = timing["peak_rss_bytes"].get<double>() - empty;
    EXPECT_NEAR(memory["peak"].get<double>() / taken, 1.0, 0.1) << model << how << memory << timing;
  };
  for (const std::string how : {"--compute f32 --threads 1", "--compute f32 --threads 2",
                                "--compute bf16 --threads 1", "--compute int8 --threads 2"}) {
    measure("bare", 1, how);
    measure("masked", 1, how + " --allow-new-head");
  }
  measure("bare", 4, "--compute f32 --threads 2");
  measure("masked", 4, "--compute bf16 --threads 2 --allow-new-head");
}

}  // namespace
}  // namespace longformer
