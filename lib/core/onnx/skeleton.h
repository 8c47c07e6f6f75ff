// How skeletons are made: the policy over tensors that the loader and the writers share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "onnx/external_data.h"
#include "onnx/rewrite.h"
#include "pagoda/core/model.h"

namespace pagoda::inline core::wire {

// The location under which a skeleton refers to data inside the file that it was taken from. No file has this name.
inline constexpr std::string_view kInModel = "<in the model>";

// Large tensors become references to options.weights_location, or to kInModel when it is empty; small external ones
// that `external` can read move in. Both arguments must outlive the policy.
RewritePolicy skeleton_policy(const SkeletonOptions& options, const ExternalData& external);

// Where the external data of the model at `path` are looked for: in options.directory, else in its own folders.
std::vector<std::string> data_folders(const std::string& path, const SkeletonOptions& options);

}  // namespace pagoda::inline core::wire
