// Downloads a model from a hub into the cache, so that it and huggingface_hub find it there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "io/hub/hub_client.h"
#include "io/hub/hub_store.h"

namespace longformer::io {

struct PullOptions {
  std::string name;               // NAME or ORG/NAME
  std::string revision = "main";  // branch, tag or commit
  std::filesystem::path cache;
  HubServer server;
  SnapshotEntry snapshot_entry = SnapshotEntry::kLink;
  std::function<void(uint64_t done, uint64_t total)> progress;  // in bytes
  std::function<void(const std::string& message)> notice;       // a wait, another try
  std::function<bool()> cancelled;
};

struct PullReport {
  std::string commit;
  std::filesystem::path directory;  // the snapshot
  int64_t files = 0;                // of the model that this program reads
  uint64_t bytes = 0;
  int64_t downloaded_files = 0;   // in this call
  uint64_t downloaded_bytes = 0;  // that arrived in this call
};

// Takes configuration, tokenizer, pooling modules and one set of weights (safetensors before .bin).
// What the cache has already is not asked for again; a download that was cut goes on where it
// ended. Each file is checked against the hash that the hub lists before it gets its name, and the
// revision is noted last: nobody ever sees half a model under it. Throws Error as HubClient and
// PartialBlob say, kIo also for a file whose hash is wrong, kUnsupported for a model without files
// that this program reads.
PullReport pull_model(const PullOptions& options);

}  // namespace longformer::io
