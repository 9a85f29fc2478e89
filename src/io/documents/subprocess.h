// Runs a program whose output is text, kept on a short lead: no shell, no terminal, an empty
// standard input or one file, a time limit, an output limit, an end for all that it started.
// For this folder, and for the processes of the command's `bench`.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace longformer::io {

struct ProgramLimits {
  std::chrono::milliseconds time{};
  uint64_t output_bytes = 0;         // of standard output
  uint64_t address_space_bytes = 0;  // 0: what this process has
};

enum class ProgramEnvironment {
  kInherited,
  kReduced,  // PATH and a UTF-8 locale
};

struct Program {
  std::vector<std::string> command;  // the first is looked up in PATH unless it holds a '/'
  int standard_input = -1;           // a file descriptor, read from where it stands; -1: nothing
  ProgramEnvironment environment = ProgramEnvironment::kInherited;
  ProgramLimits limits;
};

enum class ProgramEnd { kExited, kSignalled, kOverTime, kOverOutput };

struct ProgramResult {
  ProgramEnd end = ProgramEnd::kExited;
  int status = 0;      // exit status, or the number of the signal
  std::string output;  // standard output
  std::string errors;  // the first 4 KiB of standard error
};

// Returns at most a second after the program itself has ended, with what was printed until then;
// what it left running in its process group is killed. Only a process that made a session or group
// of its own survives that; and when this process is killed, the program is killed by the system,
// but not what it started.
// Throws kNotFound where there is no such program, kIo where the system refuses to start it.
ProgramResult run_program(const Program& program);

}  // namespace longformer::io
