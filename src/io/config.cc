#include "io/config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/limits.h"
#include "io/files.h"
#include "io/json.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

[[noreturn]] void throw_field(const std::string& place, std::string_view key, const Json& value,
                              const std::string& wanted) {
  throw Error(ErrorCode::kInvalidFile,
              "\"" + std::string(key) + "\" is " + short_value(value) + "; it must be " + wanted,
              place);
}

// A whole number, also when written as 512.0; nothing for other types, fractions and what 64 bits
// do not hold.
bool whole_number(const Json& value, int64_t& out) {
  if (value.is_number_unsigned()) {
    const uint64_t number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return false;
    out = static_cast<int64_t>(number);
    return true;
  }
  if (value.is_number_integer()) {
    out = value.get<int64_t>();
    return true;
  }
  if (!value.is_number_float()) return false;
  const double number = value.get<double>();
  if (std::trunc(number) != number || std::abs(number) >= 0x1.0p63) return false;
  out = static_cast<int64_t>(number);
  return true;
}

std::string range_text(int64_t min, int64_t max) {
  return "a whole number from " + std::to_string(min) + " to " + std::to_string(max);
}

std::string number_text(double number) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return std::string(text.data(), end);
}

}  // namespace

struct Config::Impl {
  Json json = Json::object();
  std::string place;

  const Json* find(std::string_view key) const {
    const auto found = json.find(std::string(key));
    if (found == json.end() || found->is_null()) return nullptr;
    return &*found;
  }

  int64_t integer(std::string_view key, const Json& value, int64_t min, int64_t max) const {
    int64_t number = 0;
    if (!whole_number(value, number) || number < min || number > max) {
      throw_field(place, key, value, range_text(min, max));
    }
    return number;
  }
};

Config::Config() : impl_(std::make_unique<Impl>()) {}
Config::Config(const Config& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
Config& Config::operator=(const Config& other) {
  *impl_ = *other.impl_;
  return *this;
}
// A moved-from object is an empty configuration, so every member stays callable on it.
Config::Config(Config&& other) noexcept : Config() { impl_.swap(other.impl_); }
Config& Config::operator=(Config&& other) noexcept {
  impl_.swap(other.impl_);
  return *this;
}
Config::~Config() = default;

Config Config::parse(std::string_view text, std::string place) {
  Config config;
  config.impl_->json = parse_json(text, place, DuplicateKeys::kLastWins);
  if (!config.impl_->json.is_object()) {
    throw Error(ErrorCode::kInvalidFile,
                "holds " + short_value(config.impl_->json) + "; a JSON object is needed",
                place + ": byte 0");
  }
  config.impl_->place = std::move(place);
  return config;
}

Config Config::read(const std::filesystem::path& path) {
  return parse(read_file(path, kMaxJsonBytes), path.string());
}

std::vector<Config> Config::read_list(const std::filesystem::path& path) {
  const Json list =
      parse_json(read_file(path, kMaxJsonBytes), path.string(), DuplicateKeys::kLastWins);
  const bool objects = list.is_array() && std::all_of(list.begin(), list.end(),
                                                      [](const Json& j) { return j.is_object(); });
  if (!objects || list.empty()) {
    throw Error(ErrorCode::kInvalidFile, "must be a list of JSON objects, at least one",
                path.string());
  }
  std::vector<Config> configs(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    configs[i].impl_->json = list[i];
    configs[i].impl_->place = path.string() + ": entry " + std::to_string(i);
  }
  return configs;
}

const std::string& Config::place() const { return impl_->place; }
bool Config::has(std::string_view key) const { return impl_->find(key) != nullptr; }
bool Config::contains(std::string_view key) const { return impl_->json.contains(std::string(key)); }

int64_t Config::integer(std::string_view key, int64_t fallback, int64_t min, int64_t max) const {
  const Json* value = impl_->find(key);
  return value == nullptr ? fallback : impl_->integer(key, *value, min, max);
}

double Config::number(std::string_view key, double fallback, double min, double max) const {
  const Json* value = impl_->find(key);
  if (value == nullptr) return fallback;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= min && number <= max)) {
    throw_field(impl_->place, key, *value,
                "a number from " + number_text(min) + " to " + number_text(max));
  }
  return number;
}

bool Config::boolean(std::string_view key, bool fallback) const {
  const Json* value = impl_->find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) throw_field(impl_->place, key, *value, "true or false");
  return value->get<bool>();
}

std::string Config::string(std::string_view key, std::string fallback) const {
  const Json* value = impl_->find(key);
  if (value == nullptr) return fallback;
  if (!value->is_string()) throw_field(impl_->place, key, *value, "a string");
  return value->get<std::string>();
}

std::vector<int64_t> Config::integers(std::string_view key, int64_t min, int64_t max) const {
  const Json* value = impl_->find(key);
  if (value == nullptr) return {};
  if (value->is_number()) return {impl_->integer(key, *value, min, max)};
  if (!value->is_array()) {
    throw_field(impl_->place, key, *value, range_text(min, max) + " or a list of them");
  }
  std::vector<int64_t> numbers;
  numbers.reserve(value->size());
  for (const Json& item : *value) {
    const std::string name = std::string(key) + "[" + std::to_string(numbers.size()) + "]";
    numbers.push_back(impl_->integer(name, item, min, max));
  }
  return numbers;
}

std::vector<std::string> Config::strings(std::string_view key) const {
  const Json* value = impl_->find(key);
  if (value == nullptr) return {};
  if (value->is_string()) return {value->get<std::string>()};
  if (!value->is_array()) throw_field(impl_->place, key, *value, "a string or a list of strings");
  std::vector<std::string> texts;
  texts.reserve(value->size());
  for (const Json& item : *value) {
    if (!item.is_string()) {
      throw_field(impl_->place, std::string(key) + "[" + std::to_string(texts.size()) + "]", item,
                  "a string");
    }
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

std::vector<std::string> Config::string_list(std::string_view key) const {
  const Json* value = impl_->find(key);
  if (value != nullptr && !value->is_array()) {
    throw_field(impl_->place, key, *value, "a list of strings");
  }
  return strings(key);
}

std::vector<std::pair<std::string, std::string>> Config::string_map(std::string_view key) const {
  const std::optional<Config> inner = object(key);
  std::vector<std::pair<std::string, std::string>> texts;
  if (!inner) return texts;
  for (const auto& [name, value] : inner->impl_->json.items()) {
    if (value.is_null()) continue;
    if (!value.is_string()) throw_field(impl_->place, name, value, "a string");
    texts.emplace_back(name, value.get<std::string>());
  }
  return texts;
}

std::optional<Config> Config::object(std::string_view key) const {
  const Json* value = impl_->find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) throw_field(impl_->place, key, *value, "an object");
  Config inner;
  inner.impl_->place = impl_->place + ", \"" + std::string(key) + "\"";
  inner.impl_->json = *value;
  return inner;
}

void Config::set(std::string_view key, int64_t value) { impl_->json[std::string(key)] = value; }
void Config::set(std::string_view key, const std::string& value) {
  impl_->json[std::string(key)] = value;
}
void Config::set(std::string_view key, const std::vector<int64_t>& value) {
  impl_->json[std::string(key)] = value;
}
void Config::set(std::string_view key, const std::vector<std::string>& value) {
  impl_->json[std::string(key)] = value;
}
void Config::set(std::string_view key, const Config& object) {
  impl_->json[std::string(key)] = object.impl_->json;
}
void Config::set_null(std::string_view key) { impl_->json[std::string(key)] = nullptr; }
void Config::erase(std::string_view key) { impl_->json.erase(std::string(key)); }

std::string Config::dump() const {
  return impl_->json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace longformer::io
