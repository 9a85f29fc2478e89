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
inline constexpr size_t kMaxLineBytes = 64u << 20;          // a line of a JSON lines file
inline constexpr uint64_t kMaxTokenizerBytes = 256u << 20;  // tokenizer.json, vocab.txt
inline constexpr int64_t kMaxVocabulary = 2'000'000;
inline constexpr int64_t kMaxMerges = 4'000'000;  // of a BPE model
inline constexpr size_t kMaxTokenBytes = 4096;
inline constexpr int64_t kMaxWindowTokens = 1 << 26;  // in all windows of one truncated text
inline constexpr size_t kMaxPromptBytes = 16'384;
inline constexpr uint64_t kMaxFillBytes = 64u << 20;  // of the sequences that fill masks of a text
inline constexpr int64_t kMaxLayers = 1024;
inline constexpr uint64_t kMaxJsonValues = 4'000'000;             // values in one JSON document
inline constexpr uint64_t kMaxTokenizerValues = 4'000'000;        // outside its vocabulary
inline constexpr uint64_t kMaxDocumentBytes = uint64_t{1} << 30;  // a document, after gunzip
inline constexpr uint64_t kMaxTextBytes = uint64_t{64} << 30;  // plain text, read in parts of this:
inline constexpr size_t kDocumentPartBytes = 8u << 20;
inline constexpr uint64_t kMaxMarkupBytes = 128u << 20;  // HTML, XML inside DOCX and ODT
inline constexpr size_t kMaxMarkupDepth = 1000;          // elements inside each other
inline constexpr size_t kMaxTagAttributes = 1000;        // of one element
inline constexpr uint64_t kMaxExpansion = 200;           // of a file in a DOCX or ODT, over 16 MiB
inline constexpr size_t kMaxHeadings = 100'000;          // of a document
inline constexpr int64_t kMaxProgramSeconds = 300;       // of pdftotext or a converter
inline constexpr uint64_t kMaxProgramBytes = uint64_t{4} << 30;  // address space of pdftotext
inline constexpr uint64_t kMaxPickleBytes = 64u << 20;           // program of a pickle
inline constexpr uint64_t kMaxPickleValues = 4'000'000;          // values that it holds at once
inline constexpr size_t kMaxPickleDepth = 256;                   // nesting, and open marks
inline constexpr size_t kMaxPickleTextBytes = 16u << 20;         // one string
inline constexpr uint64_t kMaxArchiveEntries = 200'000;  // files in a zip archive of weights
inline constexpr int64_t kMaxCollectionPassages = 1'000'000'000;
inline constexpr size_t kMaxHubFiles = 4000;  // that one model on a hub may make us download
inline constexpr size_t kMaxHubModules = 32;  // directories that its modules.json names
inline constexpr uint64_t kMaxHubFileBytes = uint64_t{1} << 50;
inline constexpr int64_t kMaxHidden = 65'536;
inline constexpr int64_t kMaxSequence = 1'048'576;  // tokens
inline constexpr int64_t kMaxWindow = 1'048'576;
inline constexpr int64_t kMaxListedBlocks = 1 << 26;  // random blocks of an attention pattern
inline constexpr int64_t kMaxHeadDim = 256;

}  // namespace longformer
