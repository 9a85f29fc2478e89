// One checkpoint: a directory with the weights (f32, by parameter), the optimizer's memory, the
// state, and a manifest with the size and hash of each file, so that a damaged one is never used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "nn/parameters.h"
#include "train/optimizer.h"
#include "train/system_calls.h"
#include "train/training_state.h"

namespace longformer::train {

inline constexpr const char* kWeightsFile = "weights.safetensors";
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";
inline constexpr const char* kStateFile = "state.json";
inline constexpr const char* kManifestFile = "MANIFEST.json";

struct CheckpointContent {
  const ParameterSet& parameters;
  const Optimizer& optimizer;
  const TrainingState& state;
  std::string version;  // of this program; for people
};

// What write_checkpoint will need on the disk, about.
int64_t checkpoint_bytes(const ParameterSet& parameters, const Optimizer& optimizer);

// Fills a new directory, everything in it durable when this returns. Throws kIo.
void write_checkpoint(SystemCalls& calls, const std::filesystem::path& directory,
                      const CheckpointContent& content);

// Reads every byte. Throws kInvalidFile, kNotFound or kIo with the file and what is wrong where the
// directory is not as it was written.
void verify_checkpoint(const std::filesystem::path& directory);

// Of a checkpoint that was verified. Throw kInvalidFile where it belongs to another model or
// optimizer.
TrainingState read_state(const std::filesystem::path& directory);
void read_weights(const std::filesystem::path& directory, ParameterSet& parameters);
void read_optimizer(const std::filesystem::path& directory, Optimizer& optimizer,
                    const TrainingState& state);

}  // namespace longformer::train
