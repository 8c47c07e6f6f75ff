// Input dims that an exporter names separately although they are formulas of others. Nothing in the graph links them.
#pragma once

#include <array>

#include "pagoda/core/peculiarity.h"

namespace pagoda::inline core {

struct DerivedDim {
  Peculiarity exporter;
  std::string_view dim;
  std::array<std::string_view, 2> sum_of;
  std::string_view unless;  // when the caller has to give it
};

inline constexpr DerivedDim kDerivedDims[] = {
    {{"onnxruntime-genai's model builder", "0.18", "the skeletons llama_genai_* in models/"},
     "total_sequence_length",
     {"past_sequence_length", "sequence_length"},
     "past and present share a longer buffer"},
};

}  // namespace pagoda::inline core
