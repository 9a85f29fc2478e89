// Hard limits on what files and callers may ask for, in one place. docs/limits.md lists them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace longformer {

inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // safetensors header
inline constexpr uint64_t kMaxTensors = 100'000;          // in one checkpoint
inline constexpr size_t kMaxRank = 8;                     // dimensions of a tensor
inline constexpr size_t kMaxNameBytes = 512;              // name of a tensor
inline constexpr size_t kMaxJsonDepth = 64;
inline constexpr uint64_t kMaxJsonBytes = 64u << 20;        // any JSON but a tokenizer
inline constexpr uint64_t kMaxTokenizerBytes = 256u << 20;  // tokenizer.json, vocab.txt
inline constexpr int64_t kMaxVocabulary = 2'000'000;
inline constexpr size_t kMaxTokenBytes = 4096;
inline constexpr int64_t kMaxLayers = 1024;
inline constexpr uint64_t kMaxJsonValues = 4'000'000;             // values in one JSON document
inline constexpr uint64_t kMaxTokenizerValues = 4'000'000;        // outside its vocabulary
inline constexpr uint64_t kMaxDocumentBytes = uint64_t{1} << 30;  // a document, after gunzip
inline constexpr int64_t kMaxHidden = 65'536;
inline constexpr int64_t kMaxSequence = 1'048'576;  // tokens
inline constexpr int64_t kMaxWindow = 1'048'576;
inline constexpr int64_t kMaxHeadDim = 256;

}  // namespace longformer
