// The block-sparse pattern of BigBird (2020): global first and last block, a window of three
// blocks, random blocks. The random ones are drawn as the released code draws them, so that
// training and older releases can be followed draw for draw.
#pragma once

#include <cstdint>

#include "attention/pattern.h"

namespace longformer {

enum class RandomBlocks {
  kDrawn,       // training, and older releases of the reference always
  kFirstBlock,  // the reference since 2023 outside training: block 0 instead, as often
};

struct BigBirdSettings {
  int64_t length = 0;       // tokens; a last block that is not full counts what it has
  int64_t block_size = 64;  // at least 1
  int64_t random_blocks = 3;
  int64_t heads = 1;
  uint32_t seed = 0;          // the layer's number
  int64_t max_length = 4096;  // that the plan of the usual training lengths is drawn for
  RandomBlocks random = RandomBlocks::kDrawn;
};

// Whether the text is so short that BigBird attends to everything: (5 + 2·random)·block tokens.
bool bigbird_attends_fully(const BigBirdSettings& settings);

// One sequence. Full attention where bigbird_attends_fully(). Throws kInvalidArgument naming the
// field for settings out of range, and where fewer than `random_blocks` blocks are there to be
// drawn from (many blocks of a large size).
AttentionPattern bigbird_pattern(const BigBirdSettings& settings);

}  // namespace longformer
