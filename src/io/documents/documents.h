// Documents as people have them: plain text, Markdown, HTML, PDF, DOCX, ODT, gzip of any of them,
// directories, standard input. Every kind becomes plain text with marks: where its pages begin and
// which headings stand where, so that a result can say where it was found.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longformer::io {

enum class DocumentKind { kText, kMarkdown, kHtml, kPdf, kDocx, kOdt, kConverted };
std::string_view document_kind_name(DocumentKind kind) noexcept;  // "text", "markdown", …

struct Heading {
  // Of the text, where the heading's own words begin; -1: in an earlier part, and it still holds.
  int64_t byte = 0;
  int level = 1;  // 1 to 6
  std::string title;
  std::string anchor;  // of HTML: the id that a link can name; may be empty
};

struct Page {
  int64_t byte = 0;  // of the text, where the page begins
  int64_t number = 1;
};

struct Document {
  std::string name;  // as the user wrote it, or found below a directory; "-" for standard input
  std::string text;  // valid UTF-8
  bool replaced = false;  // some bytes were not UTF-8: read as Latin-1 or replaced by U+FFFD
  DocumentKind kind = DocumentKind::kText;
  // Whether byte and line numbers of the text are those of the (expanded) file: text and Markdown.
  bool has_lines = true;
  std::vector<Heading> headings;  // by byte
  std::vector<Page> pages;        // by byte; empty where the kind has none
  // A file over kDocumentPartBytes comes in parts, cut between paragraphs or else lines. Bytes and
  // lines of the file before this part, and whether another one follows.
  int64_t first_byte = 0;
  int64_t first_line = 0;
  bool last = true;
};

// Where a range of a document's text lies, for a reader. Lines count from 1, both inclusive, in the
// file where `has_lines`, else in the text.
struct Citation {
  int64_t line_start = 1;
  int64_t line_end = 1;
  std::optional<int64_t> page_start;
  std::optional<int64_t> page_end;
  std::vector<std::string> headings;  // the path to the range's first byte, outermost first
  std::string anchor;                 // of the innermost of them that has one
};
// Everything but the lines, which the caller has counted: [begin, end) are bytes of document.text.
Citation cite(const Document& document, int64_t begin, int64_t end);

struct SkippedFile {
  std::string name;
  std::string reason;  // "binary", "empty", "Permission denied", …
};

// A program that turns files whose name matches into text: "GLOB=command with arguments"; {} stands
// for the file, which comes last where there is no {}; quotation marks keep words together. No
// shell. Standard output is the text. Standard input as a document goes to no converter.
struct Converter {
  std::string glob;
  std::vector<std::string> command;
};
// Throws kInvalidArgument naming the form.
Converter parse_converter(const std::string& text);

struct ReadOptions {
  std::vector<Converter> converters;  // the first that matches wins over what we read ourselves
};

// What the arguments name, in order: files, the files below directories (sorted by path), "-".
// Files that are the same (links, hard links, equal content) count once, under the first name, or
// each, as `copies` says. Special files are skipped with a reason. Nothing is read yet except to
// compare equal sizes.
struct DocumentList {
  std::vector<std::string> names;
  std::vector<SkippedFile> skipped;
  std::vector<SkippedFile> duplicates;  // reason: name of the file it equals
};
enum class Copies { kOnce, kEach };
struct ListOptions {
  Copies copies = Copies::kOnce;
  // Globs over the path below the directory that was named (* and ? stay inside a name, ** crosses
  // directories; a glob without / is matched against the last name). They choose among files found
  // below directories; a file that the user names itself is always taken. exclude wins; a directory
  // that it matches is not entered. [abc] and [!a-z] are one character; ? is one, not one byte.
  std::vector<std::string> include;
  std::vector<std::string> exclude;
};
DocumentList list_documents(const std::vector<std::string>& arguments,
                            const ListOptions& options = {});
bool matches_glob(std::string_view path, std::string_view glob);

// Reads one and visits its parts in order (nearly always one). Expands gzip, recognises the kind by
// content and name, decodes. Memory does not grow with the length of a text file (at most
// kMaxTextBytes; gzip of one kMaxDocumentBytes); other kinds are limited to kMaxDocumentBytes in
// all. Throws Error whose message is fit for SkippedFile::reason; where a long text breaks off,
// after its first parts have been visited.
void read_document(const std::string& name, const ReadOptions& options,
                   const std::function<void(Document)>& visit);

}  // namespace longformer::io
