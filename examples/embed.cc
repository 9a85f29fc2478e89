// Loads a model directory and prints the vector of a text:
//   embed MODEL_DIRECTORY "The text"
#include <cstdio>

#include "longformer/embedder.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s MODEL_DIRECTORY TEXT\n", argv[0]);
    return 2;
  }
  try {
    longformer::Embedder embedder = longformer::Embedder::load(argv[1]);
    for (const float value : embedder.embed(argv[2])) std::printf("%.9g\n", value);
  } catch (const longformer::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
