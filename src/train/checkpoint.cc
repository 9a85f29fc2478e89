#include "train/checkpoint.h"

#include <array>
#include <functional>
#include <vector>

#include "base/limits.h"
#include "io/checkpoint/safetensors.h"
#include "io/files.h"
#include "io/hash.h"
#include "io/json.h"
#include "longformer/error.h"

namespace longformer::train {
namespace {

namespace fs = std::filesystem;

constexpr std::array kHashedFiles = {kWeightsFile, kOptimizerFile, kStateFile};
constexpr const char* kFormat = "longformer training checkpoint 1";

using Put = std::function<void(std::string_view)>;

// Returns what the manifest says of the file.
io::Json write_file(SystemCalls& calls, const fs::path& path,
                    const std::function<void(const Put&)>& fill) {
  DurableFile file(calls, path);
  fill([&](std::string_view bytes) { file.write(bytes); });
  file.commit();
  return {{"bytes", file.bytes()}, {"sha256", file.sha256()}};
}

std::vector<io::NamedTensor> weights_of(const ParameterSet& parameters) {
  std::vector<io::NamedTensor> tensors;
  for (const Parameter& parameter : parameters.all()) {
    tensors.push_back({parameter.spec.name, parameters.view(parameter.spec.name)});
  }
  return tensors;
}

// The manifest vouches for itself as well: its last key is the hash of it without that key.
std::string manifest_text(io::Json manifest) {
  manifest.erase("sha256");
  io::Sha256 hash;
  hash.update(manifest.dump(2));
  manifest["sha256"] = hash.hex();
  return manifest.dump(2) + "\n";
}

[[noreturn]] void refuse(const fs::path& path, const std::string& what) {
  throw Error(ErrorCode::kInvalidFile, what, path.string());
}

io::Json read_manifest(const fs::path& path) {
  const std::string text = io::read_file(path, kMaxJsonBytes);
  io::Json manifest = io::parse_json(text, path.string(), io::DuplicateKeys::kRefused);
  if (!manifest.is_object() || manifest.value("format", io::Json()) != kFormat) {
    refuse(path, "is no manifest of a checkpoint");
  }
  if (text != manifest_text(manifest)) refuse(path, "is not as it was written");
  return manifest;
}

void verify_file(const fs::path& path, const io::Json& entry) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) throw Error(ErrorCode::kNotFound, error.message(), path.string());
  if (entry.at("bytes") != size) {
    refuse(path, "has " + std::to_string(size) + " bytes, and was written with " +
                     io::short_value(entry.at("bytes")));
  }
  if (entry.at("sha256") != io::sha256_file(path)) refuse(path, "is not as it was written");
}

}  // namespace

int64_t checkpoint_bytes(const ParameterSet& parameters, const Optimizer& optimizer) {
  constexpr int64_t kOther = 1 << 20, kHeaderBytes = 256;  // an entry of a header
  const auto tensors = static_cast<int64_t>(3 * parameters.all().size());
  return static_cast<int64_t>(sizeof(float)) *
             (parameters.elements() + optimizer.state_elements()) +
         kHeaderBytes * tensors + kOther;
}

void write_checkpoint(SystemCalls& calls, const fs::path& directory,
                      const CheckpointContent& content) {
  io::Json files = io::Json::object();
  files[kWeightsFile] = write_file(calls, directory / kWeightsFile, [&](const Put& put) {
    io::put_safetensors(put, weights_of(content.parameters), {{"format", "pt"}},
                        (directory / kWeightsFile).string());
  });
  files[kOptimizerFile] = write_file(calls, directory / kOptimizerFile, [&](const Put& put) {
    io::put_safetensors(put, content.optimizer.state(), {{"format", "pt"}},
                        (directory / kOptimizerFile).string());
  });
  files[kStateFile] = write_file(calls, directory / kStateFile, [&](const Put& put) {
    put(state_json(content.state).dump(2, ' ', false, io::Json::error_handler_t::replace) + "\n");
  });
  const TrainingState& state = content.state;
  const io::Json manifest = {{"format", kFormat},
                             {"version", content.version},
                             {"step", state.step},
                             {"epoch", state.position.epoch},
                             {"index", state.position.group},
                             {"seed", state.options.value("seed", io::Json())},
                             {"files", files}};
  write_file(calls, directory / kManifestFile,
             [&](const Put& put) { put(manifest_text(manifest)); });
  sync_directory(calls, directory);
}

void verify_checkpoint(const fs::path& directory) {
  const io::Json manifest = read_manifest(directory / kManifestFile);
  try {
    for (const char* name : kHashedFiles) {
      verify_file(directory / name, manifest.at("files").at(name));
    }
  } catch (const io::Json::exception& error) {
    refuse(directory / kManifestFile, io::json_reason(error));
  }
}

TrainingState read_state(const fs::path& directory) {
  const fs::path path = directory / kStateFile;
  return state_from_json(io::parse_json(io::read_file(path, kMaxJsonBytes), path.string(),
                                        io::DuplicateKeys::kRefused),
                         path.string());
}

void read_weights(const fs::path& directory, ParameterSet& parameters) {
  const fs::path path = directory / kWeightsFile;
  const io::SafetensorsFile file = io::read_safetensors(path);
  if (file.tensors.size() != parameters.all().size()) {
    refuse(path, "holds " + std::to_string(file.tensors.size()) + " tensors, and the model has " +
                     std::to_string(parameters.all().size()) + "; continue with the same model");
  }
  for (const io::NamedTensor& item : file.tensors) {
    if (!parameters.has(item.name) || parameters.at(item.name).spec.shape != item.tensor.shape) {
      refuse(path, "tensor \"" + item.name + "\" of shape " + to_string(item.tensor.shape) +
                       " does not belong to the model; continue with the same model");
    }
  }
  for (const io::NamedTensor& item : file.tensors) {
    const Parameter& parameter = parameters.at(item.name);
    to_f32(item.tensor, {parameter.value, static_cast<size_t>(parameter.elements)});
  }
}

void read_optimizer(const fs::path& directory, Optimizer& optimizer, const TrainingState& state) {
  const fs::path path = directory / kOptimizerFile;
  optimizer.restore(io::read_safetensors(path).tensors, state.optimizer_steps, path.string());
}

}  // namespace longformer::train
