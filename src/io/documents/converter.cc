#include "io/documents/converter.h"

#include <algorithm>

#include "io/documents/subprocess.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument,
              what + "; write GLOB=COMMAND, for example '*.epub=pandoc --to plain {}'",
              "converter");
}

bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n'; }

// Words apart by white space; '...' and "..." keep it inside a word. Nothing else is special.
std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  char quote = '\0';
  bool in_word = false;
  for (const char c : text) {
    if (quote == '\0' && is_space(c)) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    } else {
      words.back() += c;
    }
  }
  if (quote != '\0') refuse(std::string("no end of the quotation that ") + quote + " begins");
  return words;
}

// A name that the program cannot take for an option.
std::string as_operand(const std::string& name) {
  return name.starts_with('-') ? "./" + name : name;
}

// Only a whole argument stands for the file: as a part of a longer one its name could be taken for
// commands, as in sh -c "cat {}".
constexpr std::string_view kFile = "{}";

std::vector<std::string> command_for(const Converter& converter, const std::string& name) {
  std::vector<std::string> command = converter.command;
  bool placed = false;
  for (std::string& word : command) {
    if (word != kFile) continue;
    word = as_operand(name);
    placed = true;
  }
  if (!placed) command.push_back(as_operand(name));
  return command;
}

std::string reason_of(const ProgramResult& result, const std::string& program,
                      const ConverterOptions& options) {
  switch (result.end) {
    case ProgramEnd::kOverTime:
      return program + " needed more than " + std::to_string(options.time.count() / 1000) +
             " seconds";
    case ProgramEnd::kOverOutput:
      return program + " printed more than " + std::to_string(options.output_bytes) + " bytes";
    case ProgramEnd::kSignalled:
      return program + " was stopped by signal " + std::to_string(result.status);
    case ProgramEnd::kExited:
      break;
  }
  if (result.status == 0) return {};
  // What it says about that may hold text of the document.
  return program + " ended with status " + std::to_string(result.status) +
         "; see what it prints by running it by hand";
}

}  // namespace

const Converter* find_converter(const std::vector<Converter>& converters, const std::string& name) {
  if (name == "-") return nullptr;  // standard input has no name
  const auto found =
      std::find_if(converters.begin(), converters.end(),
                   [&](const Converter& converter) { return matches_glob(name, converter.glob); });
  return found == converters.end() ? nullptr : &*found;
}

std::string convert_file(const Converter& converter, const std::string& name,
                         const ConverterOptions& options) {
  Program program;
  program.command = command_for(converter, name);
  program.limits = {options.time, options.output_bytes, 0};
  ProgramResult result;
  try {
    result = run_program(program);
  } catch (const Error& error) {
    throw Error(error.code(), "the converter cannot be started: " + std::string(error.what()));
  }
  const std::string reason = reason_of(result, converter.command[0], options);
  if (!reason.empty()) {
    // A slow machine or a killed program is no fault of the file: what an index holds of it stays.
    const bool machine =
        result.end == ProgramEnd::kOverTime || result.end == ProgramEnd::kSignalled;
    throw Error(machine ? ErrorCode::kIo : ErrorCode::kInvalidFile, reason);
  }
  return std::move(result.output);
}

Converter parse_converter(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) refuse("no '='");
  if (text.find('\0') != std::string::npos) refuse("a NUL byte");
  Converter converter{text.substr(0, equals), split_words(text.substr(equals + 1))};
  if (converter.glob.empty()) refuse("no glob before '='");
  if (converter.command.empty() || converter.command[0].empty()) refuse("no command after '='");
  if (converter.command[0].find(kFile) != std::string::npos) {
    refuse("the file itself as the command");
  }
  for (const std::string& word : converter.command) {
    if (word != kFile && word.find(kFile) != std::string::npos) {
      refuse(
          "{} inside a longer argument; it must be an argument of its own, so that the name of a "
          "file is never read as commands");
    }
  }
  return converter;
}

}  // namespace longformer::io
