#include "tasks/sentence_modules.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "io/config.h"
#include "io/files.h"

namespace longformer::tasks {
namespace {

namespace fs = std::filesystem;

// "sentence_transformers.models.Pooling" -> "Pooling"; version 6 has
// "sentence_transformers.sentence_transformer.modules.pooling.Pooling". A class from elsewhere may
// compute anything under the same name: it keeps its whole path, which is then refused.
std::string class_name(const std::string& type) {
  if (!type.starts_with("sentence_transformers.")) return type;
  return type.substr(type.rfind('.') + 1);
}

struct Module {
  std::string kind;
  fs::path directory;
};

// A plain path below the model, never outside.
fs::path module_directory(const fs::path& root, const io::Config& entry) {
  const std::string name = entry.string("path", "");
  const fs::path relative(name);
  const bool climbs = std::any_of(relative.begin(), relative.end(),
                                  [](const fs::path& part) { return part == ".."; });
  if (relative.is_absolute() || climbs) {
    throw Error(ErrorCode::kInvalidFile, "a module's \"path\" leaves the model directory",
                entry.place());
  }
  return name.empty() ? root : root / relative;
}

// modules.json: a list of {"type", "path", …}. Empty when the file is absent.
std::vector<Module> list_modules(const fs::path& root) {
  const fs::path path = root / "modules.json";
  if (!io::entry_exists(path)) return {};
  std::vector<Module> modules;
  for (const io::Config& entry : io::Config::read_list(path)) {
    if (!entry.has("type") || !entry.has("path")) {
      throw Error(ErrorCode::kInvalidFile, "each module needs \"type\" and \"path\"",
                  entry.place());
    }
    modules.push_back({class_name(entry.string("type", "")), module_directory(root, entry)});
  }
  return modules;
}

// The flags of versions before 6, in the order in which their vectors are joined.
constexpr std::array<std::pair<const char*, Pooling>, 6> kFlags = {{
    {"pooling_mode_cls_token", Pooling::kCls},
    {"pooling_mode_max_tokens", Pooling::kMax},
    {"pooling_mode_mean_tokens", Pooling::kMean},
    {"pooling_mode_mean_sqrt_len_tokens", Pooling::kMeanSqrtLength},
    {"pooling_mode_weightedmean_tokens", Pooling::kWeightedMean},
    {"pooling_mode_lasttoken", Pooling::kLastToken},
}};

std::vector<Pooling> read_pooling_modes(const io::Config& config) {
  std::vector<Pooling> modes;
  if (config.has("pooling_mode")) {
    for (const std::string& name : config.strings("pooling_mode")) {
      const std::optional<Pooling> pooling = pooling_from_name(name);
      if (!pooling) {
        throw Error(ErrorCode::kUnsupported,
                    "\"pooling_mode\" names a mode that is not computed; known: " +
                        pooling_names() + ", of which the caller may choose one instead",
                    config.place());
      }
      modes.push_back(*pooling);
    }
    if (modes.empty() || modes.size() > kFlags.size()) {
      throw Error(ErrorCode::kInvalidFile, "\"pooling_mode\" must name one to six modes",
                  config.place());
    }
    return modes;
  }
  for (const auto& [flag, pooling] : kFlags) {
    if (config.boolean(flag, false)) modes.push_back(pooling);
  }
  if (!modes.empty()) return modes;
  // The class's default is the mean; a file that switches it off and nothing on pools nothing.
  if (!config.boolean("pooling_mode_mean_tokens", true)) {
    throw Error(ErrorCode::kInvalidFile,
                "every pooling mode is false; set one, or choose one with --pooling",
                config.place());
  }
  return {Pooling::kMean};
}

// Modules can be told to read and write other things than the pooled vector.
void check_feature(const io::Config& config, const char* key) {
  const std::string name = config.string(key, "sentence_embedding");
  if (name == "sentence_embedding") return;
  throw Error(ErrorCode::kUnsupported,
              "\"" + std::string(key) +
                  "\" is not \"sentence_embedding\": modules that work on "
                  "other features than the pooled vector are not computed",
              config.place());
}

std::optional<HeadModule::Kind> head_kind(const std::string& name) {
  if (name == "Dense") return HeadModule::Kind::kDense;
  if (name == "LayerNorm") return HeadModule::Kind::kLayerNorm;
  if (name == "Normalize") return HeadModule::Kind::kNormalize;
  return std::nullopt;
}

[[noreturn]] void refuse_module(const fs::path& root, size_t index, const Module& module) {
  throw Error(
      ErrorCode::kUnsupported,
      "module " + std::to_string(index) + " is \"" + module.kind +
          "\"; supported, all of sentence_transformers: Transformer, then Pooling, then any of "
          "Dense, LayerNorm, Dropout and Normalize",
      (root / "modules.json").string());
}

void read_pooling_module(const Module& module, std::optional<Pooling> chosen,
                         SentenceModules& result) {
  const io::Config config = io::Config::read(module.directory / "config.json");
  if (!chosen) result.pooling = read_pooling_modes(config);
  result.include_prompt = config.boolean("include_prompt", true);
  const char* key =
      config.has("word_embedding_dimension") ? "word_embedding_dimension" : "embedding_dimension";
  result.dimension = config.integer(key, 0, 1, kMaxHidden);
}

}  // namespace

SentenceModules read_sentence_modules(const fs::path& directory, std::optional<Pooling> chosen) {
  SentenceModules result;
  if (chosen) result.pooling = {*chosen};
  result.transformer = directory;
  const std::vector<Module> modules = list_modules(directory);
  bool pooled = false;
  for (size_t i = 0; i < modules.size(); ++i) {
    const Module& module = modules[i];
    const std::optional<HeadModule::Kind> kind = head_kind(module.kind);
    if (i == 0 && module.kind == "Transformer") {
      result.transformer = module.directory;
    } else if (i > 0 && !pooled && module.kind == "Pooling") {
      pooled = true;
      read_pooling_module(module, chosen, result);
    } else if (pooled && module.kind == "Dropout") {
      continue;  // does nothing outside training
    } else if (pooled && kind) {
      if (io::entry_exists(module.directory / "config.json")) {
        const io::Config config = io::Config::read(module.directory / "config.json");
        check_feature(config, "module_input_name");
        check_feature(config, "module_output_name");
      }
      result.head.push_back({*kind, module.directory});
    } else {
      refuse_module(directory, i, module);
    }
  }
  result.stated = pooled || chosen.has_value();
  return result;
}

Prompts read_prompts(const fs::path& directory) {
  Prompts prompts;
  const fs::path path = directory / "config_sentence_transformers.json";
  prompts.place = path.string();
  if (!io::entry_exists(path)) return prompts;
  const io::Config config = io::Config::read(path);
  for (auto& [name, text] : config.string_map("prompts")) {
    if (text.size() > kMaxPromptBytes) {
      throw Error(ErrorCode::kInvalidFile,
                  "a prompt is longer than " + std::to_string(kMaxPromptBytes) + " bytes",
                  prompts.place);
    }
    prompts.named.emplace(name, text);
  }
  prompts.default_name = config.string("default_prompt_name", "");
  if (!prompts.default_name.empty() && !prompts.named.contains(prompts.default_name)) {
    throw Error(ErrorCode::kInvalidFile,
                "\"default_prompt_name\" is not one of the \"prompts\"; add it there, or remove it",
                prompts.place);
  }
  return prompts;
}

namespace {

const std::string* find_prompt(const Prompts& prompts, TextRole role) {
  static constexpr std::array<const char*, 1> kQuery = {"query"};
  static constexpr std::array<const char*, 3> kDocument = {"document", "passage", "corpus"};
  const auto first_of = [&](const auto& names) -> const std::string* {
    for (const char* name : names) {
      const auto found = prompts.named.find(name);
      if (found != prompts.named.end()) return &found->second;
    }
    return nullptr;
  };
  return role == TextRole::kQuery ? first_of(kQuery) : first_of(kDocument);
}

}  // namespace

std::string resolve_prompt(const Prompts& prompts, TextRole role,
                           const std::optional<std::string>& choice) {
  if (choice && (*choice == "query" || *choice == "document")) {
    const TextRole named = *choice == "query" ? TextRole::kQuery : TextRole::kDocument;
    if (const std::string* prompt = find_prompt(prompts, named)) return *prompt;
    std::string names;
    for (const auto& [name, text] : prompts.named) names += (names.empty() ? "" : ", ") + name;
    throw Error(ErrorCode::kInvalidArgument,
                "the model's files have no prompt for a " + *choice + "; they name " +
                    (names.empty() ? "none" : names) + "; give the prompt's text instead",
                "prompt");
  }
  if (choice) {
    const auto found = prompts.named.find(*choice);
    if (found != prompts.named.end()) return found->second;
    if (choice->size() > kMaxPromptBytes) {
      throw Error(ErrorCode::kInvalidArgument,
                  "must not be longer than " + std::to_string(kMaxPromptBytes) + " bytes",
                  "prompt");
    }
    return *choice;
  }
  if (const std::string* prompt = find_prompt(prompts, role)) return *prompt;
  return prompts.default_name.empty() ? "" : prompts.named.at(prompts.default_name);
}

}  // namespace longformer::tasks
