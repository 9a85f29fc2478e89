// How much memory a model and a batch need, asked before it is taken: a process that the system
// ends for want of memory says nothing. All of it follows from the configuration, so that it can be
// told before there are weights; encode() asks the same functions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "models/family.h"
#include "models/heads.h"
#include "models/layer_plans.h"
#include "models/precision.h"
#include "nn/encoder_layer.h"

namespace longformer {

// A layer with the shapes and types that it will have, without values.
EncoderLayer planned_layer(const EncoderConfig& config, const Precision& precision);

// Bytes of the packed matrices, norms and biases.
uint64_t weights_need(const EncoderConfig& config, const Precision& precision);

// Bytes that loading takes: these, and what converting the largest matrix takes on each thread.
// Pages of the weights file are not counted, the system takes them back. stored: the type of the
// file.
uint64_t load_need(const EncoderConfig& config, const Precision& precision, int threads,
                   DType stored = DType::kF32);

// Bytes that a pass of the encoder over a batch takes, its output included.
struct EncodeNeed {
  const EncoderConfig& config;
  const Precision& precision;
  const LayerPlans& plans;
  int threads = 1;
  bool hidden_states = false;
  bool attentions = false;  // EncodeOptions::attentions is given
};
uint64_t encode_need(const EncodeNeed& batch);

// What a process that loads a model and computes one batch has resident at its highest, above what
// it has before.
struct MemoryEstimate {
  uint64_t weights = 0;      // weights_need(), and the matrices of the head
  uint64_t loading = 0;      // load_need() above that
  uint64_t activations = 0;  // encode_need(), and the logits of all rows
  // Pages of the weights file that stay mapped: rows of the embedding tables, projections of global
  // tokens. They count as resident, but the system takes them back where memory is short. For ids
  // spread over the vocabulary, and a system that maps 2 MB at a touch (Linux with large folios;
  // without them few ids map less).
  uint64_t file_pages = 0;
  uint64_t libraries = 0;  // code, generated kernels, names and headers
  uint64_t peak = 0;
};
// head: none for an encoder alone.
MemoryEstimate estimate_memory(const EncodeNeed& batch, const std::optional<HeadConfig>& head,
                               DType stored = DType::kF32);

// Throws kInvalidArgument where `needed` bytes are more than there are (memory_room(root)), saying
// both. `held` bytes are there already and serve again. Below 64 MB nothing is asked. what: "12 000
// tokens need"; advice: what to do.
void check_room(uint64_t needed, uint64_t held, const std::string& what, const std::string& advice,
                const std::filesystem::path& root = "/");

}  // namespace longformer
