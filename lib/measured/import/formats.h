// One function per format; pagoda/measured/import.h describes what each reads, and import.cpp has the table of them.
#pragma once

#include <string_view>

#include "pagoda/documents/measured.h"
#include "pagoda/measured/import.h"

namespace pagoda::measured::import {

inline constexpr double kMillisecond = 1e-3, kMicrosecond = 1e-6, kNanosecond = 1e-9;  // in seconds

documents::Measured import_ort(std::string_view text, std::string_view subject, const ImportOptions& options);
// `layers`: the text of TensorRT's layer information, or empty.
documents::Measured import_tensorrt(std::string_view text, std::string_view subject, std::string_view layers,
                                    std::string_view layers_subject);
documents::Measured import_ncu(std::string_view text, std::string_view subject, const ImportOptions& options);
documents::Measured import_kineto(std::string_view text, std::string_view subject, const ImportOptions& options);
documents::Measured import_rocprof(std::string_view text, std::string_view subject, const ImportOptions& options);
documents::Measured import_nsys(std::string_view text, std::string_view subject, const ImportOptions& options);
documents::Measured import_jetson(std::string_view text, std::string_view subject, const ImportOptions& options);

}  // namespace pagoda::measured::import
