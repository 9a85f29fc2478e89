#include "cli/document_options.h"

#include "base/limits.h"
#include "longformer/error.h"

namespace longformer::cli {

void add_document_options(CLI::App& app, io::Copies copies, DocumentOptions& options) {
  options.list.copies = copies;
  app.add_option("--include", options.list.include,
                 "Below directories, take only files whose path matches this glob (repeatable); "
                 "** crosses directories")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  app.add_option("--exclude", options.list.exclude,
                 "Below directories, leave out files whose path matches this glob (repeatable)")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  app.add_option_function<std::vector<std::string>>(
         "--converter",
         [&options](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             options.read.converters.push_back(io::parse_converter(text));
           }
         },
         "A program that turns matching files into text on its standard output (repeatable); {} "
         "as an argument of its own stands for the file")
      ->type_name("GLOB=COMMAND")
      ->allow_extra_args(false);
}

std::string read_whole_document(const std::string& name, const io::ReadOptions& options,
                                bool& replaced) {
  std::string text;
  io::read_document(name, options, [&](io::Document part) {
    if (text.size() + part.text.size() > kMaxDocumentBytes) {
      throw Error(ErrorCode::kInvalidFile, "larger than the limit of " +
                                               std::to_string(kMaxDocumentBytes) +
                                               " bytes for a text that is read at once");
    }
    replaced = replaced || part.replaced;
    text += part.text;
  });
  return text;
}

}  // namespace longformer::cli
