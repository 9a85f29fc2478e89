// Memory of this process, and how much more it may take.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace longformer {

struct MemoryRoom {
  uint64_t bytes = UINT64_MAX;  // UINT64_MAX where the system does not tell
  std::string limit;            // what bounds it: "memory of this machine", …
};

// The smallest of: what the system says is available (pages of files count as available, swap does
// not), for each control group around this process (version 2 memory.max, version 1 limit_in_bytes)
// its limit minus its use without pages of files, and the limit of the address space minus what is
// mapped. `root` stands before /proc and /sys, for tests. Costs about 0.1 ms.
MemoryRoom memory_room(const std::filesystem::path& root = "/");

// Resident memory of this process in bytes: now, and at its highest. 0 where the system does not
// tell.
uint64_t resident_bytes();
uint64_t peak_resident_bytes();
// Lets the peak begin again at what is resident now. False where that is not allowed.
bool reset_peak_resident();

// "3.2 GB", "41 MB"
std::string memory_text(uint64_t bytes);

}  // namespace longformer
