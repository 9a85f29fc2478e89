// Extended grapheme clusters, as the reference's library cuts them.
#pragma once

#include <cstddef>

#include "text/normalizer.h"

namespace longformer::text {

// Index behind the last character of the cluster that starts at `begin` < characters.size(), which
// must itself be the start of a cluster.
size_t grapheme_end(const Characters& characters, size_t begin);

}  // namespace longformer::text
