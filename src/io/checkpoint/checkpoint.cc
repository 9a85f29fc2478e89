#include "io/checkpoint/checkpoint.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/limits.h"
#include "io/checkpoint/safetensors.h"
#include "io/checkpoint/shard_index.h"
#include "io/checkpoint/torch_file.h"
#include "io/files.h"
#include "io/json.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

namespace fs = std::filesystem;

// One kind of weights: a file, or an index that names its shards.
struct Layout {
  const char* file;
  const char* index;
  const char* suffix;  // of shards
  bool pickled;
};

constexpr Layout kSafetensors = {"model.safetensors", "model.safetensors.index.json",
                                 ".safetensors", false};
constexpr Layout kPyTorch = {"pytorch_model.bin", "pytorch_model.bin.index.json", ".bin", true};

std::string known_files() {
  std::string names;
  for (const Layout& layout : {kSafetensors, kPyTorch}) {
    for (const char* const name : {layout.file, layout.index}) {
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
  }
  return names;
}

bool looks_like_safetensors(const Storage& storage) {
  const std::span<const std::byte> bytes = storage.bytes();
  return bytes.size() > 8 && bytes[8] == std::byte{'{'} && bytes[6] == std::byte{0} &&
         bytes[7] == std::byte{0};
}

struct Weights {
  std::vector<TorchTensor> tensors;
  std::vector<std::string> refused;
};

// Some files called .bin hold safetensors.
Weights read_weights(const fs::path& path, const Layout& layout) {
  const std::shared_ptr<const Storage> storage = map_file(path);
  Weights weights;
  if (layout.pickled && !looks_like_safetensors(*storage)) {
    TorchFile file = parse_torch(storage, path.string());
    weights.tensors = std::move(file.tensors);
    weights.refused = std::move(file.refused);
    return weights;
  }
  SafetensorsFile file = parse_safetensors(storage, path.string());
  for (NamedTensor& item : file.tensors) {
    TorchTensor& tensor = weights.tensors.emplace_back();
    tensor.name = std::move(item.name);
    tensor.view = std::move(item.tensor);
  }
  return weights;
}

}  // namespace

struct Checkpoint::Impl {
  fs::path directory;
  std::vector<std::string> names;
  std::map<std::string, TorchTensor> tensors;
  std::vector<std::string> refused;

  void add(TorchTensor&& item) {
    names.push_back(item.name);
    std::string name = item.name;
    tensors.emplace(std::move(name), std::move(item));
  }

  void add_refused(const std::vector<std::string>& more) {
    for (const std::string& name : more) {
      if (std::find(refused.begin(), refused.end(), name) == refused.end()) {
        refused.push_back(name);
      }
    }
  }

  void add_file(const Layout& layout) {
    Weights weights = read_weights(directory / layout.file, layout);
    for (TorchTensor& item : weights.tensors) add(std::move(item));
    add_refused(weights.refused);
  }

  void add_shards(const Layout& layout) {
    const std::string index = (directory / layout.index).string();
    for (const auto& [shard, wanted] :
         parse_shard_index(read_file(index, kMaxJsonBytes), index, layout.suffix)) {
      add_shard(layout, shard, wanted);
    }
  }

  void add_shard(const Layout& layout, const std::string& shard,
                 const std::vector<std::string>& wanted) {
    const fs::path path = directory / shard;
    const std::string index = (directory / layout.index).string();
    if (!entry_exists(path)) {
      throw Error(ErrorCode::kInvalidFile, "names the shard " + shard + ", which does not exist",
                  index);
    }
    std::set<std::string> missing(wanted.begin(), wanted.end());
    Weights weights = read_weights(path, layout);
    for (TorchTensor& item : weights.tensors) {
      // Tensors that the index gives to another shard, or does not know, are not part of the model.
      if (missing.erase(item.name) == 1) add(std::move(item));
    }
    add_refused(weights.refused);
    for (const std::string& name : wanted) {
      if (!missing.contains(name)) continue;
      throw Error(ErrorCode::kInvalidFile,
                  "says that " + shard + " holds " + short_value(Json(name)) + "; it does not",
                  index);
    }
  }

  const TorchTensor& at(const std::string& name) const {
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      throw Error(ErrorCode::kNotFound, "the checkpoint holds no tensor " + short_value(Json(name)),
                  directory.string());
    }
    return found->second;
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
  for (const Layout& layout : {kSafetensors, kPyTorch}) {
    if (entry_exists(directory / layout.file)) {
      impl->add_file(layout);
    } else if (entry_exists(directory / layout.index)) {
      impl->add_shards(layout);
    } else {
      continue;
    }
    Checkpoint checkpoint;
    checkpoint.impl_ = impl;
    return checkpoint;
  }
  throw Error(ErrorCode::kNotFound, "holds no weights: none of " + known_files() + " is there",
              directory.string());
}

const std::vector<std::string>& Checkpoint::names() const { return impl_->names; }
const std::vector<std::string>& Checkpoint::refused() const { return impl_->refused; }
const fs::path& Checkpoint::directory() const { return impl_->directory; }

bool Checkpoint::contains(const std::string& name) const { return impl_->tensors.contains(name); }

Tensor Checkpoint::tensor(const std::string& name) const {
  return impl_->at(name).read(impl_->directory.string());
}

const Shape& Checkpoint::shape(const std::string& name) const {
  const TorchTensor& tensor = impl_->at(name);
  if (!tensor.is_readable()) tensor.read(impl_->directory.string());  // throws
  return tensor.view.shape;
}

}  // namespace longformer::io
