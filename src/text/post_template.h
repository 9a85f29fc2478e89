// What goes around the texts: [CLS] A [SEP] and the like, with type ids.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace longformer::text {

struct TemplatePiece {
  enum class Kind { kFirst, kSecond, kSpecial };
  Kind kind = Kind::kFirst;
  std::vector<int64_t> ids;  // of kSpecial
  int64_t type_id = 0;
};

struct PostTemplate {
  std::vector<TemplatePiece> single;
  std::vector<TemplatePiece> pair;

  // No special tokens: A, or A B with type 1 for B.
  static PostTemplate bare();
  // [CLS] A [SEP] and [CLS] A [SEP] B [SEP], types 0 and 1.
  static PostTemplate bert(int64_t cls, int64_t sep);
  // <s> A </s> and <s> A </s></s> B </s>, all types 0.
  static PostTemplate roberta(int64_t cls, int64_t sep);

  bool takes_pairs() const;  // the template for two texts uses both
};

// Throws at `place` for templates that lose or repeat a text (kInvalidFile, kUnsupported), or whose
// ids are not below vocabulary_size.
void check_template(const PostTemplate& post, int64_t vocabulary_size, const std::string& place);

}  // namespace longformer::text
