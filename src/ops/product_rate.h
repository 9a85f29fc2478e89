// What a share of the peak is a share of: the products of linear layers (128 rows, 3,072 x 768) as
// layers call them, on all threads at once and on nothing but their operands in the cache.
#pragma once

#include "tensor/dtype.h"

namespace longformer {

class ThreadPool;

// GFLOP/s a thread (int8: GOP/s), the best of `rounds`, each about 10 ms; 0 where the engine does
// not multiply in this type here.
double product_rate(DType type, ThreadPool& pool, int rounds);

}  // namespace longformer
