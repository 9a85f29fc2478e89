// What `forward --attentions` writes: the probabilities of all layers in the layout of the
// reference model class.
#pragma once

#include <cstdint>
#include <vector>

#include "io/checkpoint/safetensors.h"
#include "longformer/encoder.h"

namespace longformer::cli {

// Of a batch of `batch` sequences of `length` tokens each; with b, h, i, j for sequence, head,
// query and key:
//   attentions.N         [batch, heads, length, length], p(i, j).
//   Longformer, layers with a window of reach w and dilation d: [batch, heads, length,
//                        x + 2w + 1], x the most global tokens of a sequence: first the sequence's
//                        global tokens, then keys i - w·d … i + w·d that are not global. In all
//                        layers rows of global and of masked tokens are zeros.
//   global_attentions.N  Longformer with global tokens: [batch, heads, padded, x], padded: length
//                        rounded up to the widest window; element (j, s): from global token s to
//                        key j. Zeros where a sequence has fewer.
class AttentionTensors {
 public:
  // Throws kInvalidArgument where the tensors need more memory than there is.
  AttentionTensors(const EncoderInfo& info, const EncoderInput& input);

  // Of a layer of a pass; a later pass replaces it.
  void add(const LayerAttention& attention);
  // attentions.0, attentions.1, …, global_attentions.0, …; nothing is left.
  std::vector<io::NamedTensor> take();

 private:
  struct Layer {
    int64_t reach = 0;
    int64_t dilation = 1;
    int64_t columns = 0;
    bool band = false;
    std::vector<float> local;   // [batch, heads, length, columns]
    std::vector<float> global;  // [batch, heads, padded, slots]
  };

  void clear(Layer& layer) const;
  void find_globals(const EncoderInput& input);
  void add_local(const AttentionRow& seen, Layer& layer) const;
  void add_global(const AttentionRow& seen, Layer& layer) const;

  int64_t heads_ = 0;
  int64_t batch_ = 0;
  int64_t length_ = 0;
  int64_t padded_ = 0;
  int64_t slots_ = 0;          // x
  bool zero_globals_ = false;  // as Longformer does
  std::vector<int64_t> slot_;  // of each row that is global, else -1
  std::vector<Layer> layers_;
};

}  // namespace longformer::cli
