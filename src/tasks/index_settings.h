// What makes two indexes, or an index and a query, fit together: the model by its files, and how
// documents were cut and read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "io/collection/collection.h"
#include "tasks/collection.h"
#include "tasks/model_files.h"

namespace longformer::tasks {

// SHA-256 over the files of a model that decide about its vectors: configurations, weights,
// tokenizer, the modules of sentence-transformers. `files` names them with size and time, so that
// they are hashed again only when one of those has changed.
struct ModelFingerprint {
  std::string sha256;
  std::string files;
};
ModelFingerprint fingerprint(const std::filesystem::path& directory, const SentenceModules& modules,
                             const ModelFingerprint& known = {});

// A share of the files of a listing: those whose names hash to it.
struct Shard {
  int64_t index = 1;  // 1 to count
  int64_t count = 1;
  bool has(std::string_view name) const;
};
// "2/5". Throws kInvalidArgument naming the form.
Shard parse_shard(const std::string& text);

struct IndexSettings {
  Context context = Context::kDocument;
  PassageOptions passages;
  io::VectorKind vectors = io::VectorKind::kInt8;
  int64_t dims = 0;  // kept of each vector; 0: all
  Shard shard;
};

inline constexpr std::string_view kComputeSetting = "compute";  // compute_name()

// Names that begin with a dot are notes and take part in no comparison.
io::Settings describe(const TextModel& model, const IndexSettings& settings,
                      const std::filesystem::path& directory, const ModelFingerprint& fingerprint);
std::string setting(const io::Settings& settings, std::string_view name);  // empty: not there
ModelFingerprint known_fingerprint(const io::Settings& settings);

// How the vectors of an index are stored. Throws kInvalidFile for impossible settings.
io::VectorLayout vector_layout(const io::Settings& settings, const std::string& place);

// Bytes of a passage's text that are kept; longer ones (a token may be a megabyte of blanks) are
// cut. Whatever is longer in an index is damage. Throws kInvalidFile as above.
int64_t longest_kept_text(const io::Settings& settings, const std::string& place);
void check_kept_text(const io::CollectionPassage& passage, int64_t longest,
                     const std::string& place);

// Which settings matter: all for a writer, those of the shard not for a merge, those of the model
// for a query.
enum class Compare { kAll, kAllButShard, kModel };
// Throws kInvalidArgument that names each setting that differs and both its values. `other` says
// whose values `wanted` are.
void check_settings(const io::Settings& index, const io::Settings& wanted, Compare compare,
                    const std::string& place, const std::string& other);

}  // namespace longformer::tasks
