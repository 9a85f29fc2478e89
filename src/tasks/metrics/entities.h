// Entities in sequences of tags, and their precision, recall and F1, as seqeval 1.2.2 counts them:
// an entity is right when sequence, type, first and last token are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/metrics/classification.h"

namespace longformer::tasks {

enum class TagScheme {
  // The rules of conlleval, which make entities of malformed sequences too: an I- after O begins
  // one (seqeval without a mode).
  kLenient,
  // seqeval with mode="strict": entities that keep the rules of the scheme, and no other.
  kIob1,
  kIob2,
  kIoe1,
  kIoe2,
  kIobes,
  kBilou,
};
// "lenient", "IOB1", "IOB2", …; throws kInvalidArgument naming them.
TagScheme tag_scheme(std::string_view name);

struct Entity {
  std::string type;   // "_" for a tag without one
  int64_t begin = 0;  // tokens, half-open
  int64_t end = 0;
  bool operator==(const Entity&) const = default;
};
using Tags = std::vector<std::string>;  // of one sequence: "B-PER", "I-PER", "O"
// Throws kInvalidArgument for a tag whose prefix the scheme lacks (lenient: B, I, E, S and O),
// where seqeval would make something of it, or stop without a place.
std::vector<Entity> find_entities(const Tags& tags, TagScheme scheme);

struct EntityReport {
  double accuracy = 0;             // of tags
  std::vector<std::string> types;  // sorted; those found on either side
  std::vector<Scores> scores;      // of each
  Averages averages;
};
// Throws kInvalidArgument: sequences or tokens that do not match in number (naming the sequence,
// from 1), no token; what find_entities() throws.
EntityReport entity_report(std::span<const Tags> gold, std::span<const Tags> predicted,
                           TagScheme scheme);

}  // namespace longformer::tasks
