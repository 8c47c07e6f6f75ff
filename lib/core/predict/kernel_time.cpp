// How long a kernel takes on a device, and a run whose host launches kernels while the device works.
#include <algorithm>
#include <cmath>

#include "pagoda/base/enum_names.h"
#include "pagoda/core/eager.h"
#include "predict/engines.h"

namespace pagoda::inline core {
namespace {

// clang-format off
constexpr base::EnumNames<KernelClass::Other> kKernelNames(
    "conv", "conv_pointwise", "conv_stem", "conv_patch", "conv_grouped", "conv_channels_last", "linear", "batched_matmul",
    "attention", "masked_attention", "recurrent", "depthwise", "depthwise_library", "depthwise_channels_last", "max_pool",
    "average_pool", "pointwise", "pointwise_broadcast", "pointwise_mixed", "pointwise_strided", "activation",
    "batch_norm", "batch_norm_channels_last", "layer_norm", "group_norm", "softmax", "reduce", "cast", "copy",
    "copy_transposing", "concat", "pad", "gather", "resize", "other");
// clang-format on

// Time of a byte from cache relative to one from memory. RRZE's gpu-benches read L2 at 2.4 times DRAM's rate on a GH200
// and 4.5 times on an A100; few vendors state a rate for L2.
constexpr double kCachedCost = 0.3;

// Boards sustain this part of the float16 FLOP per joule that the largest board of their generation states: "sustained"
// of data/calibration/tensorrt, fitted to an A100 and a T4. It limits boards whose stated peak outruns their power,
// such as an RTX PRO 6000 Max-Q, and no GeForce, whose float32 accumulation halves the peak.
constexpr double kSustained = 0.8;

// The share of a tensor that is still cached: at most the cache's size over all bytes moved since it was written.
double memory_bytes(const KernelLaunch& kernel, const KernelRates& rates) {
  if (kernel.fresh <= 0 || kernel.distance <= 0) return kernel.bytes;
  const double stayed = kernel.fresh * std::min(1.0, rates.cache / kernel.distance);
  return kernel.bytes - stayed * (1 - kCachedCost);
}

}  // namespace

Place place_of(KernelClass kind) {
  if (kind <= KernelClass::Recurrent) return Place::Tensor;
  if (kind <= KernelClass::AveragePool || kind == KernelClass::Other) return Place::Vector;
  return Place::Memory;
}

bool is_convolution(KernelClass kind) { return kind <= KernelClass::ConvChannelsLast; }

std::string_view to_string(KernelClass kind) { return kKernelNames[kind]; }

std::optional<KernelRates> kernel_rates(const DeviceSpec& device, const EagerEngine& engine, std::string* lacks) {
  const bool is_single = engine.products != Precision::Float16;
  const Peak* vector = device.peak(Precision::Float32, Unit::Vector);
  const auto peak = [&](Precision precision) {
    if (precision == Precision::Float32) return vector;
    const Peak* tensor = device.peak(precision, Unit::Tensor, Precision::Float32);
    return precision == Precision::Tf32 && tensor == nullptr ? vector : tensor;  // before Ampere
  };
  Needs needs;
  KernelRates rates;
  if (!is_single) rates.tensor = needs(peak(engine.products), "float16 rate of tensor units with float32 accumulation");
  rates.vector = needs(vector, "float32 rate");
  if (is_single && vector != nullptr) rates.tensor = *peak(engine.products)->flops_per_second.value;
  if (const Peak* convolution = peak(engine.convolutions)) rates.convolution = *convolution->flops_per_second.value;
  rates.bandwidth = needs(bandwidth_of(device.levels.empty() ? nullptr : &device.levels.front()), "memory bandwidth");
  const Quantity& launch = device.launch_overhead_seconds;
  rates.launch = is_single ? launch.value.value_or(1e-6) : needs(&launch, "launch overhead");
  if (!engine.is_of_one_machine) {
    if (device.flagship_flops_per_joule.known() && device.watts.known()) {
      const double powered = kSustained * *device.flagship_flops_per_joule.value * *device.watts.value;
      rates.tensor = std::min(rates.tensor, powered);
      rates.convolution = std::min(rates.convolution, powered);
    }
    rates.units = device.units.value.value_or(1);
    if (device.levels.size() > 1) rates.cache = device.levels[1].capacity_bytes.value.value_or(0);
  }
  return needs.met_by(rates, lacks);
}

KernelTerms kernel_terms(const KernelLaunch& kernel, const KernelRates& rates, const EagerCoefficients& coefficients) {
  const ClassCoefficients& c = coefficients.classes[static_cast<std::size_t>(kernel.kind)];
  const bool is_product = place_of(kernel.kind) == Place::Tensor;
  const double rate = !is_product ? rates.vector : is_convolution(kernel.kind) ? rates.convolution : rates.tensor;
  double work = 2 * kernel.macs / rate * c.work;
  double traffic = memory_bytes(kernel, rates) / rates.bandwidth * c.bytes;
  const double few = is_product && kernel.rows > 0 ? c.rows / kernel.rows : 0;
  const double narrow = is_product ? c.width / std::max(kernel.width, 1.0) : 0;
  const double shallow = is_product ? c.depth / std::max(kernel.depth, 1.0) : 0;
  work *= (1 + few) * (1 + narrow) * (1 + shallow);
  // With fewer blocks of output than units, some units are idle.
  const double idle = kernel.tiles > 0 ? std::max(1.0, rates.units / kernel.tiles) : 1;
  (kernel.kind == KernelClass::Resize ? traffic : work) *= idle;

  KernelTerms terms;
  terms.launch = coefficients.launch * rates.launch;
  terms.seconds = terms.launch;
  const double longer = std::max(work, traffic);
  if (longer <= 0) return terms;
  // (work^p + traffic^p)^(1/p), scaled by the longer one so that no power overflows.
  const double p = coefficients.norm;
  const double a = std::pow(work / longer, p), b = std::pow(traffic / longer, p), sum = a + b;
  const double busy = longer * std::pow(sum, 1 / p);
  terms.seconds += busy;
  terms.by_work = busy * a / sum;
  terms.by_bytes = busy * b / sum;
  terms.by_rows = terms.by_work * few / (1 + few);
  terms.by_width = terms.by_work * narrow / (1 + narrow);
  terms.by_depth = terms.by_work * shallow / (1 + shallow);
  const auto x_log_x = [](double power, double ratio) { return power > 0 ? power * std::log(ratio) : 0.0; };
  terms.by_norm = busy * ((x_log_x(a, work / longer) + x_log_x(b, traffic / longer)) / sum - std::log(sum) / p);
  return terms;
}

double kernel_seconds(const KernelLaunch& kernel, const KernelRates& rates, const EagerCoefficients& coefficients) {
  return kernel_terms(kernel, rates, coefficients).seconds;
}

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
    launched += kernels[i].times * host_seconds(kernels[i], host);
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
  for (const KernelLaunch& kernel : kernels)
    added.push_back(kernel.times * kernel_seconds(kernel, rates, coefficients));
  const HostCosts& host = coefficients.host;
  if (!host.is_known() || kernels.empty()) return added;
  const std::size_t last_wait = launch_queue(kernels, added, host).last_wait;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const double device = i < last_wait || !has_kernel(host_part(kernels[i])) ? 0 : added[i];
    added[i] = device + (i <= last_wait ? kernels[i].times * host_seconds(kernels[i], host) : 0);
  }
  added.front() += host.run;
  return added;
}

}  // namespace pagoda::inline core
