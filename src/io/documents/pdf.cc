#include "io/documents/pdf.h"

#include <string_view>

#include "io/documents/subprocess.h"
#include "io/documents/text_encoding.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

[[noreturn]] void refuse(const std::string& reason) {
  throw Error(ErrorCode::kInvalidFile, reason);
}

// Exit status of pdftotext: 1 the file cannot be opened, 3 its permissions forbid it.
void check(const ProgramResult& result, const PdfOptions& options) {
  switch (result.end) {
    case ProgramEnd::kOverTime:
      // A slow machine is no fault of the file: what an index holds of it stays.
      throw Error(ErrorCode::kIo, "pdftotext needed more than " +
                                      std::to_string(options.time.count() / 1000) + " seconds");
    case ProgramEnd::kOverOutput:
      refuse("more than " + std::to_string(kMaxDocumentBytes) + " bytes as text");
    case ProgramEnd::kSignalled:
      refuse("pdftotext was stopped by signal " + std::to_string(result.status) +
             ": a broken PDF, or one that needs too much memory");
    case ProgramEnd::kExited:
      break;
  }
  if (result.status == 0) return;
  if (result.errors.find("Incorrect password") != std::string::npos) {
    refuse("protected by a password; save it without one");
  }
  if (result.status == 3) refuse("its permissions forbid to take its text");
  refuse("not a PDF that can be read (pdftotext ended with status " +
         std::to_string(result.status) + ")");
}

ProgramResult run(int file, const PdfOptions& options) {
  Program program;
  program.command = {options.program, "-enc", "UTF-8", "-eol", "unix", "-", "-"};
  program.standard_input = file;
  program.environment = ProgramEnvironment::kReduced;
  program.limits = {options.time, kMaxDocumentBytes, kMaxProgramBytes};
  try {
    return run_program(program);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    throw Error(ErrorCode::kNotFound,
                "PDF needs the program pdftotext: install the package poppler-utils");
  }
}

}  // namespace

MarkedText text_of_pages(std::string_view printed) {
  constexpr std::string_view kBlanks = " \t\r\n";
  MarkedText result;
  for (int64_t number = 1; !printed.empty(); ++number) {
    const size_t end = std::min(printed.find('\f'), printed.size());
    std::string_view page = printed.substr(0, end);
    printed.remove_prefix(std::min(end + 1, printed.size()));
    const size_t last = page.find_last_not_of(kBlanks);
    if (last == std::string_view::npos) continue;
    page = page.substr(0, last + 1);
    if (!result.text.empty()) result.text += "\n\n";
    result.pages.push_back({static_cast<int64_t>(result.text.size()), number});
    result.text += page;
  }
  return result;
}

MarkedText read_pdf(int file, const PdfOptions& options) {
  const ProgramResult printed = run(file, options);
  check(printed, options);
  const DecodedText decoded = decode_text(printed.output);
  MarkedText result = text_of_pages(decoded.text);
  if (result.text.empty()) {
    refuse("no text in it: its pages are images; recognise their text first (OCR)");
  }
  result.replaced = decoded.replaced;
  return result;
}

}  // namespace longformer::io
