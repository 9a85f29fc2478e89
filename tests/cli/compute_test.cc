// --compute, --check-tensors and models stored in int8, through the program; each row of the table
// of what runs.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cli/command_fixture.h"
#include "io/checkpoint/safetensors.h"

namespace longformer {
namespace {

class Compute : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    write_inputs({integers("input_ids", {1, 8}, {2, 8, 9, 10, 11, 12, 5, 3}),
                  integers("global_attention_mask", {1, 8}, {1, 0, 0, 0, 0, 0, 0, 0})});
  }

  // last_hidden_state of `forward`, and what its file says of the arithmetic.
  std::vector<float> states(const std::string& options, const std::string& environment = "",
                            std::string* note = nullptr) {
    const Outcome result = run("forward --inputs in --outputs out " + options, environment);
    EXPECT_EQ(result.code, 0) << options << " " << environment << "\n" << result.err;
    const io::SafetensorsFile file = io::read_safetensors(path("out"));
    const auto found = file.metadata.find("compute");
    if (note != nullptr) *note = found == file.metadata.end() ? "" : found->second;
    for (const io::NamedTensor& tensor : file.tensors) {
      if (tensor.name == "last_hidden_state") return to_f32(tensor.tensor);
    }
    return {};
  }
};

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = a.size() == b.size() && !a.empty() ? 0 : 1e9;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
  }
  return largest;
}

// What `info` must say under an instruction set, on a processor with these features.
std::map<std::string, std::string> expected_rows(const std::string& isa,
                                                 const std::set<std::string>& features) {
  const bool most = isa == "avx512_bf16";
  const bool bf16 = most && features.contains("avx512_bf16");
  const bool int8 = (most || isa == "avx512_vnni") && features.contains("avx512_vnni");
  std::map<std::string, std::string> rows = {{"f32", "f32"}};
  rows["bf16"] = bf16 ? "bf16" : "f32, weights rounded to bf16";
  rows["int8"] = !int8  ? "f32, weights rounded to int8"
                 : bf16 ? "int8 products, bf16 attention"
                        : "int8 products, f32 attention";
  return rows;
}

TEST_F(Compute, EveryRowOfTheTableIsSaidAndComputesNearF32) {
  const Json machine = Json::parse(run("info --json --model model").out);
  const std::set<std::string> features = machine["features"];
  if (!features.contains("avx2")) GTEST_SKIP() << "LONGFORMER_ISA knows x86 only";
  const std::vector<float> exact = states("--model model");
  for (const std::string isa : {"avx2", "avx512", "avx512_vnni", "avx512_bf16"}) {
    const std::string environment = "LONGFORMER_ISA=" + isa;
    const Json info = Json::parse(run("info --json --model model --compute int8", environment).out);
    EXPECT_EQ(info["model"]["compute"], "int8") << isa;
    EXPECT_EQ(info["model"]["computed"], expected_rows(isa, features)["int8"]) << isa;
    for (const auto& [compute, row] : expected_rows(isa, features)) {
      EXPECT_EQ(info["compute"][compute], row) << isa;
      const std::string options = "--model model --compute " + compute;
      std::string note;
      const double difference = largest_difference(states(options, environment, &note), exact);
      // States have rows of unit variance; bf16 keeps 8 bits, int8 about 7.
      EXPECT_LT(difference, compute == "f32"    ? 1e-5
                            : compute == "bf16" ? 0.06
                                                : 0.2)
          << isa << " " << compute;
      if (compute != "f32") {
        EXPECT_GT(difference, 1e-5) << isa << " " << compute;
      }
      EXPECT_EQ(note, compute == "f32" ? "" : compute) << isa;
    }
  }
}

TEST_F(Compute, AModelStoredInInt8) {
  ASSERT_EQ(run("convert --dtype int8 model small").code, 0);
  const Json info = Json::parse(run("info --json --model small").out);
  EXPECT_EQ(info["model"]["compute"], "int8");
  EXPECT_EQ(info["model"]["unexpected"], 0);
  const std::vector<float> exact = states("--model model");
  for (const std::string isa : {"avx2", "native"}) {
    std::string note;
    EXPECT_LT(largest_difference(states("--model small", "LONGFORMER_ISA=" + isa, &note), exact),
              0.2);
    EXPECT_EQ(note, "int8");
    EXPECT_LT(largest_difference(
                  states("--model small --compute f32", "LONGFORMER_ISA=" + isa, &note), exact),
              0.2);
    EXPECT_EQ(note, "");
  }
  EXPECT_LT(fs::file_size(path("small") / "model.safetensors"),
            fs::file_size(model() / "model.safetensors"));
  // The other commands, and back.
  EXPECT_EQ(run("search --model small 'the fox' text.txt").code, 0);
  ASSERT_EQ(run("embed --model small --output v.safetensors text.txt").code, 0);
  EXPECT_EQ(io::read_safetensors(path("v.safetensors")).metadata.at("compute"), "int8");
  ASSERT_EQ(run("embed --model model --output v.safetensors text.txt").code, 0);
  EXPECT_FALSE(io::read_safetensors(path("v.safetensors")).metadata.contains("compute"));
  ASSERT_EQ(run("convert --dtype f32 small wide").code, 0);
  EXPECT_LT(largest_difference(states("--model wide"), states("--model small --compute f32")),
            1e-5);
}

TEST_F(Compute, BrokenWeightsAreFoundWhenAsked) {
  auto tensors = io::read_safetensors(model() / "model.safetensors").tensors;
  for (io::NamedTensor& tensor : tensors) {
    if (tensor.name != "encoder.layer.1.output.dense.weight") continue;
    std::vector<float> values = to_f32(tensor.tensor);
    values[40] = std::nanf("");
    tensor.tensor = make_tensor(tensor.tensor.shape, std::span<const float>(values));
  }
  io::write_safetensors(model() / "model.safetensors", tensors);
  for (const std::string command :
       {"search --model model 'the fox' text.txt", "embed --model model text.txt",
        "index --model model --output i text.txt",
        "forward --model model --inputs in --outputs out", "info --model model"}) {
    expect_refused(command + " --check-tensors true",
                   "\"encoder.layer.1.output.dense.weight\" holds nan at [1, 8]");
  }
  EXPECT_EQ(run("info --model model --check-tensors false").code, 0);
  EXPECT_EQ(run("info --model model --check-tensors perhaps").code, 2);
  EXPECT_EQ(run("info --model model --compute f16").code, 2);
}

TEST_F(Compute, AnIndexKeepsItsArithmetic) {
  ASSERT_EQ(run("index --model model --compute bf16 --output i text.txt").code, 0);
  EXPECT_EQ(run("search --index i 'the fox'").code, 0);
  EXPECT_EQ(run("search --index i --compute bf16 'the fox'").code, 0);
  expect_refused("search --index i --compute f32 'the fox'", "compute bf16 in the index, f32");
  put(path("more.txt"), "The moon is old.");
  EXPECT_EQ(run("index --output i text.txt more.txt").code, 0);
  expect_refused("index --output i --compute int8 text.txt", "compute bf16 in the index, int8");
  ASSERT_EQ(run("index --model model --output j text.txt").code, 0);
  expect_refused("search --index j --compute bf16 'the fox'", "compute f32 in the index, bf16");
  // Without a word, a model that is stored in int8 computes so.
  ASSERT_EQ(run("convert --dtype int8 model small").code, 0);
  ASSERT_EQ(run("index --model small --output k text.txt").code, 0);
  EXPECT_EQ(run("search --index k 'the fox'").code, 0);
  expect_refused("search --index k --compute f32 'the fox'", "compute int8 in the index, f32");
}

}  // namespace
}  // namespace longformer
