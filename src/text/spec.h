// What a model directory says about its tokenizer, whichever files say it.
#pragma once

#include <string>
#include <vector>

#include "text/added_tokens.h"
#include "text/decoder.h"
#include "text/normalizer.h"
#include "text/post_template.h"
#include "text/pretokenizer.h"
#include "text/tokenizer.h"
#include "text/wordpiece.h"

namespace longformer::text {

// A template names its special tokens; their ids are known only once added tokens have theirs.
struct BertTemplate {
  std::string cls;
  std::string sep;
};

struct TokenizerSpec {
  std::string place;  // the file, for messages
  Normalizer normalizer;
  PreTokenizer pretokenizer = PreTokenizer::kNone;
  WordPieceSettings model;
  Vocabulary vocabulary;
  std::vector<AddedToken> added_tokens;
  PostTemplate post = PostTemplate::bare();
  std::optional<BertTemplate> bert_template;  // replaces `post`
  Decoder decoder;
};

struct BertNormalizerSettings {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  std::optional<bool> strip_accents;  // absent: same as lowercase
  bool lowercase = true;
};
std::vector<NormalizerStep> bert_steps(const BertNormalizerSettings& settings);

TokenizerSpec read_tokenizer_json(const std::string& text, const std::string& place);
TokenizerSpec read_vocab_txt(const TokenizerFiles& files);

}  // namespace longformer::text
