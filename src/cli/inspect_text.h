// How inspect prints what it found: text for a person in 100 columns, or one record.
#pragma once

#include <string>
#include <vector>

#include "cli/output.h"
#include "models/complexity.h"
#include "models/memory_need.h"

namespace longformer::cli {

struct Inspection {
  std::string model;
  std::string model_class;
  EncoderConfig config;  // as it is read, with what options changed
  std::vector<std::string> overrides;
  int64_t length = 0;
  int64_t global_tokens = 0;
  int64_t batch = 1;
  int threads = 1;
  Precision precision;
  DType stored = DType::kF32;
  Convention convention = Convention::kPtflops;
  std::vector<ModuleCost> modules;
  std::vector<ReceptiveField> fields;
  MemoryEstimate memory;
  uint64_t empty_process = 0;  // resident bytes before anything was read
};

// As the well-known counter writes numbers: two decimals and the largest of K, M, G that fits, then
// `unit`: "905.97 MMac".
std::string count_text(uint64_t count, const std::string& unit);
// "1.77 M"
std::string parameters_text(uint64_t count);

std::string inspection_text(const Inspection& inspection);  // without the last line feed
Json inspection_record(const Inspection& inspection);

}  // namespace longformer::cli
