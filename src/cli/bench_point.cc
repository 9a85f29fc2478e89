#include "cli/bench_point.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "attention/compared/compared.h"
#include "attention/forward.h"
#include "base/memory.h"
#include "base/thread_pool.h"
#include "longformer/encoder.h"

namespace longformer::cli {
namespace {

constexpr int64_t kWarmUpTokens = 64;
// Calls are repeated until they took this long together. A first call that takes longer than
// kLongCall is its own measurement: what starts up in it is small beside it.
constexpr double kMeasuredSeconds = 0.2;
constexpr double kLongCall = 1.0;
constexpr uint64_t kProcessBytes = uint64_t{64} << 20;     // code, stacks, kernels
constexpr uint64_t kReferenceBytes = uint64_t{600} << 20;  // PyTorch, without any tensor
// Measured on Transformers 4.57: 3.8 floats a head, query and token of the window at its highest.
constexpr double kReferenceScores = 4.5;

// [-1, 1), the same values as bench_reference.py makes.
float input_value(uint32_t index, uint32_t seed) {
  uint32_t hash = index * 2654435761u + seed * 974711u;
  hash ^= hash >> 15;
  hash *= 2246822519u;
  hash ^= hash >> 13;
  return static_cast<float>(hash >> 8) * 0x1p-23f - 1.0f;
}

using Buffer = std::unique_ptr<float[]>;

Buffer input_tensor(int64_t count, uint32_t seed, float scale) {
  auto values = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    values[static_cast<size_t>(i)] = scale * input_value(static_cast<uint32_t>(i), seed);
  }
  return values;
}

double mean_magnitude(const float* values, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::abs(static_cast<double>(values[i]));
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

double seconds_of(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Peak of the first call, time of those behind it.
BenchResult measure_calls(const std::function<void()>& call) {
  BenchResult result;
  malloc_trim(0);
  const uint64_t before = resident_bytes();
  result.peak_is_of_the_call = reset_peak_resident();
  const double first = seconds_of(call);
  const uint64_t peak = peak_resident_bytes();
  result.peak_bytes = peak > before ? peak - before : 0;
  result.seconds = first;
  if (first > kLongCall) return result;
  std::vector<double> times;
  for (double total = 0; total < kMeasuredSeconds; total += times.back()) {
    times.push_back(seconds_of(call));
  }
  std::nth_element(times.begin(), times.begin() + static_cast<int64_t>(times.size() / 2),
                   times.end());
  result.seconds = times[times.size() / 2];
  return result;
}

compared::Shape shape_of(const BenchPoint& point) {
  return {.tokens = point.length,
          .heads = point.heads,
          .head_dim = point.head_dim,
          .reach = point.window / 2,
          .dilation = point.dilation};
}

// What is planned once a batch counts, too: the time is from q, k, v to the output.
void our_attention(const compared::Shape& shape, const float* q, const float* k, const float* v,
                   float* out, ThreadPool& pool) {
  AttentionPattern pattern;
  pattern.heads = shape.heads;
  pattern.lengths = {shape.tokens};
  pattern.window = Window{shape.reach, shape.reach};
  pattern.dilation.assign(static_cast<size_t>(shape.heads), shape.dilation);
  attention_forward(compile(pattern), shape.head_dim, q, k, v, {}, out, nullptr, pool);
}

using Attention = void (*)(const compared::Shape&, const float*, const float*, const float*, float*,
                           ThreadPool&);

Attention attention_named(const std::string& name) {
  if (name == kOurs) return our_attention;
  if (name == kLoop) return compared::loop_attention;
  if (name == kChunks) return compared::chunks_attention;
  if (name == kFull) return compared::full_attention;
  throw Error(ErrorCode::kInvalidArgument, "there is no such implementation", "bench " + name);
}

BenchResult measure_attention(const BenchPoint& point) {
  const Attention attention = attention_named(point.implementation);
  compared::Shape shape = shape_of(point);
  ThreadPool pool(point.threads);
  const int64_t count = shape.tokens * shape.heads * shape.head_dim;
  const float scale = 4.0f / std::sqrt(static_cast<float>(shape.head_dim));
  const Buffer q = input_tensor(count, 1, scale), k = input_tensor(count, 2, 1),
               v = input_tensor(count, 3, 1);
  // Not touched yet: the memory of the output belongs to the call.
  const auto out = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(count));
  const auto call = [&] { attention(shape, q.get(), k.get(), v.get(), out.get(), pool); };
  shape.tokens = std::min(point.length, kWarmUpTokens);
  call();  // starts threads and libraries
  shape.tokens = point.length;
  BenchResult result = measure_calls(call);
  result.magnitude = mean_magnitude(out.get(), count);
  return result;
}

// Ids as bench_reference.py makes them; never the padding id, which some models count positions by.
EncoderInput model_input(const EncoderInfo& info, int64_t length) {
  EncoderInput input;
  input.lengths = {length};
  const int64_t reserved = info.vocab_size > 5 ? 5 : 0;
  for (int64_t i = 0; i < length; ++i) {
    const auto step = static_cast<int64_t>(static_cast<uint32_t>(i) * 2654435761u >> 8);
    int64_t id = reserved + step % (info.vocab_size - reserved);
    if (id == info.pad_token_id) id = (id + 1) % info.vocab_size;
    input.input_ids.push_back(id);
  }
  if (info.model_type == "longformer") {
    input.global_attention_mask.assign(static_cast<size_t>(length), 0);
    input.global_attention_mask[0] = 1;
  }
  return input;
}

// How an implementation of --model mode loads the model. A precision (`--compute`) is one more line
// here and one more name in bench.cc.
LoadOptions load_options(const BenchPoint& point) {
  LoadOptions options{.threads = point.threads};
  if (point.implementation == kFull) options.attention_window = {0};
  return options;
}

BenchResult measure_model(const BenchPoint& point) {
  Encoder encoder = Encoder::load(point.model, load_options(point));
  const EncoderInput input = model_input(encoder.info(), point.length);
  encoder.encode(model_input(encoder.info(), std::min(point.length, kWarmUpTokens)));
  EncoderOutput output;
  BenchResult result = measure_calls([&] {
    output = EncoderOutput();
    output = encoder.encode(input);
  });
  result.magnitude = mean_magnitude(output.last_hidden_state.data(),
                                    static_cast<int64_t>(output.last_hidden_state.size()));
  return result;
}

uint64_t add(uint64_t a, double b) {
  const double sum = static_cast<double>(a) + b;
  return sum < 0x1p63 ? static_cast<uint64_t>(sum) : std::numeric_limits<uint64_t>::max();
}

}  // namespace

Json to_json(const BenchPoint& point) {
  return {{"implementation", point.implementation},
          {"length", point.length},
          {"threads", point.threads},
          {"model", point.model},
          {"window", point.window},
          {"heads", point.heads},
          {"head_dim", point.head_dim},
          {"dilation", point.dilation}};
}

BenchPoint point_from_json(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    return {.implementation = json.at("implementation"),
            .length = json.at("length"),
            .threads = json.at("threads"),
            .model = json.at("model"),
            .window = json.at("window"),
            .heads = json.at("heads"),
            .head_dim = json.at("head_dim"),
            .dilation = json.at("dilation")};
  } catch (const Json::exception&) {
    throw Error(ErrorCode::kInvalidArgument, "is no point of a benchmark", "--point");
  }
}

Json to_json(const BenchResult& result) {
  return {{"seconds", result.seconds},
          {"peak_bytes", result.peak_bytes},
          {"magnitude", result.magnitude},
          {"peak_is_of_the_call", result.peak_is_of_the_call}};
}

BenchResult result_from_json(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    return {.seconds = json.at("seconds"),
            .peak_bytes = json.at("peak_bytes"),
            .magnitude = json.at("magnitude"),
            .peak_is_of_the_call = json.at("peak_is_of_the_call")};
  } catch (const Json::exception&) {
    throw Error(ErrorCode::kInternal, "printed no result", "the process of a point");
  }
}

BenchResult measure(const BenchPoint& point) {
  return point.model.empty() ? measure_attention(point) : measure_model(point);
}

uint64_t predicted_bytes(const BenchPoint& point) {
  const double plane = static_cast<double>(point.length) * static_cast<double>(point.heads) *
                       static_cast<double>(point.head_dim) * sizeof(float);
  const compared::Shape shape = shape_of(point);
  if (point.implementation == kReference) {
    const double scores = static_cast<double>(std::max(point.length, point.window)) *
                          static_cast<double>(point.heads) * static_cast<double>(point.window);
    return add(kReferenceBytes, 12 * plane + kReferenceScores * sizeof(float) * scores);
  }
  if (!point.model.empty()) return add(kProcessBytes, 12 * plane);
  const uint64_t inputs = add(kProcessBytes, 4 * plane);
  if (point.implementation == kLoop) {
    return add(inputs, static_cast<double>(compared::loop_bytes(shape, point.threads)));
  }
  if (point.implementation == kChunks) {
    return add(inputs, static_cast<double>(compared::chunks_bytes(shape)));
  }
  if (point.implementation == kFull) {
    return add(inputs, static_cast<double>(compared::full_bytes(shape)));
  }
  return add(inputs, 3 * plane);
}

}  // namespace longformer::cli
