// Adafactor (Shazeer and Stern 2018) with the learning rate given and no first moment, as the
// reference trainer sets it up. With b = 1 - t^-0.8, t the number of the step from 1, for each
// matrix of a parameter:
//   r = b r + (1 - b) mean over columns (g² + 1e-30);  c the same over rows
//   u = g / sqrt(r / mean(r)) / sqrt(c)        (a vector: v as r, of each number; u = g / sqrt(v))
//   u /= max(1, rms(u)), over the whole parameter;  w -= lr (u + decay w)
// Sums are taken in double over blocks of rows of a fixed size, and the blocks in order.
#include <cmath>

#include "longformer/error.h"
#include "train/optimizer.h"
#include "train/pieces.h"

namespace longformer::train {
namespace {

constexpr double kDecayRate = -0.8, kSmallest = 1e-30, kClipThreshold = 1.0;

struct Slot {
  int64_t matrices = 0, rows = 0, columns = 0;  // a vector: 1, elements, 1
  float* row = nullptr;                         // [matrices, rows]; null: frozen
  float* column = nullptr;                      // [matrices, columns]; null for a vector
  std::vector<float> row_factor, column_factor;
  float shrink = 1;  // the factor that clips u
};

// Consecutive rows of one matrix.
struct Block {
  size_t parameter = 0;
  int64_t matrix = 0, first = 0, rows = 0;
  std::vector<double> column_sums;
  double squares = 0;  // of u
};

class Adafactor final : public Optimizer {
 public:
  Adafactor(const OptimizerSettings& settings, const ParameterSet& parameters)
      : weight_decay_(settings.weight_decay) {
    for (const Parameter& parameter : parameters.all()) {
      slots_.emplace_back();
      if (!parameter.frozen()) add_slot(parameter, slots_.back());
    }
  }

 private:
  void add_slot(const Parameter& parameter, Slot& slot) {
    const Shape& shape = parameter.spec.shape;
    if (shape.size() < 2) {
      slot = {.matrices = 1, .rows = parameter.elements, .columns = 1};
      slot.row = add_state(parameter, "exp_avg_sq", shape);
      return;
    }
    slot.rows = shape[shape.size() - 2];
    slot.columns = shape.back();
    slot.matrices = parameter.elements / std::max<int64_t>(slot.rows * slot.columns, 1);
    const Shape leading(shape.begin(), shape.end() - 2);
    Shape rows = leading, columns = leading;
    rows.push_back(slot.rows);
    columns.push_back(slot.columns);
    slot.row = add_state(parameter, "exp_avg_sq_row", rows);
    slot.column = add_state(parameter, "exp_avg_sq_col", columns);
    slot.row_factor.resize(static_cast<size_t>(slot.matrices * slot.rows));
    slot.column_factor.resize(static_cast<size_t>(slot.matrices * slot.columns));
  }

  std::vector<Block> blocks_of(const ParameterSet& parameters) const {
    std::vector<Block> blocks;
    for (size_t p = 0; p < slots_.size(); ++p) {
      const Parameter& parameter = parameters.all()[p];
      if (parameter.frozen()) continue;
      const Slot& slot = slots_[p];
      if (slot.row == nullptr) {
        throw Error(ErrorCode::kInternal,
                    "parameter \"" + parameter.spec.name +
                        "\" is trained, but was frozen when the optimizer began");
      }
      const int64_t step =
          std::max<int64_t>(kPieceElements / std::max<int64_t>(slot.columns, 1), 1);
      for (int64_t m = 0; m < slot.matrices; ++m) {
        for (int64_t first = 0; first < slot.rows; first += step) {
          blocks.push_back({p, m, first, std::min(step, slot.rows - first), {}, 0});
        }
      }
    }
    return blocks;
  }

  // Where a block's rows begin in the value or the gradient.
  int64_t offset(const Block& block) const {
    const Slot& slot = slots_[block.parameter];
    return (block.matrix * slot.rows + block.first) * slot.columns;
  }

  void add_squares(const Parameter& parameter, float scale, float keep, Block& block) {
    Slot& slot = slots_[block.parameter];
    const float* g = parameter.gradient + offset(block);
    float* const row = slot.row + block.matrix * slot.rows + block.first;
    if (slot.column != nullptr) block.column_sums.assign(static_cast<size_t>(slot.columns), 0.0);
    for (int64_t i = 0; i < block.rows; ++i, g += slot.columns) {
      double sum = 0;
      for (int64_t j = 0; j < slot.columns; ++j) {
        const double scaled = g[j] * scale;
        const double square = scaled * scaled + kSmallest;
        sum += square;
        if (slot.column != nullptr) block.column_sums[static_cast<size_t>(j)] += square;
      }
      const auto mean = static_cast<float>(sum / static_cast<double>(slot.columns));
      row[i] = row[i] * keep + mean * (1 - keep);
    }
  }

  // From the sums of the blocks to the factors of each row and column.
  void finish_factors(const std::vector<Block>& blocks, float keep) {
    std::vector<double> sums;
    for (size_t b = 0; b < blocks.size(); ++b) {
      const Block& block = blocks[b];
      Slot& slot = slots_[block.parameter];
      if (slot.column == nullptr) continue;
      if (block.first == 0) sums.assign(static_cast<size_t>(slot.columns), 0.0);
      for (size_t j = 0; j < sums.size(); ++j) sums[j] += block.column_sums[j];
      if (block.first + block.rows == slot.rows) finish_matrix(slot, block.matrix, sums, keep);
    }
  }

  static void finish_matrix(Slot& slot, int64_t matrix, const std::vector<double>& sums,
                            float keep) {
    float* const column = slot.column + matrix * slot.columns;
    float* const column_factor = slot.column_factor.data() + matrix * slot.columns;
    for (int64_t j = 0; j < slot.columns; ++j) {
      const auto mean =
          static_cast<float>(sums[static_cast<size_t>(j)] / static_cast<double>(slot.rows));
      column[j] = column[j] * keep + mean * (1 - keep);
      column_factor[j] = 1 / std::sqrt(column[j]);
    }
    const float* const row = slot.row + matrix * slot.rows;
    double sum = 0;
    for (int64_t i = 0; i < slot.rows; ++i) sum += row[i];
    const auto mean = static_cast<float>(sum / static_cast<double>(slot.rows));
    float* const row_factor = slot.row_factor.data() + matrix * slot.rows;
    for (int64_t i = 0; i < slot.rows; ++i) row_factor[i] = 1 / std::sqrt(row[i] / mean);
  }

  // Calls use(index into the value, u) for the block's numbers in order.
  template <typename Use>
  void for_each_update(const Parameter& parameter, float scale, const Block& block,
                       const Use& use) const {
    const Slot& slot = slots_[block.parameter];
    int64_t at = offset(block);
    for (int64_t i = 0; i < block.rows; ++i) {
      const int64_t row = block.matrix * slot.rows + block.first + i;
      if (slot.column == nullptr) {
        use(at, 1 / std::sqrt(slot.row[row]) * (parameter.gradient[at] * scale));
        ++at;
        continue;
      }
      const float* const columns = slot.column_factor.data() + block.matrix * slot.columns;
      const float factor = slot.row_factor[static_cast<size_t>(row)];
      for (int64_t j = 0; j < slot.columns; ++j, ++at) {
        use(at, factor * columns[j] * (parameter.gradient[at] * scale));
      }
    }
  }

  void finish_clipping(const ParameterSet& parameters, const std::vector<Block>& blocks) {
    std::vector<double> squares(slots_.size(), 0.0);
    for (const Block& block : blocks) squares[block.parameter] += block.squares;
    for (size_t p = 0; p < slots_.size(); ++p) {
      const auto elements = static_cast<double>(parameters.all()[p].elements);
      const double rms = elements > 0 ? std::sqrt(squares[p] / elements) : 0;
      slots_[p].shrink = static_cast<float>(std::max(1.0, rms / kClipThreshold));
    }
  }

  void update(ParameterSet& parameters, const StepRates& rates, ThreadPool& pool) override {
    const auto keep = static_cast<float>(1 - std::pow(static_cast<double>(steps()), kDecayRate));
    const auto scale = static_cast<float>(rates.gradient_scale);
    const auto rate = static_cast<float>(rates.learning_rate);
    const auto decay = static_cast<float>(weight_decay_ * rates.learning_rate);
    std::vector<Block> blocks = blocks_of(parameters);
    const auto run = [&](const auto& work) {
      pool.run(static_cast<int64_t>(blocks.size()), [&](int64_t i, int) {
        Block& block = blocks[static_cast<size_t>(i)];
        work(parameters.all()[block.parameter], block);
      });
    };
    run([&](const Parameter& p, Block& block) { add_squares(p, scale, keep, block); });
    finish_factors(blocks, keep);
    run([&](const Parameter& p, Block& block) {
      for_each_update(p, scale, block,
                      [&](int64_t, float u) { block.squares += static_cast<double>(u) * u; });
    });
    finish_clipping(parameters, blocks);
    run([&](const Parameter& p, Block& block) {
      const float shrink = slots_[block.parameter].shrink;
      const float kept = p.spec.decays ? 1 - decay : 1;
      for_each_update(p, scale, block, [&](int64_t at, float u) {
        p.value[at] = p.value[at] * kept - u / shrink * rate;
      });
    });
  }

  double weight_decay_;
  std::vector<Slot> slots_;  // as the parameters
};

}  // namespace

std::unique_ptr<Optimizer> make_adafactor(const OptimizerSettings& settings,
                                          const ParameterSet& parameters) {
  return std::make_unique<Adafactor>(settings, parameters);
}

}  // namespace longformer::train
