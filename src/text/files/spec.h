// What a model directory says about its tokenizer, whichever files say it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "text/added_tokens.h"
#include "text/decoder.h"
#include "text/models/model.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pretokenizer.h"
#include "text/tokenizer.h"

namespace longformer::text {

// A template that names its special tokens; their ids are known only once added tokens have theirs.
struct NamedPiece {
  TemplatePiece::Kind kind = TemplatePiece::Kind::kFirst;
  std::string token;  // of kSpecial
  int64_t type_id = 0;
};
struct NamedTemplate {
  std::vector<NamedPiece> single;
  std::vector<NamedPiece> pair;
};

struct TokenizerSpec {
  std::string place;  // the file, for messages
  Normalizer normalizer;
  PreTokenizer pretokenizer;
  ModelSpec model;
  std::vector<AddedToken> added_tokens;
  PostProcessor post;
  std::optional<NamedTemplate> named_template;  // replaces post.post
  Decoder decoder;
};

TokenizerSpec read_tokenizer_json(const std::string& text, const std::string& place);
// Of a directory without tokenizer.json: as Transformers' fast class for it is built.
TokenizerSpec read_vocab_files(const TokenizerFiles& files);

}  // namespace longformer::text
