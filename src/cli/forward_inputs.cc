#include "cli/forward_inputs.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "io/checkpoint/safetensors.h"
#include "longformer/error.h"
#include "tasks/global_rule.h"

namespace longformer::cli {
namespace {

std::vector<uint8_t> read_mask(const std::vector<int64_t>& values, const std::string& name,
                               const std::string& place) {
  std::vector<uint8_t> mask(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0 && values[i] != 1) {
      throw Error(ErrorCode::kInvalidArgument,
                  "value " + std::to_string(values[i]) + " at element " + std::to_string(i) +
                      "; a mask holds 0 and 1 (global tokens have a mask of their own: "
                      "global_attention_mask)",
                  place + ": " + name);
    }
    mask[i] = static_cast<uint8_t>(values[i]);
  }
  return mask;
}

}  // namespace

InputTensors read_inputs(const std::string& path, LabelTensors* labels) {
  InputTensors result;
  const io::SafetensorsFile file = io::read_safetensors(path);
  const Tensor* ids = nullptr;
  for (const io::NamedTensor& tensor : file.tensors) {
    if (tensor.name == "input_ids") ids = &tensor.tensor;
  }
  if (ids == nullptr)
    throw Error(ErrorCode::kInvalidFile, "no tensor \"input_ids\" of shape [batch, seq]", path);
  const size_t rank = ids->shape.size();
  if ((rank != 2 && rank != 3) || element_count(ids->shape) < 1) {
    throw Error(ErrorCode::kInvalidFile,
                "input_ids has shape " + to_string(ids->shape) +
                    "; it must be [batch, seq], or [batch, choices, seq] for multiple choice, each "
                    "at least 1",
                path);
  }
  result.shape = ids->shape;
  result.input.lengths.assign(static_cast<size_t>(element_count(ids->shape) / ids->shape.back()),
                              ids->shape.back());
  for (const io::NamedTensor& tensor : file.tensors) {
    const bool label = std::find(std::begin(kLabelNames), std::end(kLabelNames), tensor.name) !=
                       std::end(kLabelNames);
    if (labels != nullptr && label) {
      labels->emplace(tensor.name, tensor.tensor);
      continue;
    }
    if (tensor.tensor.shape != ids->shape) {
      throw Error(ErrorCode::kInvalidFile,
                  "tensor \"" + tensor.name + "\" has shape " + to_string(tensor.tensor.shape) +
                      "; it must be that of input_ids, " + to_string(ids->shape),
                  path);
    }
    if (is_floating(tensor.tensor.dtype)) {
      throw Error(ErrorCode::kInvalidFile,
                  "tensor \"" + tensor.name + "\" holds " +
                      std::string(dtype_name(tensor.tensor.dtype)) + "; inputs are integers (I64)",
                  path);
    }
    std::vector<int64_t> values = to_i64(tensor.tensor);
    if (tensor.name == "input_ids") {
      result.input.input_ids = std::move(values);
    } else if (tensor.name == "attention_mask") {
      result.input.attention_mask = read_mask(values, tensor.name, path);
    } else if (tensor.name == "global_attention_mask") {
      result.input.global_attention_mask = read_mask(values, tensor.name, path);
    } else if (tensor.name == "token_type_ids") {
      result.input.token_type_ids = std::move(values);
    } else if (tensor.name == "position_ids") {
      result.input.position_ids = std::move(values);
    } else {
      throw Error(ErrorCode::kUnsupported,
                  "tensor \"" + tensor.name +
                      "\" is not an input of this model; known are input_ids, attention_mask, "
                      "global_attention_mask, token_type_ids, position_ids",
                  path);
    }
  }
  return result;
}

void apply_global(const std::string& global, const TaskInfo& info, InputTensors& in) {
  if (global.empty()) return;
  const tasks::GlobalRule rule = tasks::GlobalRule::parse(global, info);
  std::vector<uint8_t>& mask = in.input.global_attention_mask;
  mask.clear();
  if (!info.global_attention) return;
  for (int64_t s = 0; s < in.sequences(); ++s) {
    const std::vector<uint8_t> row = rule.apply(info, in.ids(s));
    mask.insert(mask.end(), row.begin(), row.end());
  }
}

}  // namespace longformer::cli
