#include "io/hub/hub_pull.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "io/files.h"
#include "io/hub/hub_cache.h"
#include "io/hub/hub_listing.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

namespace fs = std::filesystem;

class Puller {
 public:
  explicit Puller(const PullOptions& options)
      : options_(options),
        repository_(hub_repository(options.cache, options.name)),
        client_(options.server, {options.notice, options.cancelled}) {}

  PullReport run();

 private:
  void read_listing();
  void check_usable(const std::vector<std::string>& directories) const;
  void plan(const std::vector<std::string>& directories);
  void add(const HubFile& file);
  void complete(HubFile& file);
  void fetch(HubFile file);
  void download(const HubFile& file);
  void receive(const HubFile& file, PartialBlob& partial);
  std::string read_fetched(const std::string& name) const;
  fs::path pointer(const std::string& name) const {
    return repository_ / "snapshots" / listing_.commit / name;
  }
  std::string place(const std::string& name) const { return options_.name + ": " + name; }
  void report_progress(uint64_t in_file) const;

  const PullOptions& options_;
  fs::path repository_;
  HubClient client_;
  HubListing listing_;
  std::vector<HubFile> planned_;
  std::set<std::string> names_;  // of planned_
  uint64_t done_ = 0;            // bytes of files that are complete
  uint64_t total_ = 0;           // of planned_, as far as it is known
  PullReport report_;
};

void Puller::read_listing() {
  const std::string where = options_.name + ": the hub's answer";
  listing_ = parse_hub_listing(client_.model_info(options_.name, options_.revision), where);
  if (is_commit(options_.revision) && listing_.commit != options_.revision) {
    throw Error(ErrorCode::kInvalidFile,
                "describes commit " + listing_.commit + ", not the one asked for", where);
  }
}

void Puller::add(const HubFile& file) {
  if (!names_.insert(file.name).second) return;
  if (names_.size() > kMaxHubFiles) {
    throw Error(ErrorCode::kInvalidFile,
                "needs more than " + std::to_string(kMaxHubFiles) + " files; refused",
                options_.name);
  }
  planned_.push_back(file);
  total_ += file.size.value_or(0);
}

// Before anything large is downloaded. The encoder lies at the root, or in the first module that
// has a configuration.
void Puller::check_usable(const std::vector<std::string>& directories) const {
  const auto refuse = [&](const std::string& what) {
    throw Error(
        ErrorCode::kUnsupported,
        "has no " + what + ", which longformer needs; look for another version of the model",
        options_.name);
  };
  const auto encoder =
      std::find_if(directories.begin(), directories.end(), [&](const std::string& directory) {
        return listing_.find((fs::path(directory) / "config.json").string()) != nullptr;
      });
  if (encoder == directories.end()) refuse("config.json");
  if (weights_file(listing_, *encoder) == nullptr) {
    refuse("model.safetensors and no pytorch_model.bin");
  }
}

// Small files first: what a killed pull has left to do is then the rest of the weights.
void Puller::plan(const std::vector<std::string>& directories) {
  for (const std::string& directory : directories) {
    for (const HubFile& file : settings_files(listing_, directory)) add(file);
  }
  for (const std::string& directory : directories) {
    if (const HubFile* weights = weights_file(listing_, directory)) add(*weights);
  }
}

// The list of some servers gives neither size nor hash; the headers of the file do.
void Puller::complete(HubFile& file) {
  if (file.size && !file.hash.empty()) return;
  const HubFileHeaders headers = client_.file_headers(options_.name, listing_.commit, file.name);
  if (!headers.commit.empty() && headers.commit != listing_.commit) {
    throw Error(ErrorCode::kInvalidFile,
                "the hub answers for another commit than asked for; pull again", place(file.name));
  }
  uint64_t size = 0;
  const char* end = headers.size.data() + headers.size.size();
  const auto [stop, error] = std::from_chars(headers.size.data(), end, size);
  if (error != std::errc() || stop != end || size > kMaxHubFileBytes ||
      !is_hub_hash(headers.etag)) {
    throw Error(ErrorCode::kInvalidFile,
                "the hub gives no size and hash for it, so that it cannot be verified; use another "
                "HF_ENDPOINT",
                place(file.name));
  }
  if (!file.size) file.size = size;
  if (file.hash.empty()) file.hash = headers.etag;
}

void Puller::report_progress(uint64_t in_file) const {
  if (options_.progress) options_.progress(done_ + in_file, std::max(total_, done_ + in_file));
}

void Puller::receive(const HubFile& file, PartialBlob& partial) {
  if (partial.size() == *file.size && *file.size > 0) return;
  client_.download(options_.name, listing_.commit, file.name,
                   {.size = [&] { return partial.size(); },
                    .start = [&](uint64_t first) { partial.cut(first); },
                    .write =
                        [&](std::string_view bytes) {
                          partial.write(bytes);
                          report_.downloaded_bytes += bytes.size();
                          report_progress(partial.size());
                        }});
}

void Puller::download(const HubFile& file) {
  PartialBlob partial(repository_, file.hash, *file.size);
  const bool resumed = partial.size() > 0;
  receive(file, partial);
  if (resumed && !partial.is_right()) {
    partial.cut(0);  // the part that was there may be the wrong one
    receive(file, partial);
  }
  const uint64_t arrived = partial.size();
  if (!partial.is_right()) {
    partial.remove();
    throw Error(
        ErrorCode::kIo,
        (arrived != *file.size ? std::to_string(arrived) + " bytes arrived, the hub lists " +
                                     std::to_string(*file.size)
                               : "what arrived has another hash than the hub lists") +
            "; dropped, pull again (a proxy or mirror on the way may change files)",
        place(file.name));
  }
  partial.publish();
  ++report_.downloaded_files;
}

void Puller::fetch(HubFile file) {
  const bool known = file.size.has_value();
  complete(file);
  if (!known) total_ += *file.size;
  if (!is_in_snapshot(pointer(file.name), *file.size)) {
    const BlobLock lock(
        repository_, file.hash,
        [&] {
          if (options_.notice) {
            options_.notice(file.name + ": another program downloads it; waiting");
          }
        },
        options_.cancelled);
    if (!is_in_snapshot(repository_ / "blobs" / file.hash, *file.size)) download(file);
    add_to_snapshot(repository_, listing_.commit, file.name, file.hash, options_.snapshot_entry);
  }
  done_ += *file.size;
  ++report_.files;
  report_progress(0);
}

std::string Puller::read_fetched(const std::string& name) const {
  return read_file(pointer(name), kMaxJsonBytes);
}

PullReport Puller::run() {
  check_revision(options_.revision);
  read_listing();
  std::vector<std::string> directories = {""};
  if (const HubFile* modules = listing_.find("modules.json")) {
    add(*modules);
    fetch(*modules);
    directories = module_directories(read_fetched("modules.json"), place("modules.json"));
  }
  const size_t fetched = planned_.size();
  check_usable(directories);
  plan(directories);
  for (size_t i = fetched; i < planned_.size(); ++i) {  // grows: an index adds its shards
    const HubFile file = planned_[i];
    fetch(file);
    if (!is_weights_index(file.name)) continue;
    const std::string directory = fs::path(file.name).parent_path().string();
    for (const HubFile& shard :
         shard_files(listing_, directory, read_fetched(file.name), place(file.name))) {
      add(shard);
    }
  }
  if (!is_commit(options_.revision)) write_ref(repository_, options_.revision, listing_.commit);
  report_.commit = listing_.commit;
  report_.directory = repository_ / "snapshots" / listing_.commit;
  report_.bytes = done_;
  return report_;
}

}  // namespace

PullReport pull_model(const PullOptions& options) { return Puller(options).run(); }

}  // namespace longformer::io
