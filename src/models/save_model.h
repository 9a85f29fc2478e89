// A trained model as a directory that the reference loads.
#pragma once

#include <filesystem>

#include "models/trainable_model.h"

namespace longformer {

enum class GlobalProjections {
  kAsTrained,
  kFromLocal,  // query, key and value as they are now serve as *_global too: none was trained
};

// Writes config.json (that of `source` with class, labels and windows of the model), the parameters
// as model.safetensors in f32, and the files that go along (tokenizer, licence) into `directory`,
// which exists. Throws kIo.
void save_model(const TrainableModel& model, const std::filesystem::path& source,
                const std::filesystem::path& directory, GlobalProjections global);

}  // namespace longformer
