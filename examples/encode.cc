// Loads a model directory and prints the first token's final state for some token ids:
//   example_encode MODEL_DIRECTORY ID ID ID…
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "longformer/encoder.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s MODEL_DIRECTORY ID…\n", argv[0]);
    return 2;
  }
  try {
    longformer::Encoder encoder = longformer::Encoder::load(argv[1]);
    longformer::EncoderInput input;
    for (int i = 2; i < argc; ++i) input.input_ids.push_back(std::atoll(argv[i]));
    // A batch is the sequences one after the other; this one has a single sequence, and nothing is
    // padded.
    input.lengths = {static_cast<int64_t>(input.input_ids.size())};
    const longformer::EncoderOutput output = encoder.encode(input);
    for (int64_t i = 0; i < encoder.info().hidden_size; ++i) {
      std::printf("%g\n", output.last_hidden_state[static_cast<size_t>(i)]);
    }
  } catch (const longformer::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
