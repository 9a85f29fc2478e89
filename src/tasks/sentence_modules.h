// The files that sentence-transformers (versions 2 to 6) puts beside an encoder: which modules
// follow it, how states are pooled, which prompts stand before a text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tasks/pooling.h"

namespace longformer::tasks {

// A module behind the pooling.
struct HeadModule {
  enum class Kind { kDense, kLayerNorm, kNormalize };
  Kind kind = Kind::kNormalize;
  std::filesystem::path directory;  // its config.json and weights
};

struct SentenceModules {
  std::filesystem::path transformer;             // directory of the encoder and the tokenizer
  std::vector<Pooling> pooling{Pooling::kMean};  // several: their vectors one after the other
  bool include_prompt = true;                    // prompt tokens are pooled like the text's
  bool stated = false;    // the files or the caller say so; otherwise the mean is an assumption
  int64_t dimension = 0;  // of a token state, where the files say it
  std::vector<HeadModule> head;
};

// modules.json and the pooling module's config.json; without modules.json the mean of all states.
// Throws kUnsupported naming a module or a setting that is not computed, kInvalidFile for broken
// files. `chosen` wins over the pooling module, whatever it says.
SentenceModules read_sentence_modules(const std::filesystem::path& directory,
                                      std::optional<Pooling> chosen = std::nullopt);

// What a text is for: models may want a different prompt before a query.
enum class TextRole { kQuery, kDocument };

// config_sentence_transformers.json.
struct Prompts {
  std::map<std::string, std::string> named;
  std::string default_name;  // empty: none
  std::string place;
};
Prompts read_prompts(const std::filesystem::path& directory);

// The text that goes before a text of this role. Without a choice, as the reference encodes queries
// and documents: the prompt named "query", or the first of "document", "passage", "corpus"; else
// the default prompt; else nothing. A choice is "query" or "document" (that role's prompt, which
// must exist), the name of another prompt, or the prompt itself. Throws kInvalidArgument naming the
// prompts that there are.
std::string resolve_prompt(const Prompts& prompts, TextRole role,
                           const std::optional<std::string>& choice);

}  // namespace longformer::tasks
