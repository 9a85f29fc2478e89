// How int8 weights lie in a model directory. The matrix of a linear layer under its name, I8
// [out, in], -127 … 127; beside it NAME.scale, F32 [out]: row o stands for I8 · scale[o].
// config.json says so: "quantization_config": {"quant_method": "longformer", "version": 1}.
#pragma once

#include <string>

#include "io/checkpoint/checkpoint.h"
#include "io/config.h"
#include "ops/weights.h"

namespace longformer {

// Whether config.json says that the linear layers hold int8. Throws kUnsupported for the methods of
// others and for versions to come.
bool states_int8_weights(const io::Config& config);
void state_int8_weights(io::Config& config);

std::string scale_name(const std::string& weight_name);

// The matrix `name`, floating. Throws kInvalidFile for any other type.
Matrix read_matrix(const io::Checkpoint& checkpoint, const std::string& name);
// The matrix `name` as I8 with the scales `scales`. Throws kInvalidFile naming the tensor for
// another type or shape, a value of -128, a scale that is not finite and positive or beyond what
// f32 holds times 127.
Matrix read_int8_matrix(const io::Checkpoint& checkpoint, const std::string& name,
                        const std::string& scales);

// The nearest matrix of type I8, rounded as PackedMatrix::pack() rounds: a file gives the numbers
// that quantising at load gives. values: [rows, cols], finite.
Matrix quantize(const float* values, int64_t rows, int64_t cols);

}  // namespace longformer
