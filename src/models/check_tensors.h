// Looks for NaN and infinity in the weights that a model uses.
#pragma once

#include "io/checkpoint/checkpoint.h"

namespace longformer {

class ThreadPool;

// Reads every floating tensor once. Throws kInvalidFile naming the first value that is not finite,
// in the order of the model's tensors: the tensor's name in the checkpoint and where in it.
void check_tensors(const io::Checkpoint& checkpoint, const io::Resolution& resolution,
                   ThreadPool& pool);

}  // namespace longformer
