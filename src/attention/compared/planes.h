// What the compared implementations share: checks, and heads as dense planes.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "attention/compared/compared.h"
#include "tensor/arena.h"

namespace longformer::compared {

// Throws kInvalidArgument; `name` is that of the implementation.
void check(const Shape& shape, const char* name);

// Bytes of an arena for these numbers of floats; 2^64 - 1 where that does not fit.
uint64_t bytes_of(std::initializer_list<double> floats);

// Copies [tokens][heads][head_dim] to [heads][rows][head_dim], `first` rows of zeros in front and
// zeros behind.
void split_into_planes(const Shape& shape, const float* from, int64_t rows, int64_t first,
                       float* planes, ThreadPool& pool);

// Copies `count` dense rows of one head to rows [row, row + count) of out.
void write_rows(const Shape& shape, const float* from, int64_t head, int64_t row, int64_t count,
                float* out);

}  // namespace longformer::compared
