// How skeletons are made: the policy over tensors that the loader and the writers share.
#pragma once

#include <string>
#include <string_view>

#include "onnx/external_data.h"
#include "onnx/rewrite.h"
#include "pagoda/model.h"

namespace pagoda::wire {

// The location under which a skeleton refers to data inside the file that it was taken from. No file has this name.
inline constexpr std::string_view kInModel = "<in the model>";

// Large tensors become references to `weights_location`, or to kInModel when it is empty. Small external tensors
// that `external` can read move into the skeleton. Both arguments must outlive the policy.
RewritePolicy skeleton_policy(const std::string& weights_location, const ExternalData& external);

// skeleton() of the model at `path`: errors name it, and its folders are where small external data is looked for
// unless options.directory names one.
std::string skeleton_of(std::span<const std::byte> bytes, const std::string& path, const SkeletonOptions& options);

}  // namespace pagoda::wire
