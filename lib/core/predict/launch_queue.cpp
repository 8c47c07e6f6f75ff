#include "predict/launch_queue.h"

#include <algorithm>

namespace pagoda::inline core {

HostPart host_part(const KernelLaunch& kernel) {
  if (kernel.macs <= 0 && kernel.bytes <= 0) return HostPart::View;
  const bool is_library = place_of(kernel.kind) == Place::Tensor || kernel.kind == KernelClass::DepthwiseLibrary ||
                          kernel.kind == KernelClass::MaxPool || kernel.kind == KernelClass::AveragePool ||
                          kernel.kind == KernelClass::BatchNorm;
  return is_library ? HostPart::Library : HostPart::Kernel;
}

double HostCosts::* host_cost(HostPart part) {
  switch (part) {
    case HostPart::View:
      return &HostCosts::view;
    case HostPart::Kernel:
      return &HostCosts::kernel;
    case HostPart::Library:
      return &HostCosts::library;
  }
  return &HostCosts::kernel;
}

LaunchQueue launch_queue(std::span<const KernelLaunch> kernels, std::span<const double> device, const HostCosts& host) {
  LaunchQueue queue;
  double launched = host.run;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    launched += host.*host_cost(host_part(kernels[i]));
    if (host_part(kernels[i]) == HostPart::View) continue;
    if (launched > queue.seconds) queue = {i, launched};
    queue.seconds += device[i];
  }
  if (launched > queue.seconds) queue = {kernels.size(), launched};
  return queue;
}

std::vector<double> added_seconds(std::span<const KernelLaunch> kernels, const KernelRates& rates,
                                  const Calibration& calibration) {
  std::vector<double> added;
  for (const KernelLaunch& kernel : kernels) added.push_back(kernel_seconds(kernel, rates, calibration));
  const HostCosts& host = calibration.host;
  if (!host.is_known() || kernels.empty()) return added;
  const std::size_t last_wait = launch_queue(kernels, added, host).last_wait;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const bool is_view = host_part(kernels[i]) == HostPart::View;
    const double device = i < last_wait || is_view ? 0 : added[i];
    added[i] = device + (i <= last_wait ? host.*host_cost(host_part(kernels[i])) : 0);
  }
  added.front() += host.run;
  return added;
}

}  // namespace pagoda::inline core
