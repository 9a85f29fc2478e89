// Where the tokens of one text look: for a head, or an average over heads and layers, the strongest
// links, for each token of the text and of the whole. What is kept grows with the text times top_k,
// never with its square.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "longformer/encoder.h"
#include "text/tokenizer.h"

namespace longformer::tasks {

struct AttendOptions {
  std::optional<int64_t> layer;  // none: all layers
  std::optional<int64_t> head;   // none: all heads
  int64_t top_k = 8;             // links kept of a token, in each direction
  int64_t strongest = 20;        // links kept of the whole first view
  bool self_links = true;        // a token's look at itself counts among the links
  bool special_links = true;     // links from and to special tokens do
  std::function<void(int64_t done, int64_t total)> progress;  // layers
  std::function<bool()> cancelled;
};

// A look at one token: the other end of a link. None where token is -1.
struct AttendEnd {
  int32_t token = -1;
  float weight = 0;
};

struct AttendLink {
  int32_t from = 0;
  int32_t to = 0;
  float weight = 0;
};

// One head of one layer, or the mean over what is left open.
struct AttendView {
  std::optional<int64_t> layer;
  std::optional<int64_t> head;
  // [tokens, top_k], strongest first: the tokens that a token looks at, and those that look at it.
  // Equal weights: the earlier token first.
  std::vector<AttendEnd> out;
  std::vector<AttendEnd> in;
  std::vector<float> received;  // [tokens]: the sum of all looks at a token, links left out too
};

struct Attended {
  int64_t tokens = 0;
  int64_t top_k = 0;
  // The one that the options name, then its parts: each layer where all layers were asked for, else
  // each head.
  std::vector<AttendView> views;
  std::vector<AttendLink> strongest;  // of the first view, strongest first
};

// tokens: of one sequence, special tokens included. global: one a token, or empty. Throws
// kInvalidArgument naming the range for a layer or head that the model lacks, and what encode()
// throws.
Attended attend(Encoder& encoder, const text::Encoding& tokens, const std::vector<uint8_t>& global,
                const AttendOptions& options);

}  // namespace longformer::tasks
