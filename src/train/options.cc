#include "train/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <type_traits>

#include "base/limits.h"
#include "io/files.h"
#include "longformer/error.h"

namespace longformer::train {
namespace {

[[noreturn]] void refuse(const OptionEntry& entry, const std::string& value,
                         const std::string& place) {
  throw Error(ErrorCode::kInvalidArgument, "is " + value + "; allowed is " + entry.allowed(),
              (place.empty() ? "" : place + ": ") + std::string(entry.name));
}

// Text of a user in a message: short, quoted, and nothing that moves a cursor.
std::string shown(std::string_view text) {
  constexpr size_t kMost = 40;
  std::string result = "\"";
  for (const char c : text.substr(0, kMost)) {
    result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return result + (text.size() > kMost ? "…\"" : "\"");
}

std::string number_text(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return {text, end};
}

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool in_range(const OptionRange& range, double value) {
  return std::isfinite(value) && value >= range.low && value <= range.high &&
         !(range.low_excluded && value == range.low) &&
         !(range.high_excluded && value == range.high);
}

std::string joined(const std::vector<std::string_view>& choices) {
  std::string text;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) text += i + 1 == choices.size() ? " or " : ", ";
    text += choices[i];
  }
  return text;
}

std::string allowed_numbers(const OptionRange& range, const std::string& kind) {
  const std::string low = number_text(range.low), high = number_text(range.high);
  if (std::isinf(range.high))
    return kind + (range.low_excluded ? " above " : " of at least ") + low;
  if (range.low_excluded) return kind + " above " + low + ", at most " + high;
  if (range.high_excluded) return kind + " of at least " + low + ", below " + high;
  return kind + " from " + low + " to " + high;
}

}  // namespace

std::string OptionEntry::flag() const {
  std::string text = "--" + std::string(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::string OptionEntry::allowed() const {
  switch (member.index()) {
    case 0:
      return "true or false";
    case 1:
      return allowed_numbers(range, "a whole number");
    case 2:
      return allowed_numbers(range, "a number");
    default:
      return choices.empty() ? "a name" : joined(choices);
  }
}

const OptionEntry& option_entry(std::string_view name, const std::string& place) {
  std::string wanted(name), known;
  std::replace(wanted.begin(), wanted.end(), '-', '_');
  for (const OptionEntry& entry : option_table()) {
    if (entry.name == wanted) return entry;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw Error(ErrorCode::kInvalidArgument, shown(name) + " is no option; there are: " + known,
              place);
}

void set_option(TrainingOptions& options, const OptionEntry& entry, std::string_view text,
                const std::string& place) {
  std::visit(
      [&](auto member) {
        using Value = std::decay_t<decltype(options.*member)>;
        if constexpr (std::is_same_v<Value, bool>) {
          if (text != "true" && text != "false") refuse(entry, shown(text), place);
          options.*member = text == "true";
        } else if constexpr (std::is_same_v<Value, std::string>) {
          const bool known = entry.choices.empty()
                                 ? !text.empty()
                                 : std::count(entry.choices.begin(), entry.choices.end(), text) > 0;
          if (!known) refuse(entry, shown(text), place);
          options.*member = std::string(text);
        } else {
          const std::optional<Value> value = parse_number<Value>(text);
          if (!value || !in_range(entry.range, static_cast<double>(*value))) {
            refuse(entry, shown(text), place);
          }
          options.*member = *value;
        }
      },
      entry.member);
}

void set_option_json(TrainingOptions& options, const OptionEntry& entry, const io::Json& value,
                     const std::string& place) {
  const bool text = std::holds_alternative<std::string TrainingOptions::*>(entry.member);
  const bool number = entry.member.index() == 1 || entry.member.index() == 2;
  if (value.is_string() && text) {
    set_option(options, entry, std::string_view(value.get_ref<const std::string&>()), place);
  } else if (value.is_boolean() && !number) {
    set_option(options, entry, value.get<bool>() ? "true" : "false", place);
  } else if (value.is_number_float() && entry.member.index() == 1) {
    const auto real = value.get<double>();  // 3.0 is a whole number, as Python writes some
    if (real != std::floor(real) || !in_range(entry.range, real)) {
      refuse(entry, io::short_value(value), place);
    }
    options.*std::get<int64_t TrainingOptions::*>(entry.member) = static_cast<int64_t>(real);
  } else if (value.is_number() && number) {
    set_option(options, entry, std::string_view(value.dump()), place);
  } else {
    refuse(entry, io::short_value(value), place);
  }
}

std::string option_text(const TrainingOptions& options, const OptionEntry& entry) {
  return std::visit(
      [&](auto member) -> std::string {
        using Value = std::decay_t<decltype(options.*member)>;
        if constexpr (std::is_same_v<Value, bool>) {
          return options.*member ? "true" : "false";
        } else if constexpr (std::is_same_v<Value, std::string>) {
          return options.*member;
        } else if constexpr (std::is_same_v<Value, double>) {
          return number_text(options.*member);
        } else {
          return std::to_string(options.*member);
        }
      },
      entry.member);
}

io::Json options_json(const TrainingOptions& options) {
  io::Json values = io::Json::object();
  for (const OptionEntry& entry : option_table()) {
    std::visit([&](auto member) { values[std::string(entry.name)] = options.*member; },
               entry.member);
  }
  return values;
}

void apply_options(TrainingOptions& options, const io::Json& values, const std::string& place) {
  if (!values.is_object()) {
    throw Error(ErrorCode::kInvalidArgument,
                "is " + io::short_value(values) +
                    "; options are one object, such as {\"learning_rate\": 5e-5}",
                place);
  }
  for (const auto& [name, value] : values.items()) {
    set_option_json(options, option_entry(name, place), value, place);
  }
}

void read_options_file(TrainingOptions& options, const std::filesystem::path& path) {
  const std::string text = io::read_file(path, kMaxJsonBytes);
  apply_options(options, io::parse_json(text, path.string(), io::DuplicateKeys::kRefused),
                path.string());
}

void check_options(const TrainingOptions& options) {
  const auto refuse_pair = [](const std::string& option, const std::string& message) {
    throw Error(ErrorCode::kInvalidArgument, message, option);
  };
  if (options.load_best_model_at_end && !options.keep_best) {
    refuse_pair("load_best_model_at_end", "needs keep_best: the best checkpoint must be there");
  }
  constexpr double kPolynomialEnd = 1e-7;
  if (options.lr_scheduler_type == "polynomial" && options.learning_rate <= kPolynomialEnd) {
    refuse_pair("learning_rate",
                "is " + number_text(options.learning_rate) +
                    "; the polynomial schedule ends at 1e-07, so it must be above");
  }
  if (options.overfit_one_batch > 0 && options.find_learning_rate > 0) {
    refuse_pair("overfit_one_batch", "cannot be had together with find_learning_rate; do one");
  }
  constexpr int64_t kFewest = 10;
  if (options.find_learning_rate > 0 && options.find_learning_rate < kFewest) {
    refuse_pair("find_learning_rate", "is " + std::to_string(options.find_learning_rate) +
                                          "; allowed are 0 (off) and 10 steps or more");
  }
}

std::vector<std::string> resume_differences(const io::Json& saved, const TrainingOptions& options) {
  TrainingOptions before;
  // A checkpoint of a version that knew fewer options had the defaults of the others.
  for (const auto& [name, value] : saved.items()) {
    set_option_json(before, option_entry(name, "the checkpoint"), value, "the checkpoint");
  }
  std::vector<std::string> differences;
  for (const OptionEntry& entry : option_table()) {
    const std::string now = option_text(options, entry), then = option_text(before, entry);
    if (entry.on_resume == OnResume::kMustMatch && now != then) {
      differences.push_back(std::string(entry.name) + " is " + now + ", and was " + then);
    }
  }
  return differences;
}

bool greater_is_better(const TrainingOptions& options) {
  if (options.greater_is_better != "auto") return options.greater_is_better == "true";
  return !options.metric_for_best_model.ends_with("loss");
}

}  // namespace longformer::train
