#include "models/head_weights.h"

#include <cmath>
#include <utility>

#include "base/random.h"
#include "longformer/error.h"

namespace longformer {

std::vector<std::string> absent_head_tensors(const WeightReader& reader, const HeadConfig& head,
                                             const EncoderConfig& encoder) {
  std::vector<std::string> absent;
  const auto need = [&](const std::string& name) {
    if (!reader.has(name)) absent.push_back(name);
  };
  if (head.pooled) {
    need(head.dense + ".weight");
    need(head.dense + ".bias");
  }
  for (const io::ExpectedTensor& tensor : expected_head_tensors(head, encoder)) {
    const bool by_tie = head.tied && tensor.name == head.output + ".weight";
    if (!by_tie && tensor.name != head.tied_bias) need(tensor.name);
  }
  return absent;
}

void refuse_absent_head(const std::vector<std::string>& absent, const HeadConfig& head,
                        const std::string& place) {
  std::string names;
  for (const std::string& name : absent) names += (names.empty() ? "" : ", ") + name;
  throw Error(
      ErrorCode::kInvalidFile,
      "the checkpoint has no head for " + std::string(task_name(head.info.task)) + " (" +
          head.info.model_class + "): " + names +
          (absent.size() == 1 ? " is missing" : " are missing") +
          "; take a checkpoint that was trained for it (--allow-new-head fills what is missing "
          "with random numbers)",
      place);
}

std::vector<float> NewTensors::matrix(const std::string& name, int64_t rows, int64_t cols) const {
  uint64_t key = seed_;
  for (const char c : name) key = random_bits(key, static_cast<unsigned char>(c));
  std::vector<float> values(static_cast<size_t>(rows * cols));
  for (size_t i = 0; i < values.size(); ++i) {
    double draw = random_normal(key, i);
    for (size_t again = i; cutoff_ > 0 && std::abs(draw) > cutoff_;) {
      again += values.size();
      draw = random_normal(key, again);
    }
    values[i] = static_cast<float>(range_ * draw);
  }
  return values;
}

namespace {

class HeadReader {
 public:
  HeadReader(const HeadConfig& head, const EncoderConfig& encoder, const WeightReader& reader,
             const Precision& precision, const NewTensors* fresh)
      : head_(head), encoder_(encoder), reader_(reader), precision_(precision), fresh_(fresh) {}

  Head read() const {
    Head head;
    if (!head_.dense.empty()) {
      head.transform.dense = linear(head_.dense, head_.dense + ".bias", encoder_.hidden_size, {});
    }
    head.transform.activation = head_.activation;
    if (!head_.norm.empty()) head.transform.norm = norm();
    const bool wide = head_.info.task == Task::kMaskedLm;
    const bool tied = head_.tied;
    const std::string output = tied ? std::string(encoder_.names->word_embeddings) : head_.output;
    head.output = linear(output, head_.output_bias, head_.info.outputs,
                         wide ? precision_.outer : WeightTypes{});
    return head;
  }

 private:
  Linear linear(const std::string& name, const std::string& bias, int64_t outputs,
                const WeightTypes& types) const {
    const int64_t hidden = encoder_.hidden_size;
    const std::string weight = name + ".weight";
    Matrix matrix =
        reader_.has(weight)
            ? reader_.matrix(weight)
            : Matrix(make_tensor({outputs, hidden},
                                 std::span<const float>(fresh_->matrix(weight, outputs, hidden))));
    const std::string stem = bias.substr(0, bias.size() - std::string_view(".bias").size());
    return {pack_rows(matrix, 0, outputs, types), reader_.bias(stem, 0, outputs)};
  }

  LayerNorm norm() const {
    if (reader_.has(head_.norm + ".weight"))
      return reader_.norm(head_.norm, encoder_.layer_norm_eps);
    const auto hidden = static_cast<size_t>(encoder_.hidden_size);
    return {std::vector<float>(hidden, 1.0f), std::vector<float>(hidden), encoder_.layer_norm_eps};
  }

  const HeadConfig& head_;
  const EncoderConfig& encoder_;
  const WeightReader& reader_;
  const Precision& precision_;
  const NewTensors* fresh_;
};

}  // namespace

Head read_head(const WeightReader& reader, const HeadConfig& head, const EncoderConfig& encoder,
               const Precision& precision, const NewTensors* fresh) {
  return HeadReader(head, encoder, reader, precision, fresh).read();
}

}  // namespace longformer
