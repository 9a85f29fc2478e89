#include "cli/inspect_text.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <utility>

#include "base/memory.h"

namespace longformer::cli {
namespace {

std::string unit_of(Convention convention) {
  return convention == Convention::kTorch ? "FLOP" : "Mac";
}

__attribute__((format(printf, 1, 2))) std::string formatted(const char* format, ...) {
  std::array<char, 512> text;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  return text.data();
}

std::string scaled(uint64_t count, const std::string& between, const std::string& unit) {
  constexpr std::array<std::pair<uint64_t, const char*>, 3> kUnits = {
      {{1'000'000'000, "G"}, {1'000'000, "M"}, {1'000, "K"}}};
  for (const auto& [size, letter] : kUnits) {
    if (count < size) continue;
    return formatted("%.2f", static_cast<double>(count) / static_cast<double>(size)) + between +
           letter + unit;
  }
  return std::to_string(count) + (unit.empty() ? "" : between + unit);
}

double ratio(const Cost& cost) {
  const auto executed = static_cast<double>(cost.count(Convention::kExecuted));
  return executed == 0 ? 1.0 : static_cast<double>(cost.count(Convention::kExact)) / executed;
}

// Modules of the same name, those of all layers together.
struct NamedCost {
  std::string_view name;
  int64_t times = 0;
  Cost cost;
};

std::vector<NamedCost> by_name(const std::vector<ModuleCost>& modules) {
  std::vector<NamedCost> rows;
  for (const ModuleCost& module : modules) {
    const auto same = [&](const NamedCost& row) { return row.name == module.name; };
    if (std::any_of(rows.begin(), rows.end(), same)) continue;
    std::vector<ModuleCost> all;
    std::copy_if(modules.begin(), modules.end(), std::back_inserter(all),
                 [&](const ModuleCost& other) { return other.name == module.name; });
    rows.push_back({module.name, static_cast<int64_t>(all.size()), total_cost(all)});
  }
  return rows;
}

std::string table_line(const std::string& name, const std::array<std::string, 5>& cells) {
  std::string line = formatted("  %-20s %10s", name.c_str(), cells[0].c_str());
  for (size_t c = 1; c < cells.size(); ++c) line += formatted(" %15s", cells[c].c_str());
  return line + "\n";
}

std::array<std::string, 5> cells_of(const Cost& cost) {
  std::array<std::string, 5> cells;
  cells[0] = cost.parameters == 0 ? "-" : parameters_text(cost.parameters);
  for (size_t c = 0; c < kConventions.size(); ++c) {
    const uint64_t count = cost.counts[c];
    cells[c + 1] = count == 0 ? "-" : count_text(count, unit_of(kConventions[c]));
  }
  return cells;
}

std::array<std::string, 5> whole_numbers(const Cost& cost) {
  std::array<std::string, 5> cells;
  cells[0] = std::to_string(cost.parameters);
  for (size_t c = 0; c < kConventions.size(); ++c) cells[c + 1] = std::to_string(cost.counts[c]);
  return cells;
}

std::string heading(const Inspection& in) {
  const Cost attention = self_attention_cost(in.modules, 0);
  const uint64_t count = attention.count(in.convention);
  std::string text = "self-attention of layer 0 at " + counted(in.length, "token") + ", as " +
                     std::string(convention_name(in.convention)) +
                     " counts: " + count_text(count, unit_of(in.convention)) + " and " +
                     parameters_text(attention.parameters) + " parameters\n";
  return text + "  to the unit: " + std::to_string(count) + " " + unit_of(in.convention) + ", " +
         std::to_string(attention.parameters) + " parameters\n";
}

std::string module_table(const Inspection& in) {
  const Cost total = total_cost(in.modules);
  std::string text =
      "\n" + in.model_class + ", one document of " + counted(in.length, "token") +
      (in.global_tokens > 0 ? ", " + std::to_string(in.global_tokens) + " global" : std::string()) +
      "\n" + table_line("module", {"parameters", "ptflops", "torch", "exact", "executed"});
  for (const NamedCost& row : by_name(in.modules)) {
    const std::string times = row.times > 1 ? " x" + std::to_string(row.times) : "";
    text += table_line(std::string(row.name) + times, cells_of(row.cost));
  }
  text += table_line("all", cells_of(total));
  text += table_line("to the unit", whole_numbers(total));
  text += formatted("  exact / executed: %.1f %% of the model, %.1f %% of scores and context\n",
                    100 * ratio(total), 100 * ratio(attention_products_cost(in.modules)));
  return text;
}

std::string field_line(const Inspection& in, size_t layer) {
  const ReceptiveField& field = in.fields[layer];
  const auto index = static_cast<int64_t>(layer);
  const int64_t window = in.config.window_of(index);
  const std::string name = window == 0 ? "full" : std::to_string(window);
  const std::string left = field.everything ? "all" : std::to_string(field.left);
  const std::string right = field.everything ? "all" : std::to_string(field.right);
  return formatted("  %5zu %9s %9lld %12s %12s %12lld\n", layer, name.c_str(),
                   static_cast<long long>(in.config.dilation_of(index)), left.c_str(),
                   right.c_str(), static_cast<long long>(field.tokens));
}

std::string field_table(const Inspection& in) {
  std::string text = "\nwhat a token of a layer's output has seen";
  if (in.global_tokens > 0) text += " (through global tokens: everything, from layer 1 on)";
  text += "\n  layer    window  dilation         left        right  of the text\n";
  for (size_t layer = 0; layer < in.fields.size(); ++layer) text += field_line(in, layer);
  return text;
}

std::string memory_lines(const Inspection& in) {
  const MemoryEstimate& memory = in.memory;
  std::string text = "\nmemory for " + counted(in.batch, "document") + " at once, " +
                     std::string(in.precision.computed) + ", " + counted(in.threads, "thread") +
                     "\n";
  const auto line = [&](const char* name, uint64_t bytes, const char* what) {
    text += formatted("  %-12s %9s   %s\n", name, memory_text(bytes).c_str(), what);
  };
  line("weights", memory.weights, "packed matrices, norms, biases");
  line("loading", memory.loading, "converting matrices");
  line("activations", memory.activations, "states, keys, values, working memory");
  line("file pages", memory.file_pages, "embeddings in use; the system takes them back if it must");
  line("libraries", memory.libraries, "code and generated kernels");
  line("peak", memory.peak, "above an empty process");
  line("process", memory.peak + in.empty_process, "with it");
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

Json counts_record(const Cost& cost) {
  Json record = {{"parameters", cost.parameters}};
  for (const Convention convention : kConventions) {
    record[std::string(convention_name(convention))] = cost.count(convention);
  }
  return record;
}

Json chosen_record(const Cost& cost, Convention convention) {
  Json record = {{"count", cost.count(convention)},
                 {"text", count_text(cost.count(convention), unit_of(convention))}};
  record.update(counts_record(cost));
  return record;
}

Json modules_record(const std::vector<ModuleCost>& modules) {
  Json list = Json::array();
  for (const ModuleCost& module : modules) {
    Json record = {{"layer", module.layer ? Json(*module.layer) : Json()}, {"name", module.name}};
    record.update(counts_record(module.cost));
    list.push_back(std::move(record));
  }
  return list;
}

Json fields_record(const Inspection& in) {
  Json list = Json::array();
  for (size_t layer = 0; layer < in.fields.size(); ++layer) {
    const ReceptiveField& field = in.fields[layer];
    const auto index = static_cast<int64_t>(layer);
    const bool full = in.config.window_of(index) == 0;
    list.push_back({{"layer", layer},
                    {"window", full ? Json() : Json(in.config.window_of(index))},
                    {"dilation", full ? Json() : Json(in.config.dilation_of(index))},
                    {"left", field.everything ? Json() : Json(field.left)},
                    {"right", field.everything ? Json() : Json(field.right)},
                    {"tokens", field.tokens}});
  }
  return list;
}

Json memory_record(const Inspection& in) {
  const MemoryEstimate& memory = in.memory;
  return {{"batch", in.batch},
          {"threads", in.threads},
          {"compute", compute_name(in.precision.compute)},
          {"computed", in.precision.computed},
          {"stored", in.config.int8_weights ? "I8" : dtype_name(in.stored)},
          {"weights", memory.weights},
          {"loading", memory.loading},
          {"activations", memory.activations},
          {"file_pages", memory.file_pages},
          {"libraries", memory.libraries},
          {"peak", memory.peak},
          {"process", memory.peak + in.empty_process}};
}

}  // namespace

std::string count_text(uint64_t count, const std::string& unit) { return scaled(count, " ", unit); }
std::string parameters_text(uint64_t count) { return scaled(count, " ", ""); }

std::string inspection_text(const Inspection& in) {
  std::string text = heading(in);
  for (const std::string& line : in.overrides) text += "  with " + line + "\n";
  return text + module_table(in) + field_table(in) + memory_lines(in);
}

Json inspection_record(const Inspection& in) {
  const Cost total = total_cost(in.modules);
  return {{"model", in.model},
          {"model_class", in.model_class},
          {"layers", in.config.layers},
          {"hidden_size", in.config.hidden_size},
          {"heads", in.config.heads},
          {"max_tokens", in.config.max_tokens()},
          {"overrides", in.overrides},
          {"length", in.length},
          {"global_tokens", in.global_tokens},
          {"parameters", total.parameters},
          {"convention", convention_name(in.convention)},
          {"self_attention", chosen_record(self_attention_cost(in.modules, 0), in.convention)},
          {"total", chosen_record(total, in.convention)},
          {"modules", modules_record(in.modules)},
          {"efficiency", ratio(total)},
          {"attention_efficiency", ratio(attention_products_cost(in.modules))},
          {"receptive_field", fields_record(in)},
          {"memory", memory_record(in)}};
}

}  // namespace longformer::cli
