// How much memory a model and a batch need, asked before it is taken: a process that the system
// ends for want of memory says nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "models/family.h"
#include "models/precision.h"
#include "nn/encoder_stack.h"

namespace longformer {

// Bytes that loading takes: the packed matrices, and what converting the largest of them takes on
// each thread. Pages of the weights file are not counted, the system takes them back.
uint64_t load_need(const EncoderConfig& config, const Precision& precision, int threads);

// Bytes that a pass over a batch takes, its output included. contexts: one a layer.
struct EncodeNeed {
  const std::vector<EncoderLayer>& layers;
  const std::vector<LayerContext>& contexts;
  int64_t head_dim = 0;
  int threads = 1;
  bool hidden_states = false;
  bool attentions = false;  // EncodeOptions::attentions is given
};
uint64_t encode_need(const EncodeNeed& batch);

// Throws kInvalidArgument where `needed` bytes are more than there are (memory_room(root)), saying
// both. `held` bytes are there already and serve again. Below 64 MB nothing is asked. what: "12 000
// tokens need"; advice: what to do.
void check_room(uint64_t needed, uint64_t held, const std::string& what, const std::string& advice,
                const std::filesystem::path& root = "/");

}  // namespace longformer
