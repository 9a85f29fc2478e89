// Which head a checkpoint of a task has, as data: every head is
//   logits = output(norm(activation(dense(state)))), dense and norm where the head has them,
// of each token's last state or of one state a sequence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint.h"
#include "kernels/rowwise.h"
#include "longformer/task_model.h"
#include "models/family.h"

namespace longformer {

// Which states a head reads.
enum class HeadRows {
  kTokens,     // each token's
  kFirst,      // the first token's of a sequence, masked or not
  kFirstReal,  // the first token's that is not masked; the first where all are
  kMean,       // the mean over the tokens that are not masked
};

struct HeadConfig {
  TaskInfo info;
  HeadRows rows = HeadRows::kTokens;
  // Names without .weight and .bias; empty: the head has none.
  std::string dense;
  std::string norm;
  std::string output;
  std::string output_bias;  // whole name of the tensor
  std::string tied_bias;    // under which it may stand as well; empty: none
  bool tied = false;        // the output matrix is the word embedding
  bool pooled = false;      // `dense` is the pooler of the bare model
  bool dense_bias = true;
  bool has_output_bias = true;
  kernels::Activation activation = kernels::Activation::kTanh;
  double initializer_range = 0.02;
  double initializer_cutoff = 0;  // in deviations, of a whole new model; 0: none
};

// The heads that are computed for a family, as class names: "BertForMaskedLM, …".
std::string head_classes(const EncoderConfig& encoder);

// The head that `options` or else "architectures" names. Throws kUnsupported naming the classes
// that are computed; kInvalidFile where "architectures" names another head than the task that is
// asked for and no new head is allowed; and for fields of the configuration that are broken.
HeadConfig read_head_config(const io::Config& config, const EncoderConfig& encoder,
                            const TaskOptions& options);

// The head that "architectures" names, none for a bare model or one that is not computed.
std::optional<HeadConfig> stated_head(const io::Config& config, const EncoderConfig& encoder);

// Of a bare model: only what rules for global tokens read.
TaskInfo bare_info(const io::Config& config, const EncoderConfig& encoder);

// The tensors of the head, all optional to the resolver. Those of the pooler are the encoder's.
std::vector<io::ExpectedTensor> expected_head_tensors(const HeadConfig& head,
                                                      const EncoderConfig& encoder);

}  // namespace longformer
