// Directories without tokenizer.json: what Transformers' fast class for them builds from the files.
#pragma once

#include <string>

#include "text/files/json.h"
#include "text/files/spec.h"

namespace longformer::text {

// The class that the files name, without its ending "Fast"; empty where none does.
std::string tokenizer_class(const TokenizerFiles& files, const JsonObject& config);

// `config`: the document of tokenizer_config.json, or an empty object. Each throws kUnsupported,
// naming it, for a class that it does not know.
TokenizerSpec read_wordpiece_files(const TokenizerFiles& files, const JsonObject& config);
TokenizerSpec read_bpe_files(const TokenizerFiles& files, const JsonObject& config);

[[noreturn]] void refuse_class(const std::string& name, const std::string& file,
                               const std::string& place);

// [CLS] A [SEP] and [CLS] A [SEP] B [SEP] with types 0 and 1.
NamedTemplate bert_template(const std::string& cls, const std::string& sep);
// <s> A </s> and <s> A </s></s> B </s>, all types 0.
NamedTemplate roberta_template(const std::string& cls, const std::string& sep);

}  // namespace longformer::text
