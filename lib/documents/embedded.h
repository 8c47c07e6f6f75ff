// Files of data/, compiled in; sorted by name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/embedded_file.h"

namespace pagoda::documents {

std::span<const base::EmbeddedFile> device_files();       // data/devices
std::span<const base::EmbeddedFile> calibration_files();  // data/calibration and its folders
std::span<const base::EmbeddedFile> metric_files();       // data/metrics
std::span<const base::EmbeddedFile> provider_files();     // data/providers

std::string_view id_of(const base::EmbeddedFile& file);  // the file name without its extension
std::vector<std::string> ids_of(std::span<const base::EmbeddedFile> files);
// The file with this id. Throws Error, which names `what` ("calibration") and lists the available ids.
std::string_view embedded_text(std::span<const base::EmbeddedFile> files, std::string_view id, std::string_view what);

}  // namespace pagoda::documents
