#include "cli/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string_view>

#include "cli/output.h"
#include "io/temporaries.h"

namespace longformer::cli {
namespace {

constexpr size_t kLongestMessage = 1000;  // bytes
constexpr int kStopWatching = SIGUSR2;

// Of GracefulStop, read by the watcher.
std::atomic<bool> waits_for_stop{false};
std::atomic<int> stop_signal{0};

void end_on_bus_error(int) {
  constexpr std::string_view kMessage =
      "longformer: a file was cut short by another process while it was read; try again\n";
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, kMessage.data(), kMessage.size());
  _exit(1);
}

sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, kStopWatching}) sigaddset(&signals, signal);
  return signals;
}

void* watch_signals(void*) {
  const sigset_t signals = watched_signals();
  int signal = 0;
  while (true) {
    while (sigwait(&signals, &signal) != 0) {
    }
    if (signal == kStopWatching) return nullptr;
    int none = 0;
    const bool polite = signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
    if (!polite || !waits_for_stop || !stop_signal.compare_exchange_strong(none, signal)) break;
  }
  io::remove_temporaries();
  _exit(128 + signal);
}

void open_standard_descriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is taken. Reading ends at once; writing is refused, as it was.
    [[maybe_unused]] const int opened = open("/dev/null", O_RDONLY);
  }
}

}  // namespace

ProcessGuard::ProcessGuard() {
  open_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGBUS, end_on_bus_error);
  const sigset_t signals = watched_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // inherited by every thread made later
  if (pthread_create(&watcher_, nullptr, watch_signals, nullptr) != 0) {
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    watcher_ = 0;
  }
}

ProcessGuard::~ProcessGuard() {
  if (watcher_ == 0) return;
  pthread_kill(watcher_, kStopWatching);
  pthread_join(watcher_, nullptr);
}

GracefulStop::GracefulStop() {
  stop_signal = 0;
  waits_for_stop = true;
}
GracefulStop::~GracefulStop() { waits_for_stop = false; }
int GracefulStop::signal() const noexcept { return stop_signal; }

void print_message(const std::string& message) {
  std::string shown = printable(message, Lines::kJoin);
  if (shown.size() > kLongestMessage) {
    size_t end = kLongestMessage;
    while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0) == 0x80) --end;
    shown = shown.substr(0, end) + " [...]";
  }
  std::fprintf(stderr, "longformer: %s\n", shown.c_str());
}

bool flush_output() {
  errno = 0;
  return (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) || errno == EPIPE;
}

}  // namespace longformer::cli
