// Names a file by its content, with a remedy: one answer for the readers of models, JSON, tables and profiles. People
// pass a page saved in place of a download, a report that a profiler has to export first, or a model of another
// framework; a message that names it saves them the search.
//
//   expect_file(bytes, "h200.json", Reads::Json, "a device");
//   // h200.json: is a Git LFS pointer; run 'git lfs pull' to fetch the file; expected a device
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace pagoda::base {

// Files that a reader can use.
enum class Reads : std::uint8_t {
  Model,    // an ONNX model
  Json,     // a document
  Table,    // CSV
  Profile,  // JSON or CSV
  Text,     // any text
};

enum class FileForm : std::uint8_t {
  Nothing,  // empty, or zeros
  Onnx,
  OtherModel,  // of another framework: its remedy is for readers of models
  Json,
  Table,
  Text,
  Other,
  Unknown,  // bytes without a known beginning
};

struct WhatFile {
  FileForm form = FileForm::Unknown;
  std::string what;    // after "is": "a PNG image"
  std::string remedy;  // may be empty
};

// The end of `path` decides where the bytes do not. Reads only the beginning and, of protobuf, headers.
WhatFile what_file(std::string_view bytes, std::string_view path = {});
bool fits(FileForm form, Reads reads);

// "is a GGUF model; export the original model to ONNX"; without the remedy for readers of documents.
std::string is_what(const WhatFile& file, Reads reads);

// Throws Error unless the file may be one for the reader; it names `subject`, the kind found, the remedy and `expected`.
void expect_file(std::string_view bytes, std::string_view subject, Reads reads, std::string_view expected);

// "is an estimate (pagoda.estimate/1); …" for a schema of Pagoda; of another version if `expected` names the schema. Any
// other schema is quoted. Empty without one.
std::string is_document(std::string_view schema, std::string_view expected);

// "is a URL; download it first: …": why `path` cannot be opened, `error` being that of open().
std::string why_not_opened(const std::string& path, int error);
// "is a folder; name a file in it: model.onnx": a folder in place of a file for the reader.
std::string is_folder(const std::string& path, Reads reads);

}  // namespace pagoda::base
#pragma GCC visibility pop
