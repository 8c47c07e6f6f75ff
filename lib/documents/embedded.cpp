#include "embedded.h"

#include <algorithm>

#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/text.h"

namespace pagoda::documents {

std::string_view id_of(const base::EmbeddedFile& file) { return file.name.substr(0, file.name.rfind('.')); }

std::vector<std::string> ids_of(std::span<const base::EmbeddedFile> files) {
  std::vector<std::string> ids;
  ids.reserve(files.size());
  for (const base::EmbeddedFile& file : files) ids.emplace_back(id_of(file));
  std::sort(ids.begin(), ids.end());  // "-" sorts before the "." of a file name
  return ids;
}

std::string_view embedded_text(std::span<const base::EmbeddedFile> files, std::string_view id, std::string_view what) {
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const base::EmbeddedFile& file) { return id_of(file) == id; });
  if (found != files.end()) return found->text;
  throw Error(cat(what, " \"", id, "\" is not built in; known: ", base::joined(ids_of(files))));
}

}  // namespace pagoda::documents
