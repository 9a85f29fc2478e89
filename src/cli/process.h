// How the process behaves towards the system: signals, closed descriptors, output that cannot be
// written.
#pragma once

#include <pthread.h>

#include <string>

namespace longformer::cli {

// One for the life of main(), made before any other thread.
//   closed descriptors 0 to 2 are opened on /dev/null, so that no file of ours takes their place
//   SIGPIPE and SIGXFSZ become errors of the write
//   SIGBUS (a mapped file that was cut short by another process) ends with one line and exit code 1
//   SIGINT, SIGTERM and SIGHUP remove what is half written and end with 128 + the signal's number
class ProcessGuard {
 public:
  ProcessGuard();
  ~ProcessGuard();
  ProcessGuard(const ProcessGuard&) = delete;
  ProcessGuard& operator=(const ProcessGuard&) = delete;

 private:
  pthread_t watcher_;
};

// While one lives, the first SIGINT, SIGTERM or SIGHUP asks for an end in good order instead of
// making one; the second does not wait. At most one at a time.
class GracefulStop {
 public:
  GracefulStop();
  ~GracefulStop();
  GracefulStop(const GracefulStop&) = delete;
  GracefulStop& operator=(const GracefulStop&) = delete;
  // The signal that came, 0 before.
  int signal() const noexcept;
};

// Writes "longformer: message" to standard error as one line: control characters, which a file's
// fields or names may hold, are replaced, and a very long message is cut.
void print_message(const std::string& message);

// True when everything printed on standard output has arrived, or its reader has gone.
bool flush_output();

}  // namespace longformer::cli
