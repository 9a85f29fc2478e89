// The JSON reader behind config.json: an accepted object is written and read again, and is then the
// same; typed reads give a value or an error.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "io/config.h"
#include "longformer/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using longformer::io::Config;
  try {
    const Config config =
        Config::parse(std::string_view(reinterpret_cast<const char*>(data), size), "input");
    const std::string once = config.dump();
    if (Config::parse(once, "dump").dump() != once) std::abort();
    for (const char* key : {"hidden_size", "attention_window", "layer_norm_eps", "model_type"}) {
      try {
        const int64_t value = config.integer(key, 7, 1, 100);
        if (value < 1 || value > 100) std::abort();
      } catch (const longformer::Error&) {
      }
      try {
        for (const int64_t value : config.integers(key, 2, 512)) {
          if (value < 2 || value > 512) std::abort();
        }
      } catch (const longformer::Error&) {
      }
      try {
        config.number(key, 1e-12, 0, 1);
      } catch (const longformer::Error&) {
      }
      try {
        config.string(key, "bert");
      } catch (const longformer::Error&) {
      }
    }
  } catch (const longformer::Error&) {
  }
  return 0;
}
