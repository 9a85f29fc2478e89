#include "io/datasets/cells.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "io/json.h"

namespace longformer::io {

std::string label_fault(Cell& cell) {
  if (cell.kind == Cell::Kind::kLarge) return std::string("is ") + kLargeNumberFault;
  const bool label = cell.kind == Cell::Kind::kText || cell.kind == Cell::Kind::kNumber;
  return label ? "" : "must be a string or a number";
}

std::string number_fault(Cell& cell) {
  if (cell.kind == Cell::Kind::kNumber || cell.kind == Cell::Kind::kLarge) return "";
  const char* const last = cell.text.data() + cell.text.size();
  const auto [end, error] = std::from_chars(cell.text.data(), last, cell.number);
  const bool number = cell.kind == Cell::Kind::kText && error == std::errc() && end == last;
  return number && std::isfinite(cell.number) ? "" : "must be a finite number";
}

std::string labels_fault(const std::string& separator, Cell& cell) {
  if (cell.kind == Cell::Kind::kText) {
    const std::string text = std::move(cell.text);
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find(separator, at), text.size());
      Cell item;
      item.kind = Cell::Kind::kText;
      item.text = text.substr(at, end - at);
      cell.list.push_back(std::move(item));
      at = end + separator.size();
    }
    cell.kind = Cell::Kind::kList;
    return "";
  }
  if (cell.kind != Cell::Kind::kList) return "must be a list of labels";
  for (Cell& item : cell.list) {
    if (item.kind == Cell::Kind::kLarge) return std::string("holds ") + kLargeNumberFault;
    if (!label_fault(item).empty()) return "must be a list of strings or numbers";
  }
  return "";
}

bool take_list(const Cell* cell, std::vector<std::string>& texts) {
  if (cell == nullptr || cell->kind != Cell::Kind::kList) return false;
  for (const Cell& item : cell->list) {
    if (item.kind != Cell::Kind::kText) return false;
    texts.push_back(item.text);
  }
  return true;
}

std::string sentence_fault(const Row& row, const std::string& words_field,
                           const std::string& tags_field, std::vector<std::string>& words,
                           std::vector<std::string>& tags) {
  const auto no_list = [](const std::string& field) {
    return "has no list of strings in the field " + short_value(Json(field));
  };
  if (!take_list(row.find(tags_field), tags)) return no_list(tags_field);
  if (words_field.empty()) return "";
  if (!take_list(row.find(words_field), words)) return no_list(words_field);
  if (words.size() == tags.size()) return "";
  return "has " + std::to_string(words.size()) + " words and " + std::to_string(tags.size()) +
         " tags";
}

}  // namespace longformer::io
