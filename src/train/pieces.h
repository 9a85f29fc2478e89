// Parameters that are trained, cut into pieces of a fixed size: the same work units for any number
// of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nn/parameters.h"

namespace longformer::train {

struct Piece {
  size_t parameter = 0;  // index into all()
  int64_t first = 0, count = 0;
};

inline constexpr int64_t kPieceElements = 1 << 16;

inline std::vector<Piece> trained_pieces(const ParameterSet& parameters) {
  std::vector<Piece> pieces;
  for (size_t p = 0; p < parameters.all().size(); ++p) {
    const Parameter& parameter = parameters.all()[p];
    if (parameter.frozen()) continue;
    for (int64_t first = 0; first < parameter.elements; first += kPieceElements) {
      pieces.push_back({p, first, std::min(kPieceElements, parameter.elements - first)});
    }
  }
  return pieces;
}

}  // namespace longformer::train
