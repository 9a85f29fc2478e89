// Memory of this process and of the machine around it, in bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace longformer {

// Resident memory of this process: now, and at its highest. 0 where the system does not tell.
uint64_t resident_bytes();
uint64_t peak_resident_bytes();
// Lets the peak begin again at what is resident now. False where that is not allowed.
bool reset_peak_resident();

// What this process may still take without swapping or being killed: the smaller of MemAvailable
// and what the control groups around it leave (version 2 memory.max, version 1 limit_in_bytes;
// page cache that can be dropped does not count as used). None where the system tells neither.
// `root` stands before /proc and /sys, for tests.
std::optional<uint64_t> available_memory(const std::filesystem::path& root = "/");

}  // namespace longformer
