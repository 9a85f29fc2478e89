#include "models/save_model.h"

#include <string>
#include <vector>

#include "io/checkpoint/safetensors.h"
#include "io/config.h"
#include "io/files.h"
#include "models/convert_files.h"

namespace longformer {
namespace {

io::Config changed_config(const TrainableModel& model, const std::filesystem::path& source) {
  io::Config config = io::Config::read(source / "config.json");
  const TaskInfo& info = model.info();
  config.set("architectures", std::vector<std::string>{info.model_class});
  if (!info.labels.empty()) {
    io::Config names, numbers;
    for (size_t i = 0; i < info.labels.size(); ++i) {
      names.set(std::to_string(i), info.labels[i]);
      numbers.set(info.labels[i], static_cast<int64_t>(i));
    }
    config.set("id2label", names);
    config.set("label2id", numbers);
    config.erase("num_labels");
  }
  if (!info.problem_type.empty()) config.set("problem_type", info.problem_type);
  if (!model.overrides().empty() && model.config().global_attention) {
    config.set("attention_window", model.config().attention_window);
  }
  for (const char* type : {"torch_dtype", "dtype"}) {
    if (config.has(type)) config.set(type, "float32");
  }
  return config;
}

}  // namespace

void save_model(const TrainableModel& model, const std::filesystem::path& source,
                const std::filesystem::path& directory, GlobalProjections global) {
  const ParameterSet& parameters = model.parameters();
  std::vector<io::NamedTensor> tensors;
  for (const Parameter& parameter : parameters.all()) {
    const std::string& name = parameter.spec.name;
    std::string from = name;
    const size_t at = name.find("_global.");
    if (global == GlobalProjections::kFromLocal && at != std::string::npos) {
      from = name.substr(0, at) + name.substr(at + std::string("_global").size());
    }
    tensors.push_back({name, parameters.view(from)});
  }
  io::write_safetensors(directory / "model.safetensors", tensors, {{"format", "pt"}});
  io::write_file_atomic(directory / "config.json", changed_config(model, source).dump());
  copy_companions(source, directory);
}

}  // namespace longformer
