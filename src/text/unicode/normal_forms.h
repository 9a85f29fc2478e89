// The Unicode normal forms NFD, NFC, NFKD and NFKC over characters with places.
#pragma once

#include "text/normalizer.h"

namespace longformer::text {

enum class NormalForm : uint8_t { kNfd, kNfc, kNfkd, kNfkc };

void to_normal_form(NormalForm form, Characters& characters);

// One character of a step's result and what it does to the characters before the step: 0 replaces
// one of them, -n replaces one and removes the n behind it, 1 is inserted.
struct Change {
  char32_t code;
  int32_t change;
};

// Carries out changes that start at the first character: each result takes the place of the
// character it replaces, an inserted one that of the character before it ((0, 0) where there is
// none). The changes need not use up all characters.
void apply_changes(const std::vector<Change>& changes, Characters& characters);

}  // namespace longformer::text
