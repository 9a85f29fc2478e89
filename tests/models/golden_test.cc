// Golden tensors of the reference implementation, made by tools/make_goldens.py: each directory
// below tests/data/models is a checkpoint with inputs.safetensors and expected.safetensors, whose
// metadata holds the tolerance of that case.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "io/checkpoint/safetensors.h"
#include "longformer/encoder.h"

namespace longformer {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> golden_cases() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(LONGFORMER_TEST_DATA) / "models")) {
    if (fs::exists(entry.path() / "expected.safetensors"))
      names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

EncoderInput read_input(const io::SafetensorsFile& file) {
  EncoderInput input;
  for (const io::NamedTensor& tensor : file.tensors) {
    const std::vector<int64_t> values = to_i64(tensor.tensor);
    if (tensor.name == "input_ids") {
      input.lengths.assign(static_cast<size_t>(tensor.tensor.shape[0]), tensor.tensor.shape[1]);
      input.input_ids = values;
    } else if (tensor.name == "attention_mask") {
      input.attention_mask.assign(values.begin(), values.end());
    } else if (tensor.name == "global_attention_mask") {
      input.global_attention_mask.assign(values.begin(), values.end());
    } else if (tensor.name == "token_type_ids") {
      input.token_type_ids = values;
    } else if (tensor.name == "position_ids") {
      input.position_ids = values;
    } else {
      ADD_FAILURE() << "unknown input " << tensor.name;
    }
  }
  return input;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, EqualsTheReference) {
  const fs::path directory = fs::path(LONGFORMER_TEST_DATA) / "models" / GetParam();
  const io::SafetensorsFile expected = io::read_safetensors(directory / "expected.safetensors");
  const double tolerance = std::stod(expected.metadata.at("tolerance"));
  ASSERT_LE(tolerance, 1e-3);
  Encoder encoder = Encoder::load(directory, {.threads = 2});
  const EncoderOutput out = encoder.encode(
      read_input(io::read_safetensors(directory / "inputs.safetensors")), {.hidden_states = true});
  int compared = 0;
  for (const io::NamedTensor& tensor : expected.tensors) {
    const std::vector<float>* got = nullptr;
    if (tensor.name == "last_hidden_state") got = &out.last_hidden_state;
    if (tensor.name == "pooler_output") got = &out.pooler_output;
    if (tensor.name.starts_with("hidden_states."))
      got = &out.hidden_states.at(std::stoul(tensor.name.substr(14)));
    ASSERT_NE(got, nullptr) << tensor.name;
    const std::vector<float> want = to_f32(tensor.tensor);
    ASSERT_EQ(got->size(), want.size()) << tensor.name;
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR((*got)[i], want[i], tolerance) << tensor.name << " " << i;
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

INSTANTIATE_TEST_SUITE_P(Cases, Golden, testing::ValuesIn(golden_cases()),
                         [](const auto& golden) { return golden.param; });

}  // namespace
}  // namespace longformer
