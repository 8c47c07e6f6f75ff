// How skeletons are made: the policy over tensors that the loader and the writers share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "onnx/external_data.h"
#include "onnx/rewrite.h"
#include "pagoda/core/model.h"

namespace pagoda::inline core::wire {

// The location with which a skeleton refers to data inside its original file. No file has this name.
inline constexpr std::string_view kInModel = "<in the model>";

// Large tensors become references to options.weights_location, or to kInModel when it is empty; small external ones
// that `external` can read move into the skeleton. Both arguments must outlive the policy.
RewritePolicy skeleton_policy(const SkeletonOptions& options, const ExternalData& external);

// Where to find the external data of the model at `path`: in options.directory, else in its own folders.
std::vector<std::string> data_folders(const std::string& path, const SkeletonOptions& options);

}  // namespace pagoda::inline core::wire
