#include "models/convert_files.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "base/limits.h"
#include "io/config.h"
#include "io/files.h"
#include "longformer/error.h"

namespace longformer {
namespace {

namespace fs = std::filesystem;

bool starts_with_word(std::string name, std::string_view word) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return name.starts_with(word);
}

// Any of these is a tokenizer, with or without the files that describe it.
constexpr const char* kVocabularies[] = {"tokenizer.json", "vocab.txt", "vocab.json",
                                         "sentencepiece.bpe.model", "spiece.model"};

bool is_text_file(const std::string& name) {
  const auto is_name = [&](const char* known) { return name == known; };
  if (std::any_of(std::begin(kVocabularies), std::end(kVocabularies), is_name)) return true;
  for (const char* known :
       {"merges.txt", "special_tokens_map.json", "added_tokens.json", "tokenizer_config.json",
        "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"}) {
    if (is_name(known)) return true;
  }
  return starts_with_word(name, "README") || starts_with_word(name, "LICENSE") ||
         starts_with_word(name, "LICENCE") || starts_with_word(name, "NOTICE") ||
         starts_with_word(name, "COPYING");
}

// "1_Pooling"
bool is_module(const std::string& name) {
  size_t digits = 0;
  while (digits < name.size() && std::isdigit(static_cast<unsigned char>(name[digits])) != 0)
    ++digits;
  return digits > 0 && digits + 1 < name.size() && name[digits] == '_';
}

// A link may lead elsewhere inside the model, or to the blobs of a hub cache (models--x/snapshots/y
// beside models--x/blobs); a hostile one must not publish other files of this machine.
bool stays_inside(const fs::path& file, const fs::path& root) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error) return false;
  const fs::path home = fs::canonical(root, error);
  const auto below = [&](const fs::path& directory) {
    const auto [end, ignored] =
        std::mismatch(directory.begin(), directory.end(), real.begin(), real.end());
    return end == directory.end();
  };
  if (below(home)) return true;
  const fs::path snapshots = home.parent_path();
  return snapshots.filename() == "snapshots" && below(snapshots.parent_path() / "blobs");
}

void copy_one(const fs::path& from, const fs::path& to, const fs::path& root) {
  std::error_code error;
  if (!stays_inside(from, root)) {
    throw Error(ErrorCode::kInvalidFile,
                "is a link out of the model directory; put the file itself there", from.string());
  }
  if (fs::file_size(from, error) > kMaxTokenizerBytes) {
    throw Error(ErrorCode::kInvalidFile,
                "is larger than " + std::to_string(kMaxTokenizerBytes) +
                    " bytes, the limit for files beside the weights",
                from.string());
  }
  fs::copy_file(from, to, error);
  if (error) throw Error(ErrorCode::kIo, error.message(), from.string());
}

// Directories of modules have no directories of their own.
void copy_module(const fs::path& from, const fs::path& to, const fs::path& root) {
  fs::create_directory(to);
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    if (entry.is_regular_file()) copy_one(entry.path(), to / entry.path().filename(), root);
  }
}

void write_config(const fs::path& path, const io::Config& config) {
  std::error_code ignored;
  fs::remove(path, ignored);
  io::write_file_atomic(path, config.dump());
}

struct TokenizerClass {
  std::string_view model_type;
  const char* name;
};

constexpr TokenizerClass kTokenizers[] = {
    {"bert", "BertTokenizer"},
    {"roberta", "LongformerTokenizer"},
    {"xlm-roberta", "XLMRobertaTokenizer"},
    {"camembert", "CamembertTokenizer"},
};

// The same tokenizer under the name that goes with the new model type; others stay.
void set_tokenizer_class(io::Config& config, const std::string& model_type) {
  const std::string old = config.string("tokenizer_class", "");
  if (old == "RobertaTokenizer") config.set("tokenizer_class", "LongformerTokenizer");
  if (old == "RobertaTokenizerFast") config.set("tokenizer_class", "LongformerTokenizerFast");
  if (!old.empty()) return;
  for (const TokenizerClass& known : kTokenizers) {
    if (known.model_type == model_type) config.set("tokenizer_class", known.name);
  }
}

bool has_tokenizer(const fs::path& directory) {
  return std::any_of(std::begin(kVocabularies), std::end(kVocabularies),
                     [&](const char* name) { return fs::exists(directory / name); });
}

void lengthen_tokenizer(const fs::path& directory, const std::string& model_type,
                        int64_t max_tokens) {
  if (!has_tokenizer(directory)) return;
  if (const fs::path path = directory / "tokenizer.json"; fs::exists(path)) {
    io::Config config =
        io::Config::parse(io::read_file(path, kMaxTokenizerBytes), path.filename().string());
    if (config.has("truncation") || config.has("padding")) {
      config.set_null("truncation");
      config.set_null("padding");
      write_config(path, config);
    }
  }
  const fs::path path = directory / "tokenizer_config.json";
  io::Config config = fs::exists(path) ? io::Config::read(path) : io::Config();
  set_tokenizer_class(config, model_type);
  config.set("model_max_length", max_tokens);
  config.erase("max_length");
  write_config(path, config);
}

void lengthen_sentence_config(const fs::path& directory, int64_t max_tokens) {
  const fs::path path = directory / "sentence_bert_config.json";
  if (!fs::exists(path)) return;
  io::Config config = io::Config::read(path);
  config.set("max_seq_length", max_tokens);
  write_config(path, config);
}

}  // namespace

std::vector<std::string> copy_companions(const fs::path& source, const fs::path& destination) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(source)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && is_text_file(name)) {
      copy_one(entry.path(), destination / name, source);
    } else if (entry.is_directory() && is_module(name)) {
      copy_module(entry.path(), destination / name, source);
    } else {
      continue;
    }
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void lengthen_companions(const fs::path& directory, const std::string& model_type,
                         int64_t max_tokens) {
  lengthen_tokenizer(directory, model_type, max_tokens);
  lengthen_sentence_config(directory, max_tokens);
}

void check_finite(const Tensor& tensor, const std::string& name, const fs::path& source) {
  if (!is_floating(tensor.dtype)) return;
  const std::vector<float> values = to_f32(tensor);
  if (std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) return;
  throw Error(ErrorCode::kInvalidFile,
              "tensor \"" + name +
                  "\" holds values that are not finite (NaN or infinity); nothing "
                  "was written",
              source.string());
}

}  // namespace longformer
