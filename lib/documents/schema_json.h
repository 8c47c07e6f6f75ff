// The schema check at the start of every strict reader.
#pragma once

#include <string>
#include <string_view>

#include "pagoda/base/cat.h"
#include "pagoda/base/json.h"

namespace pagoda::documents {

// Throws Error if the document's member "schema" is different.
inline void require_schema(const base::JsonField& document, std::string_view schema) {
  if (document.at("schema").text() != schema)
    document.at("schema").fail(cat("found \"", document.text("schema"), "\"; expected \"", schema, "\""));
}

}  // namespace pagoda::documents
