// The index of a sharded checkpoint: in an accepted one each tensor stands exactly once, and each
// shard is a plain name in the directory.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "io/checkpoint/shard_index.h"
#include "longformer/error.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const longformer::io::Shards& shards, std::string_view suffix) {
  std::set<std::string> files, tensors;
  for (const auto& [file, names] : shards) {
    require(file.ends_with(suffix) && file.size() <= 255);
    require(file.find('/') == file.npos && file.find('\\') == file.npos && file[0] != '.');
    require(files.insert(file).second && !names.empty());
    for (const std::string& name : names) require(tensors.insert(name).second);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string_view suffix : {".safetensors", ".bin"}) {
    try {
      check(longformer::io::parse_shard_index(text, "input", suffix), suffix);
    } catch (const longformer::Error&) {
    }
  }
  return 0;
}
