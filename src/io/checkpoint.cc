#include "io/checkpoint.h"

#include <map>
#include <set>

#include "base/limits.h"
#include "io/files.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kPickles[] = {"pytorch_model.bin", "pytorch_model.bin.index.json"};

[[noreturn]] void throw_no_weights(const fs::path& directory) {
  for (const char* const name : kPickles) {
    if (!entry_exists(directory / name)) continue;
    throw Error(ErrorCode::kUnsupported,
                std::string(name) +
                    " is a pickle file, which this version does not read; convert it once with "
                    "transformers: AutoModel.from_pretrained(DIR).save_pretrained(DIR)",
                directory.string());
  }
  throw Error(ErrorCode::kNotFound,
              std::string("holds no weights: neither ") + kSingle + " nor " + kIndex + " is there",
              directory.string());
}

// Shard names come from a file that anyone may have written: only plain names of files in the
// directory itself.
void check_shard_name(const std::string& name, const std::string& place) {
  const bool plain = !name.empty() && name.size() <= 255 && name.front() != '.' &&
                     name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
  if (!plain || !name.ends_with(".safetensors")) {
    throw Error(ErrorCode::kInvalidFile,
                "the shard name " + short_value(Json(name)) +
                    " is not the plain name of a .safetensors file in this directory",
                place);
  }
}

// Shard file -> names it must hold, both in the order of the index.
using Shards = std::vector<std::pair<std::string, std::vector<std::string>>>;

Shards read_index(const fs::path& path) {
  const std::string place = path.string();
  const Json json = parse_json(read_file(path, kMaxJsonBytes), place, DuplicateKeys::kRefused);
  const auto refuse = [&](const std::string& rule) {
    throw Error(ErrorCode::kInvalidFile, rule, place);
  };
  if (!json.is_object()) refuse("holds " + short_value(json) + "; a JSON object is needed");
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object()) {
    refuse("has no \"weight_map\" object from tensor names to shard files");
  }
  if (map->size() > kMaxTensors) {
    refuse("lists more than " + std::to_string(kMaxTensors) + " tensors");
  }
  Shards shards;
  std::map<std::string, size_t> position;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) {
      refuse("weight_map entry " + short_value(Json(tensor)) + " is " + short_value(shard) +
             "; it must be a file name");
    }
    const auto& file = shard.get_ref<const std::string&>();
    const auto [found, added] = position.try_emplace(file, shards.size());
    if (added) {
      check_shard_name(file, place);
      shards.emplace_back(file, std::vector<std::string>());
    }
    shards[found->second].second.push_back(tensor);
  }
  return shards;
}

}  // namespace

struct Checkpoint::Impl {
  fs::path directory;
  std::vector<std::string> names;
  std::map<std::string, Tensor> tensors;

  void add(NamedTensor&& item) {
    names.push_back(item.name);
    tensors.emplace(std::move(item.name), std::move(item.tensor));
  }

  void add_shard(const std::string& shard, const std::vector<std::string>& wanted) {
    const fs::path path = directory / shard;
    if (!entry_exists(path)) {
      throw Error(ErrorCode::kInvalidFile, "names the shard " + shard + ", which does not exist",
                  (directory / kIndex).string());
    }
    std::set<std::string> missing(wanted.begin(), wanted.end());
    SafetensorsFile file = read_safetensors(path);
    for (NamedTensor& item : file.tensors) {
      // Tensors that the index gives to another shard, or does not know, are not part of the model.
      if (missing.erase(item.name) == 1) add(std::move(item));
    }
    for (const std::string& name : wanted) {
      if (!missing.contains(name)) continue;
      throw Error(ErrorCode::kInvalidFile,
                  "says that " + shard + " holds " + short_value(Json(name)) + "; it does not",
                  (directory / kIndex).string());
    }
  }
};

Checkpoint Checkpoint::open(const fs::path& directory) {
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (!fs::is_directory(status)) {
    if (error && error != std::errc::no_such_file_or_directory &&
        error != std::errc::not_a_directory) {
      throw Error(ErrorCode::kIo, error.message(), directory.string());
    }
    throw Error(
        ErrorCode::kNotFound,
        fs::exists(status)
            ? "is not a directory; name the directory that holds config.json and the weights"
            : "no such model directory",
        directory.string());
  }
  const auto impl = std::make_shared<Impl>();
  impl->directory = directory;
  if (entry_exists(directory / kSingle)) {
    for (NamedTensor& item : read_safetensors(directory / kSingle).tensors) {
      impl->add(std::move(item));
    }
  } else if (entry_exists(directory / kIndex)) {
    for (const auto& [shard, wanted] : read_index(directory / kIndex)) {
      impl->add_shard(shard, wanted);
    }
  } else {
    throw_no_weights(directory);
  }
  Checkpoint checkpoint;
  checkpoint.impl_ = impl;
  return checkpoint;
}

const std::vector<std::string>& Checkpoint::names() const { return impl_->names; }
const fs::path& Checkpoint::directory() const { return impl_->directory; }

bool Checkpoint::contains(const std::string& name) const { return impl_->tensors.contains(name); }

Tensor Checkpoint::tensor(const std::string& name) const {
  const auto found = impl_->tensors.find(name);
  if (found == impl_->tensors.end()) {
    throw Error(ErrorCode::kNotFound, "the checkpoint holds no tensor " + short_value(Json(name)),
                impl_->directory.string());
  }
  return found->second;
}

}  // namespace longformer::io
