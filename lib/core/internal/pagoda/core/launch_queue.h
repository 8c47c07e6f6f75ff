// A host that launches kernels one after another, while the device works through those it was given.
//
// The device waits for the host where launches take longer than kernels, and the host runs ahead where they do not.
// After its last wait, at kernel k, the device is never idle, so that a run takes
//   run + Σ_{i ≤ k} host_i + Σ_{i ≥ k} device_i ,
// where host_i is the cost of a call, unless the kernel is inside one, and that of its launch.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "pagoda/core/eager.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// The kind of call that launches a kernel, which is the place of its cost in kHostCosts. A view costs as much as any
// call.
enum class HostPart : std::uint8_t { OnHost = 1, View, Kernel, Product, Convolution };
bool has_kernel(HostPart part);
HostPart host_part(const KernelLaunch& kernel);
struct HostTerms {
  double call = 0, own = 0;  // of a call, and of the launch in it
};
HostTerms host_terms(const KernelLaunch& kernel, const HostCosts& host);
double host_seconds(const KernelLaunch& kernel, const HostCosts& host);

struct LaunchQueue {
  std::size_t last_wait = 0;  // k; the number of kernels if the host ends last
  double seconds = 0;
};
// `device`: seconds of each kernel on the device. Nodes without a kernel have none there.
LaunchQueue launch_queue(std::span<const KernelLaunch> kernels, std::span<const double> device, const HostCosts& host);

// The time that each kernel adds to the run. Where the calibration states no costs of the host, it is
// kernel_seconds().
std::vector<double> added_seconds(std::span<const KernelLaunch> kernels, const KernelRates& rates,
                                  const EagerCoefficients& coefficients);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
