#include "models/memory_need.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "base/thread_pool.h"
#include "models/encoder_batch.h"
#include "tasks/tiny_model.h"

namespace longformer {
namespace {

constexpr double kMegabyte = 1 << 20;

// Of this process, in bytes.
double status(const std::string& field) {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;) {
    double kilobytes = 0;
    if (word == field && in >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

// Most bytes that `run` had resident beyond what was before.
template <typename Run>
double measured(const Run& run) {
  mallopt(M_MMAP_THRESHOLD, 64 << 10);  // large blocks come from the system and go back to it
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak begins anew
  const double before = status("VmRSS:");
  run();
  return status("VmHWM:") - before;
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

std::string config_json(int64_t layers, int64_t window) {
  return R"({"model_type": "longformer", "vocab_size": 100, "hidden_size": 256,)"
         R"( "num_attention_heads": 4, "intermediate_size": 1024, "type_vocab_size": 1,)"
         R"( "pad_token_id": 0, "max_position_embeddings": 9000, "num_hidden_layers": )" +
         std::to_string(layers) + R"(, "attention_window": )" + std::to_string(window) + "}";
}

class MemoryNeed : public testing::Test {
 protected:
  void write(int64_t layers, int64_t window) {
    json_ = config_json(layers, window);
    config_ = read_encoder_config(io::Config::parse(json_, "config.json"));
    test::write_checkpoint(directory_.path(), json_, config_, test::random_tensors(config_, 5));
  }

  // What encode() asks for.
  double need(const EncoderInput& input, Compute compute, bool hidden_states, int threads) {
    const Precision precision = choose_precision(compute, false, processor_arithmetic());
    const LayerPlans plans(config_, attention_pattern(config_, input));
    return static_cast<double>(encode_need({config_, precision, plans, threads, hidden_states}));
  }

  test::TemporaryDirectory directory_;
  std::string json_;
  EncoderConfig config_;
};

EncoderInput text(const std::vector<int64_t>& lengths, int64_t globals) {
  EncoderInput input;
  input.lengths = lengths;
  for (const int64_t length : lengths) {
    for (int64_t t = 0; t < length; ++t) {
      input.input_ids.push_back(1 + t % 99);
      input.global_attention_mask.push_back(t < globals ? 1 : 0);
    }
  }
  return input;
}

TEST_F(MemoryNeed, IsWithinThreeTenthsOfWhatAPassTakes) {
  if (kSanitized) GTEST_SKIP() << "memory of a sanitizer comes on top";
  write(2, 64);
  struct Case {
    std::vector<int64_t> lengths;
    int64_t globals;
    Compute compute;
    bool hidden_states;
  };
  for (const Case& c :
       {Case{{8000}, 0, Compute::kF32, false}, Case{{8000}, 1, Compute::kBf16, false},
        Case{{8000, 5000, 8500}, 0, Compute::kF32, true},
        Case{std::vector<int64_t>(200, 60), 0, Compute::kInt8, false}}) {
    const EncoderInput input = text(c.lengths, c.globals);
    const double estimate = need(input, c.compute, c.hidden_states, 1);
    Encoder encoder = Encoder::load(directory_.path(), {.threads = 1, .compute = c.compute});
    encoder.encode(text({600}, c.globals));  // pages of libraries, generated kernels
    EncoderOutput output;
    const double taken =
        measured([&] { output = encoder.encode(input, {.hidden_states = c.hidden_states}); });
    EXPECT_NEAR(estimate / taken, 1.0, 0.3)
        << estimate / kMegabyte << " MB estimated, " << taken / kMegabyte << " taken";
  }
}

TEST_F(MemoryNeed, IsWithinThreeTenthsOfWhatLoadingTakes) {
  if (kSanitized) GTEST_SKIP() << "memory of a sanitizer comes on top";
  write(8, 64);  // 8 x 3.1 MB a layer, and the mapped projections of global rows
  for (const Compute compute : {Compute::kF32, Compute::kBf16, Compute::kInt8}) {
    const Precision precision = choose_precision(compute, false, processor_arithmetic());
    const double estimate = static_cast<double>(load_need(config_, precision, 1));
    std::optional<Encoder> encoder;
    const double taken = measured([&] {
      encoder.emplace(Encoder::load(directory_.path(), {.threads = 1, .compute = compute}));
    });
    // Pages of the file come on top until they are released: those of one layer, and neighbours.
    EXPECT_GT(estimate, 0.7 * (taken - 6 * kMegabyte)) << taken / kMegabyte;
    EXPECT_LT(estimate, 1.3 * taken) << estimate / kMegabyte << " " << taken / kMegabyte;
  }
}

// Planned before there are weights, and what the weights then take.
TEST_F(MemoryNeed, PlannedMatricesAreThoseThatAreLoaded) {
  write(2, 64);
  ThreadPool pool(1);
  for (const Compute compute : {Compute::kF32, Compute::kBf16, Compute::kInt8}) {
    const Precision precision = choose_precision(compute, false, processor_arithmetic());
    const EncoderWeights weights =
        load_weights(io::Checkpoint::open(directory_.path()), config_, {precision}, pool);
    const EncoderLayer planned = planned_layer(config_, precision);
    uint64_t packed = 0;
    for (const EncoderLayer& layer : weights.layers) {
      const std::pair<const Linear*, const Linear*> pairs[] = {
          {&layer.attention.query, &planned.attention.query},
          {&layer.attention.key, &planned.attention.key},
          {&layer.attention.value, &planned.attention.value},
          {&layer.attention.output, &planned.attention.output},
          {&layer.feed_forward.inner, &planned.feed_forward.inner},
          {&layer.feed_forward.outer, &planned.feed_forward.outer}};
      for (const auto& [loaded, plan] : pairs) {
        packed += loaded->weight.bytes();
        EXPECT_EQ(loaded->weight.type(), plan->weight.type());
        EXPECT_EQ(loaded->weight.out_features(), plan->weight.out_features());
        EXPECT_EQ(loaded->weight.in_features(), plan->weight.in_features());
      }
    }
    packed += weights.pooler.dense.weight.bytes();
    const double estimate = static_cast<double>(weights_need(config_, precision));
    EXPECT_NEAR(estimate / static_cast<double>(packed), 1.01, 0.015);
  }
}

TEST_F(MemoryNeed, SaysHowMuchIsNeededAndHowMuchIsThere) {
  const auto room = [&](int64_t kilobytes) {
    test::put(directory_.path() / "proc/meminfo",
              "MemAvailable: " + std::to_string(kilobytes) + " kB\n");
  };
  room(200'000);
  check_room(200'000'000, 0, "5 tokens need", "fewer", directory_.path());
  check_room(300'000'000, 150'000'000, "5 tokens need", "fewer", directory_.path());
  test::expect_error(
      ErrorCode::kInvalidArgument,
      {"5 tokens need about 300 MB", "205 MB are available", "memory of this machine", "fewer"},
      [&] { check_room(300'000'000, 0, "5 tokens need", "fewer", directory_.path()); });
  room(1);
  check_room(60'000'000, 0, "5 tokens need", "fewer", directory_.path());  // never asked
}

// A batch that no machine holds is refused before anything is allocated for it.
TEST_F(MemoryNeed, AnImpossibleBatchIsRefused) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  if (kSanitized) GTEST_SKIP() << "a sanitizer maps terabytes";
  write(2, 64);
  Encoder encoder = Encoder::load(directory_.path(), {.threads = 1});
  const EncoderInput input = text(std::vector<int64_t>(12, 8000), 0);
  rlimit limit = before;
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0;
  statm >> pages;
  limit.rlim_cur = pages * static_cast<uint64_t>(getpagesize()) + (150 << 20);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  test::expect_error(ErrorCode::kInvalidArgument, {"96000 tokens need about", "ulimit -v"},
                     [&] { encoder.encode(input); });
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(encoder.encode(text({100}, 0)).last_hidden_state.size(), 100u * 256);
}

}  // namespace
}  // namespace longformer
