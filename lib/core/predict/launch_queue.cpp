#include "pagoda/core/launch_queue.h"

#include <algorithm>

namespace pagoda::inline core {

HostPart host_part(const KernelLaunch& kernel) {
  if (kernel.on_host) return HostPart::OnHost;
  if (kernel.macs <= 0 && kernel.bytes <= 0) return HostPart::View;
  const bool is_cudnn = is_convolution(kernel.kind) || kernel.kind == KernelClass::DepthwiseLibrary ||
                        kernel.kind == KernelClass::MaxPool || kernel.kind == KernelClass::AveragePool ||
                        kernel.kind == KernelClass::BatchNorm || kernel.kind == KernelClass::Recurrent;
  if (is_cudnn) return HostPart::Convolution;
  return place_of(kernel.kind) == Place::Tensor ? HostPart::Product : HostPart::Kernel;
}

bool has_kernel(HostPart part) { return part > HostPart::View; }

HostTerms host_terms(const KernelLaunch& kernel, const HostCosts& host) {
  const HostPart part = host_part(kernel);
  return {.call = part == HostPart::OnHost || kernel.is_inside ? 0 : host.node,
          .own = part == HostPart::View ? 0 : host.*kHostCosts[static_cast<std::size_t>(part)].member};
}

double host_seconds(const KernelLaunch& kernel, const HostCosts& host) {
  const HostTerms terms = host_terms(kernel, host);
  return terms.call + terms.own;
}

LaunchQueue launch_queue(std::span<const KernelLaunch> kernels, std::span<const double> device, const HostCosts& host) {
  LaunchQueue queue;
  double launched = host.run;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    launched += host_seconds(kernels[i], host);
    if (!has_kernel(host_part(kernels[i]))) continue;
    if (launched > queue.seconds) queue = {i, launched};
    queue.seconds += device[i];
  }
  if (launched > queue.seconds) queue = {kernels.size(), launched};
  return queue;
}

std::vector<double> added_seconds(std::span<const KernelLaunch> kernels, const KernelRates& rates,
                                  const EagerCoefficients& coefficients) {
  std::vector<double> added;
  for (const KernelLaunch& kernel : kernels) added.push_back(kernel_seconds(kernel, rates, coefficients));
  const HostCosts& host = coefficients.host;
  if (!host.is_known() || kernels.empty()) return added;
  const std::size_t last_wait = launch_queue(kernels, added, host).last_wait;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const double device = i < last_wait || !has_kernel(host_part(kernels[i])) ? 0 : added[i];
    added[i] = device + (i <= last_wait ? host_seconds(kernels[i], host) : 0);
  }
  added.front() += host.run;
  return added;
}

}  // namespace pagoda::inline core
