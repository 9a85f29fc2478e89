// Directories with a SentencePiece model file and no tokenizer.json: the tokenizer that
// Transformers' fast class makes of them.
#pragma once

#include "text/files/json.h"
#include "text/files/sentencepiece_model.h"
#include "text/files/spec.h"

namespace longformer::text {

// `files.sentencepiece` must be there; `config`: the document of tokenizer_config.json, or an empty
// object. Throws kInvalidFile naming the file, kUnsupported for a class that is read from no such
// file.
TokenizerSpec read_sentencepiece_files(const TokenizerFiles& files, const JsonObject& config);

// The merges of a model of the BPE kind, by rank: each split of a piece into two pieces, the piece
// with the highest score first.
std::vector<std::pair<std::string, std::string>> sentencepiece_merges(
    const SentencePieceModel& model, const std::string& place);

}  // namespace longformer::text
