// Documents of many lengths as one ragged batch through the public interface, warm: what P8 times.
// INPUTS: safetensors with input_ids [tokens] and lengths [documents], I64, the documents one after
// the other; the first token of each is global. OUTPUTS gets last_hidden_state [tokens, hidden].
// Prints one JSON line: passes_s (each pass), compute_s (their median).
//
//   ragged_bench MODEL INPUTS OUTPUTS THREADS REPEAT
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/checkpoint/safetensors.h"
#include "longformer/encoder.h"

namespace {

using namespace longformer;
using Clock = std::chrono::steady_clock;

EncoderInput read_input(const char* path) {
  EncoderInput input;
  for (const io::NamedTensor& tensor : io::read_safetensors(path).tensors) {
    if (tensor.name == "input_ids") input.input_ids = to_i64(tensor.tensor);
    if (tensor.name == "lengths") input.lengths = to_i64(tensor.tensor);
  }
  input.global_attention_mask.assign(input.input_ids.size(), 0);
  size_t begin = 0;
  for (const int64_t length : input.lengths) {
    if (length < 1 || begin >= input.input_ids.size())
      throw Error(ErrorCode::kInvalidFile, "lengths do not add up to the tokens", path);
    input.global_attention_mask[begin] = 1;
    begin += static_cast<size_t>(length);
  }
  return input;
}

int run(char** arguments) {
  const EncoderInput input = read_input(arguments[1]);
  Encoder encoder = Encoder::load(arguments[0], {.threads = std::atoi(arguments[3])});
  EncoderOutput out;
  std::vector<double> passes;
  for (int pass = 0; pass < std::max(1, std::atoi(arguments[4])); ++pass) {
    const auto start = Clock::now();
    out = encoder.encode(input, {.pooler = false});
    passes.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  const Shape shape{static_cast<int64_t>(input.input_ids.size()), encoder.info().hidden_size};
  const io::NamedTensor states{"last_hidden_state",
                               make_tensor(shape, std::span<const float>(out.last_hidden_state))};
  io::write_safetensors(arguments[2], std::span(&states, 1));
  nlohmann::ordered_json line = {{"passes_s", passes}};
  std::sort(passes.begin(), passes.end());
  line["compute_s"] = passes[passes.size() / 2];
  std::printf("%s\n", line.dump().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: ragged_bench MODEL INPUTS OUTPUTS THREADS REPEAT\n");
    return 2;
  }
  try {
    return run(argv + 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ragged_bench: %s\n", error.what());
    return 1;
  }
}
