// The numbers of a model that was never trained, as the reference's classes begin: matrices and
// tables from a normal distribution, norms 1, biases 0, rows of padding 0.
#pragma once

#include <cstdint>

#include "models/heads.h"
#include "models/parameter_names.h"
#include "nn/parameters.h"

namespace longformer {

// Sets every parameter. Deviations are "initializer_range" of config.json; ModernBERT's draws are
// cut at "initializer_cutoff_factor" deviations, and smaller where a layer adds to its input. Each
// number is a function of the seed, the tensor's name in the model and its place alone; those of a
// head are the ones that NewTensors gives, but for ModernBERT.
void fill_fresh(ParameterSet& parameters, const ParameterSources& sources,
                const EncoderConfig& config, const HeadConfig& head, uint64_t seed);

}  // namespace longformer
