#include "text/post_template.h"

#include <algorithm>

#include "longformer/error.h"

namespace longformer::text {
namespace {

using Kind = TemplatePiece::Kind;

int64_t count(const std::vector<TemplatePiece>& pieces, Kind kind) {
  return std::count_if(pieces.begin(), pieces.end(),
                       [kind](const TemplatePiece& p) { return p.kind == kind; });
}

}  // namespace

PostTemplate PostTemplate::bare() {
  return {{{Kind::kFirst, {}, 0}}, {{Kind::kFirst, {}, 0}, {Kind::kSecond, {}, 1}}};
}

PostTemplate PostTemplate::bert(int64_t cls, int64_t sep) {
  const TemplatePiece begin = {Kind::kSpecial, {cls}, 0};
  const TemplatePiece middle = {Kind::kSpecial, {sep}, 0};
  const TemplatePiece end = {Kind::kSpecial, {sep}, 1};
  const TemplatePiece first = {Kind::kFirst, {}, 0};
  const TemplatePiece second = {Kind::kSecond, {}, 1};
  return {{begin, first, middle}, {begin, first, middle, second, end}};
}

PostTemplate PostTemplate::roberta(int64_t cls, int64_t sep) {
  const TemplatePiece begin = {Kind::kSpecial, {cls}, 0};
  const TemplatePiece end = {Kind::kSpecial, {sep}, 0};
  const TemplatePiece first = {Kind::kFirst, {}, 0};
  const TemplatePiece second = {Kind::kSecond, {}, 0};
  return {{begin, first, end}, {begin, first, end, end, second, end}};
}

bool PostTemplate::takes_pairs() const {
  return count(pair, Kind::kFirst) > 0 && count(pair, Kind::kSecond) > 0;
}

void check_template(const PostTemplate& post, int64_t vocabulary_size, const std::string& place) {
  if (count(post.single, Kind::kFirst) == 0 || count(post.single, Kind::kSecond) != 0) {
    throw Error(ErrorCode::kInvalidFile, "the template for one text must use A and not B", place);
  }
  if (count(post.single, Kind::kFirst) > 1 || count(post.pair, Kind::kFirst) > 1 ||
      count(post.pair, Kind::kSecond) > 1) {
    throw Error(ErrorCode::kUnsupported, "a template that repeats a text", place);
  }
  for (const std::vector<TemplatePiece>* pieces : {&post.single, &post.pair}) {
    for (const TemplatePiece& piece : *pieces) {
      for (const int64_t id : piece.ids) {
        if (id < 0 || id >= vocabulary_size) {
          throw Error(ErrorCode::kInvalidFile,
                      "the template adds the id " + std::to_string(id) +
                          ", which the vocabulary of size " + std::to_string(vocabulary_size) +
                          " does not have",
                      place);
        }
      }
    }
  }
}

}  // namespace longformer::text
