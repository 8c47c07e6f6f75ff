#include "pagoda/documents/dim_json.h"

namespace pagoda {

void write_json(base::JsonWriter& json, const Dim& dim) {
  if (const std::optional<Int> number = dim.value())
    json.value(*number);
  else
    json.value(dim.to_string());
}

}  // namespace pagoda
