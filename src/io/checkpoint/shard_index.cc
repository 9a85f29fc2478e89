#include "io/checkpoint/shard_index.h"

#include <map>

#include "base/limits.h"
#include "io/json.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

[[noreturn]] void refuse(const std::string& place, const std::string& rule) {
  throw Error(ErrorCode::kInvalidFile, rule, place);
}

void check_shard_name(const std::string& name, const std::string& place, std::string_view suffix) {
  const bool plain = !name.empty() && name.size() <= 255 && name.front() != '.' &&
                     name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
  if (!plain || !name.ends_with(suffix)) {
    refuse(place, "the shard name " + short_value(Json(name)) + " is not the plain name of a " +
                      std::string(suffix) + " file in this directory");
  }
}

}  // namespace

Shards parse_shard_index(std::string_view text, const std::string& place, std::string_view suffix) {
  const Json json = parse_json(text, place, DuplicateKeys::kRefused);
  if (!json.is_object()) {
    refuse(place, "holds " + short_value(json) + "; a JSON object is needed");
  }
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object()) {
    refuse(place, "has no \"weight_map\" object from tensor names to shard files");
  }
  if (map->size() > kMaxTensors) {
    refuse(place, "lists more than " + std::to_string(kMaxTensors) + " tensors");
  }
  Shards shards;
  std::map<std::string, size_t> position;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) {
      refuse(place, "weight_map entry " + short_value(Json(tensor)) + " is " + short_value(shard) +
                        "; it must be a file name");
    }
    const auto& file = shard.get_ref<const std::string&>();
    const auto [found, added] = position.try_emplace(file, shards.size());
    if (added) {
      check_shard_name(file, place, suffix);
      shards.emplace_back(file, std::vector<std::string>());
    }
    shards[found->second].second.push_back(tensor);
  }
  return shards;
}

}  // namespace longformer::io
