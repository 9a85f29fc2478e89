#include "tasks/model_files.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "io/config.h"
#include "io/files.h"

namespace longformer::tasks {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> read_if_there(const fs::path& path, uint64_t max_bytes) {
  if (!io::entry_exists(path)) return std::nullopt;
  return io::read_file(path, max_bytes);
}

// "sentence_transformers.models.Pooling" -> "Pooling"
std::string last_part(const std::string& type) {
  const size_t dot = type.rfind('.');
  return dot == std::string::npos ? type : type.substr(dot + 1);
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
std::vector<Module> read_modules(const fs::path& root) {
  const fs::path path = root / "modules.json";
  if (!io::entry_exists(path)) return {};
  std::vector<Module> modules;
  for (const io::Config& entry : io::Config::read_list(path)) {
    if (!entry.has("type") || !entry.has("path")) {
      throw Error(ErrorCode::kInvalidFile, "each module needs \"type\" and \"path\"",
                  entry.place());
    }
    modules.push_back({last_part(entry.string("type", "")), module_directory(root, entry)});
  }
  return modules;
}

[[noreturn]] void refuse_mode(const io::Config& config, const std::string& mode) {
  throw Error(
      ErrorCode::kUnsupported,
      "pooling mode " + mode +
          " is not computed; known: mean, cls, max, of which the caller may choose one instead",
      config.place());
}

// "pooling_mode": a name, or a list of one.
Pooling named_pooling(const io::Config& config) {
  const std::vector<std::string> names = config.strings("pooling_mode");
  if (names.size() != 1) refuse_mode(config, "\"pooling_mode\" with several values");
  const std::optional<Pooling> pooling = pooling_from_name(names[0]);
  if (!pooling) refuse_mode(config, "\"" + names[0] + "\"");
  return *pooling;
}

Pooling read_pooling_mode(const io::Config& config) {
  if (config.has("pooling_mode")) return named_pooling(config);
  for (const char* other : {"pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens",
                            "pooling_mode_lasttoken"}) {
    if (config.boolean(other, false)) refuse_mode(config, other);
  }
  std::vector<Pooling> chosen;
  if (config.boolean("pooling_mode_mean_tokens", true)) chosen.push_back(Pooling::kMean);
  if (config.boolean("pooling_mode_cls_token", false)) chosen.push_back(Pooling::kCls);
  if (config.boolean("pooling_mode_max_tokens", false)) chosen.push_back(Pooling::kMax);
  if (chosen.size() != 1)
    refuse_mode(config, chosen.empty() ? "none" : "with several parts at once");
  return chosen[0];
}

void refuse_prompt(const fs::path& directory) {
  const fs::path path = directory / "config_sentence_transformers.json";
  if (!io::entry_exists(path)) return;
  if (io::Config::read(path).has("default_prompt_name")) {
    throw Error(ErrorCode::kUnsupported,
                "\"default_prompt_name\": prompts in front of every text are not supported; put "
                "the prompt into the "
                "text and remove the field",
                path.string());
  }
}

// sentence_bert_config.json can ask for lower case before a tokenizer that keeps case.
void check_lower_case(const fs::path& directory, const text::Tokenizer& tokenizer) {
  const fs::path path = directory / "sentence_bert_config.json";
  if (!io::entry_exists(path)) return;
  if (!io::Config::read(path).boolean("do_lower_case", false)) return;
  if (tokenizer.encode("A B C").ids != tokenizer.encode("a b c").ids) {
    throw Error(ErrorCode::kUnsupported,
                "\"do_lower_case\" is true but the tokenizer keeps case; give it text in lower "
                "case and set the field to "
                "false",
                path.string());
  }
}

void check_sizes(const TextModel& model, const fs::path& directory) {
  const EncoderInfo& info = model.encoder.info();
  if (model.tokenizer.vocabulary_size() > info.vocab_size) {
    throw Error(ErrorCode::kInvalidFile,
                "the tokenizer has ids up to " +
                    std::to_string(model.tokenizer.vocabulary_size() - 1) +
                    " but the embedding table has " + std::to_string(info.vocab_size) +
                    " rows; use the tokenizer files that belong to these weights",
                directory.string());
  }
  if (model.pooling.dimension != 0 && model.pooling.dimension != info.hidden_size) {
    throw Error(ErrorCode::kInvalidFile,
                "the pooling module expects vectors of " + std::to_string(model.pooling.dimension) +
                    " numbers but the encoder gives " + std::to_string(info.hidden_size),
                directory.string());
  }
  if (model.capacity() < 1) {
    throw Error(ErrorCode::kInvalidFile,
                "the model reads " + std::to_string(info.max_tokens) +
                    " tokens, which leaves no room for text between the special tokens",
                directory.string());
  }
}

}  // namespace

PoolingSettings read_pooling(const fs::path& directory, std::optional<Pooling> chosen) {
  PoolingSettings settings;
  if (chosen) settings.pooling = *chosen;
  settings.transformer = directory;
  const std::vector<Module> modules = read_modules(directory);
  bool pooled = false;
  for (size_t i = 0; i < modules.size(); ++i) {
    const Module& module = modules[i];
    if (i == 0 && module.kind == "Transformer") {
      settings.transformer = module.directory;
    } else if (i > 0 && !pooled && module.kind == "Pooling") {
      pooled = true;
      const io::Config config = io::Config::read(module.directory / "config.json");
      if (!chosen) settings.pooling = read_pooling_mode(config);
      const char* key = config.has("word_embedding_dimension") ? "word_embedding_dimension"
                                                               : "embedding_dimension";
      settings.dimension = config.integer(key, 0, 1, kMaxHidden);
    } else if (pooled && module.kind == "Normalize") {
      settings.normalize = true;
    } else {
      throw Error(ErrorCode::kUnsupported,
                  "module " + std::to_string(i) + " is \"" + module.kind +
                      "\"; supported: Transformer, then Pooling, then optionally Normalize",
                  (directory / "modules.json").string());
    }
  }
  settings.stated = pooled || chosen.has_value();
  refuse_prompt(directory);
  return settings;
}

text::Tokenizer load_tokenizer(const fs::path& directory) {
  text::TokenizerFiles files;
  files.place = directory.string();
  files.tokenizer_json = read_if_there(directory / "tokenizer.json", kMaxTokenizerBytes);
  files.vocab_txt = read_if_there(directory / "vocab.txt", kMaxTokenizerBytes);
  files.tokenizer_config = read_if_there(directory / "tokenizer_config.json", kMaxJsonBytes);
  files.special_tokens_map = read_if_there(directory / "special_tokens_map.json", kMaxJsonBytes);
  files.added_tokens = read_if_there(directory / "added_tokens.json", kMaxJsonBytes);
  if (!files.tokenizer_json && !files.vocab_txt) {
    std::error_code error;
    const bool there = fs::is_directory(directory, error);
    throw Error(ErrorCode::kNotFound,
                there ? "holds no tokenizer: neither tokenizer.json nor vocab.txt"
                      : "there is no such model directory",
                directory.string());
  }
  return text::Tokenizer::load(files);
}

bool is_unreadable(const text::Tokenizer& tokenizer, const text::Encoding& tokens) {
  const auto unknown = std::count(tokens.ids.begin(), tokens.ids.end(), tokenizer.unknown_id());
  return unknown > 0 &&
         static_cast<double>(unknown) >= kUnreadableShare * static_cast<double>(tokens.size());
}

int64_t TextModel::capacity() const {
  return encoder.info().max_tokens - static_cast<int64_t>(prefix.size() + suffix.size());
}

int64_t TextModel::reach() const {
  const std::vector<int64_t>& windows = encoder.info().attention_window;
  if (windows.empty()) return capacity();
  return *std::max_element(windows.begin(), windows.end()) / 2;
}

TextModel load_text_model(const fs::path& directory, const LoadOptions& options,
                          std::optional<Pooling> chosen) {
  PoolingSettings pooling = read_pooling(directory, chosen);
  const fs::path transformer = pooling.transformer;
  Encoder encoder = Encoder::load(transformer, options);
  text::Tokenizer tokenizer = load_tokenizer(transformer);
  check_lower_case(transformer, tokenizer);
  std::vector<int64_t> prefix = tokenizer.special_prefix();
  std::vector<int64_t> suffix = tokenizer.special_suffix();
  TextModel model{std::move(encoder), std::move(tokenizer), std::move(pooling), std::move(prefix),
                  std::move(suffix)};
  check_sizes(model, directory);
  return model;
}

}  // namespace longformer::tasks
