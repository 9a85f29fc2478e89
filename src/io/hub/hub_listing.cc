#include "io/hub/hub_listing.h"

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "io/hub/hub_cache.h"
#include "io/json.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

constexpr const char* kSettings[] = {"config.json",
                                     "generation_config.json",
                                     "config_sentence_transformers.json",
                                     "modules.json",
                                     "tokenizer.json",
                                     "tokenizer_config.json",
                                     "special_tokens_map.json",
                                     "added_tokens.json",
                                     "vocab.json",
                                     "merges.txt",
                                     "vocab.txt",
                                     "spiece.model",
                                     "sentencepiece.bpe.model",
                                     "tokenizer.model",
                                     "preprocessor_config.json"};
constexpr const char* kDocuments[] = {"README.md",  "LICENSE", "LICENSE.txt",
                                      "LICENSE.md", "NOTICE",  "NOTICE.txt"};
constexpr const char* kWeights[] = {"model.safetensors", "model.safetensors.index.json",
                                    "pytorch_model.bin", "pytorch_model.bin.index.json"};

[[noreturn]] void refuse(const std::string& place, const std::string& what) {
  throw Error(ErrorCode::kInvalidFile, what, place);
}

// sentence_bert_config.json and its sisters of other model types.
bool is_sentence_config(std::string_view name) {
  return name.starts_with("sentence_") && name.ends_with("_config.json");
}

std::string below(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

// A name that an honest hub may list though we never take it (control characters) is no reason to
// refuse the model; one that leads out of the directory is.
bool leads_out(std::string_view name) {
  if (name.empty() || name.front() == '/') return true;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    if (name.substr(begin, end - begin) == "..") return true;
    begin = end + 1;
  }
  return false;
}

const Json& member(const Json& object, const char* key) {
  static const Json kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

std::optional<uint64_t> read_size(const Json& value, const std::string& place) {
  if (value.is_null()) return std::nullopt;
  if (!value.is_number_unsigned() || value.get<uint64_t>() > kMaxHubFileBytes) {
    refuse(place, "the hub lists a size that is none: " + short_value(value));
  }
  return value.get<uint64_t>();
}

std::string read_hash(const Json& value, const std::string& place) {
  if (value.is_null()) return "";
  if (!value.is_string() || !is_hub_hash(value.get_ref<const std::string&>())) {
    refuse(place, "the hub lists a hash that is none: " + short_value(value));
  }
  return value.get<std::string>();
}

HubFile read_file_entry(const Json& entry, const std::string& place) {
  if (!entry.is_object() || !member(entry, "rfilename").is_string()) {
    refuse(place, "the hub lists a file without a name; check HF_ENDPOINT");
  }
  HubFile file{.name = member(entry, "rfilename").get<std::string>(), .size = {}, .hash = {}};
  if (leads_out(file.name)) {
    refuse(place, "the hub lists a file outside the model's directory: " +
                      short_value(Json(file.name)) + "; refused");
  }
  const Json& lfs = member(entry, "lfs");
  file.size = read_size(member(entry, "size"), place);
  if (lfs.is_object()) {
    file.hash = read_hash(member(lfs, "sha256"), place);
    if (const auto size = read_size(member(lfs, "size"), place)) file.size = size;
  } else {
    file.hash = read_hash(member(entry, "blobId"), place);
  }
  return file;
}

}  // namespace

bool is_hub_hash(std::string_view text) noexcept {
  return (text.size() == 40 || text.size() == 64) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

HubListing parse_hub_listing(std::string_view text, const std::string& place) {
  const Json answer = parse_json(text, place, DuplicateKeys::kLastWins);
  if (!answer.is_object() || !member(answer, "sha").is_string() ||
      !is_commit(member(answer, "sha").get_ref<const std::string&>()) ||
      !member(answer, "siblings").is_array()) {
    refuse(place, "the answer is no description of a model (sha, siblings); check HF_ENDPOINT");
  }
  HubListing listing{.commit = member(answer, "sha").get<std::string>(), .files = {}};
  for (const Json& entry : member(answer, "siblings")) {
    HubFile file = read_file_entry(entry, place);
    std::string name = file.name;
    listing.files.insert_or_assign(std::move(name), std::move(file));
  }
  return listing;
}

std::vector<std::string> module_directories(std::string_view modules_json,
                                            const std::string& place) {
  const Json modules = parse_json(modules_json, place, DuplicateKeys::kLastWins);
  if (!modules.is_array()) refuse(place, "is no list of modules");
  std::vector<std::string> directories = {""};
  for (const Json& module : modules) {
    if (!module.is_object() || !member(module, "path").is_string()) {
      refuse(place, "a module has no path");
    }
    std::string path = member(module, "path").get<std::string>();
    while (path.ends_with('/')) path.pop_back();
    if (std::find(directories.begin(), directories.end(), path) != directories.end()) continue;
    if (!is_plain_path(path)) {
      refuse(place, "the module path " + short_value(Json(path)) +
                        " leads out of the model's directory; refused");
    }
    directories.push_back(path);
    if (directories.size() > kMaxHubModules) {
      refuse(place, "names more than " + std::to_string(kMaxHubModules) + " modules");
    }
  }
  return directories;
}

std::vector<HubFile> settings_files(const HubListing& listing, const std::string& directory) {
  std::vector<HubFile> files;
  const auto take = [&](const std::string& name) {
    if (const HubFile* file = listing.find(below(directory, name))) files.push_back(*file);
  };
  for (const char* name : kSettings) take(name);
  const std::string prefix = below(directory, "sentence_");
  for (auto file = listing.files.lower_bound(prefix);
       file != listing.files.end() && file->first.starts_with(prefix); ++file) {
    const std::string name = file->first.substr(prefix.size() - 9);
    if (is_sentence_config(name) && is_plain_path(name) && name.find('/') == std::string::npos) {
      files.push_back(file->second);
    }
  }
  if (directory.empty()) {
    for (const char* name : kDocuments) take(name);
  }
  return files;
}

const HubFile* weights_file(const HubListing& listing, const std::string& directory) {
  for (const char* name : kWeights) {
    if (const HubFile* file = listing.find(below(directory, name))) return file;
  }
  return nullptr;
}

bool is_weights_index(const std::string& name) noexcept { return name.ends_with(".index.json"); }

std::vector<HubFile> shard_files(const HubListing& listing, const std::string& directory,
                                 std::string_view index_json, const std::string& place) {
  const Json index = parse_json(index_json, place, DuplicateKeys::kLastWins);
  if (!index.is_object() || !member(index, "weight_map").is_object()) {
    refuse(place, "has no weight_map");
  }
  std::set<std::string> names;
  for (const auto& [tensor, shard] : member(index, "weight_map").items()) {
    if (!shard.is_string()) refuse(place, "weight_map gives a tensor no file name");
    names.insert(shard.get<std::string>());
    if (names.size() > kMaxHubFiles) {
      refuse(place, "names more than " + std::to_string(kMaxHubFiles) + " files");
    }
  }
  std::vector<HubFile> files;
  for (const std::string& name : names) {
    if (!is_plain_path(name) || name.find('/') != std::string::npos) {
      refuse(place, "names " + short_value(Json(name)) + ", which is no plain file name; refused");
    }
    const HubFile* file = listing.find(below(directory, name));
    if (file == nullptr) {
      refuse(place, "names " + short_value(Json(name)) + ", which the hub does not list");
    }
    files.push_back(*file);
  }
  return files;
}

}  // namespace longformer::io
