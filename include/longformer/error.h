// The one exception type of the library. Every message names the object and place, what is allowed
// and what to do, and never repeats text of a user's document.
#pragma once

#include <stdexcept>
#include <string>

namespace longformer {

enum class ErrorCode {
  kInvalidArgument,  // an option, a shape or an id that cannot be used
  kInvalidFile,      // a model, tokenizer or data file that breaks its format
  kNotFound,         // a file, directory or tensor that should exist
  kIo,               // the operating system refused a read or a write
  kUnsupported,      // valid, but this version does not compute it
  kCancelled,        // stopped on request
  kInternal,         // a fault of ours
};

class Error : public std::runtime_error {
 public:
  // `place` says where: a file, a file and byte offset, a tensor name, an option. May be empty.
  Error(ErrorCode code, const std::string& message, const std::string& place = {})
      : std::runtime_error(place.empty() ? message : place + ": " + message),
        code_(code),
        place_(place) {}
  ErrorCode code() const noexcept { return code_; }
  const std::string& place() const noexcept { return place_; }

 private:
  ErrorCode code_;
  std::string place_;
};

}  // namespace longformer
