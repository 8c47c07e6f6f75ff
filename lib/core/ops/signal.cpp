// Signals: Fourier transforms, windows, mel filter banks.
//
// A transform of length N counts as the fast algorithm, 5·N·⌈log2 N⌉ operations for complex data and half of that,
// rounded up, where input or output is real (the count of fftw.org/speed/method.html, with whole stages). Twiddle
// factors are tables.
#include "ops/nn_work.h"

namespace pagoda::inline core::ops {
namespace {

Dim transform_work(const Dim& length, bool is_real) {
  const Dim complex = 5 * length * ceil_log2(length);
  return is_real ? ceil_div(complex, 2) : complex;
}

constexpr std::string_view kLengthIsData =
    "the length of the transform is data: the longest with this number of bins counts, an upper bound";

// --- DFT ---

// The transformed axis: an attribute before opset 20, 1 by default; an input since, -2 by default. Empty if unknown.
std::optional<std::size_t> dft_axis(const OpContext& op) {
  if (op.rank(0) < 2) op.fail(cat("input 0 has rank ", op.rank(0), ", expected 2 or more"));
  std::int64_t axis = op.opset() < 20 ? op.attribute("axis", 1) : -2;
  if (op.opset() >= 20 && op.has_input(2)) {
    const auto stated = op.integers(2);
    if (!stated || stated->size() != 1) return std::nullopt;
    axis = stated->front();
  }
  const int normal = normal_axis(op, axis, op.rank(0));
  if (normal == op.rank(0) - 1) op.fail("the last axis holds the parts of complex numbers and cannot be transformed");
  return static_cast<std::size_t>(normal);
}

bool is_one_sided(const OpContext& op, std::int64_t otherwise) { return op.attribute("onesided", otherwise) != 0; }
bool is_inverse(const OpContext& op) { return op.flag("inverse"); }

bool is_to_real(const OpContext& op) { return is_one_sided(op, 0) && is_inverse(op); }

// The length of the transform of an axis, where no input states it.
Dim length_of(const OpContext& op, const Dim& input) { return is_to_real(op) ? 2 * (input - 1) : input; }

// Size of the axis in the output, after a transform of this length.
Dim bins_of(const OpContext& op, const Dim& length) {
  return is_one_sided(op, 0) && !is_to_real(op) ? floor_div(length, 2) + 1 : length;
}

// [… signal …, 1 or 2] → [… spectrum …, 2]; the inverse of a one-sided spectrum is real, [… signal …, 1].
Shape dft_shape(OpContext& op) {
  const std::optional<std::size_t> axis = dft_axis(op);
  Shape output = op.shape(0);
  output.back() = is_to_real(op) ? 1 : 2;
  if (axis) {
    const Dim length = op.has_input(1) ? size_argument(op, 1, "dft_length") : length_of(op, output[*axis]);
    output[*axis] = bins_of(op, length);
    if (is_one_sided(op, 0) && !is_inverse(op) && op.has_input(1) && !scalar_value(op, 1))
      op.note(std::string(kLengthIsData));
    return output;
  }
  op.note("the transformed axis is data: work and bytes are those of the costliest axis, an upper bound");
  if (op.has_input(1) || is_one_sided(op, 0)) {  // else no size changes, whatever the axis
    const std::optional<Dim> stated = scalar_value(op, 1);
    for (std::size_t i = 0; i + 1 < output.size(); ++i) {
      std::optional<Dim> most;
      if (stated || !op.has_input(1)) most = max(output[i], bins_of(op, stated ? *stated : length_of(op, output[i])));
      output[i] = op.fresh("spectrum", "the transformed axis is data", most);
    }
  }
  return output;
}

// The length of one transform along a known axis; of the two lengths that a one-sided spectrum leaves, the longer.
Dim transform_length(const OpContext& op, std::size_t axis) {
  if (!op.has_input(1)) return length_of(op, op.shape(0)[axis]);
  if (const auto length = scalar_value(op, 1)) return *length;
  const Dim& bins = op.output_shape(0)[axis];
  return is_one_sided(op, 0) && !is_inverse(op) ? 2 * bins - 1 : bins;
}

// The number of transforms along an axis; the last axis holds the parts of complex numbers.
Dim transforms_along(const OpContext& op, std::size_t axis) { return lines_along(leading(op.shape(0)), axis); }

// The work of `transforms` transforms of one length. The inverse also divides each result by the length.
Dim work_of(const OpContext& op, const Dim& transforms, const Dim& length) {
  const bool is_real = is_to_real(op) || op.shape(0).back() == Dim(1);
  const Dim work = transforms * transform_work(length, is_real);
  return is_inverse(op) ? work + transforms * bins_of(op, length) * op.output_shape(0).back() : work;
}

// Any axis may be the transformed one: the most work, the most bytes.
OpCost cost_of_costliest_axis(const OpContext& op) {
  const Shape& input = op.shape(0);
  OpCost cost = op.streamed({0});
  Dim written;
  if (op.has_input(1)) {  // of one length along every axis: the most transforms
    std::optional<Dim> length = scalar_value(op, 1);
    if (!length) length = op.fresh("dft_length", "a size computed from data");
    Dim transforms;
    for (std::size_t i = 0; i + 1 < input.size(); ++i) transforms = max(transforms, transforms_along(op, i));
    cost.arith = work_of(op, transforms, *length);
    written = transforms * bins_of(op, *length);
  } else {
    for (std::size_t i = 0; i + 1 < input.size(); ++i) {
      const Dim transforms = transforms_along(op, i), length = length_of(op, input[i]);
      cost.arith = max(cost.arith, work_of(op, transforms, length));
      written = max(written, transforms * bins_of(op, length));
    }
  }
  op.write_only(cost, 0, byte_size(written * op.output_shape(0).back(), op.element(0)));
  return cost;
}

OpCost cost_dft(const OpContext& op) {
  const std::optional<std::size_t> axis = dft_axis(op);
  if (!axis) return cost_of_costliest_axis(op);
  OpCost cost = op.streamed({0});
  const Shape& input = op.shape(0);
  const Dim length = transform_length(op, *axis);
  cost.arith = work_of(op, transforms_along(op, *axis), length);
  // A shorter transform reads only the beginning of the signal.
  if (!is_to_real(op))
    op.read_only(cost, 0,
                 byte_size(transforms_along(op, *axis) * input.back() * min(input[*axis], length), op.element(0)));
  return cost;
}

// --- STFT ---

// The length of a frame: stated, else the window's, else the whole signal; empty when it is data.
std::optional<Dim> frame_length(const OpContext& op) {
  if (const std::optional<Dim> stated = scalar_value(op, 3)) return stated;
  if (op.has_shape(2) && op.rank(2) == 1) return op.shape(2)[0];
  return op.has_input(2) || op.has_input(3) ? std::nullopt : std::optional<Dim>(op.shape(0)[1]);
}

// signal [batch, length, 1 or 2] → [batch, frames, bins, 2].
Shape stft_shape(OpContext& op) {
  const Shape& signal = op.shape(0);
  if (signal.size() != 3 && signal.size() != 2) op.fail(cat("signal has rank ", signal.size(), ", expected 3"));
  std::optional<Dim> length = frame_length(op);
  if (!length) {
    if (is_one_sided(op, 1)) op.note(std::string(kLengthIsData));
    length = op.fresh("frame_length", "a size computed from data", signal[1]);
  }
  const std::optional<Dim> step = scalar_value(op, 1);
  if (step && step->is_constant() && *step->value() < 1) op.fail("frame_step is " + step->to_string());
  if (const auto rest = (signal[1] - *length).value(); rest && *rest < 0)
    op.fail("frames of " + length->to_string() + " do not fit a signal of " + signal[1].to_string());
  op.require(Requirement::Kind::Window, signal[1], *length);
  const Dim frames =
      step ? floor_div(signal[1] - *length, *step) + 1 : op.fresh("frames", "a frame step computed from data");
  const Dim bins = is_one_sided(op, 1) ? floor_div(*length, 2) + 1 : *length;
  return {signal[0], frames, bins, Dim(2)};
}

// Per frame: a transform and, if there is a window, a multiplication by it per real number.
OpCost cost_stft(const OpContext& op) {
  const Shape& output = op.output_shape(0);
  std::optional<Dim> length = frame_length(op);
  if (!length) length = is_one_sided(op, 1) ? 2 * output[2] - 1 : output[2];
  const Dim parts = op.rank(0) == 3 ? op.shape(0)[2] : Dim(1);
  const Dim window = op.has_input(2) ? *length * parts : Dim(0);
  return op.streamed({0, 2}) +
         Work{.arith = output[0] * output[1] * (transform_work(*length, parts == Dim(1)) + window)};
}

// --- windows ---

void infer_window(OpContext& op) {
  op.set_output(0, element_attribute(op, "output_datatype", ElementType::Float32), {size_argument(op, 0, "window")});
}

// a0 − a1·cos(2πn/N), + a2·cos(4πn/N) for Blackman: per cosine a multiplication for its angle, one by its coefficient
// and an addition.
template <int Cosines>
OpCost cost_window(const OpContext& op) {
  return cost_fill(op) + Work{.arith = 3 * Cosines, .special = Cosines} * op.output_elements(0);
}

// --- MelWeightMatrix ---

// → [⌊dft_length / 2⌋ + 1, num_mel_bins].
void infer_mel(OpContext& op) {
  const Dim bands = size_argument(op, 0, "mel_bins");
  const Dim length = size_argument(op, 1, "dft_length");
  op.set_output(0, element_attribute(op, "output_datatype", ElementType::Float32), {floor_div(length, 2) + 1, bands});
}

// Two logarithms for the ends of the mel scale, each with a division, an addition and a multiplication; the step (sub,
// div); per edge of a band (bands + 2): its mel (mul, add), its frequency (div, pow, sub, mul), its bin (mul, div,
// floor). Per weight the lesser of two slopes and not below 0: 2 sub, 2 div, 2 comparisons.
OpCost cost_mel(const OpContext& op) {
  const Dim edges = op.output_shape(0)[1] + 2;
  return cost_fill(op) + Work{.arith = 8, .special = 2} + Work{.arith = 8, .special = 1, .comparisons = 1} * edges +
         Work{.arith = 6, .comparisons = 2} * op.output_elements(0);
}

// clang-format off
constexpr OpRule kSignalRules[] = {
    // op               infer               cost            fold     cost in words
    {"BlackmanWindow",  infer_window,       cost_window<2>, nullptr, "2 cos, 6 operations per element", kGenerated},
    {"DFT",             shaped<dft_shape>,  cost_dft,       nullptr, "5·N·⌈log2 N⌉ per complex transform of length N, half for real data; inverse: div per element", kSignal.with(Gradient::Rule)},
    {"HammingWindow",   infer_window,       cost_window<1>, nullptr, "cos, 3 operations per element", kGenerated},
    {"HannWindow",      infer_window,       cost_window<1>, nullptr, "cos, 3 operations per element", kGenerated},
    {"MelWeightMatrix", infer_mel,          cost_mel,       nullptr, "8 and pow per edge of a band, 6 per weight", kGenerated},
    {"STFT",            shaped<stft_shape>, cost_stft,      nullptr, "per frame N mul by the window and a transform as in DFT", kSignal},
};
// clang-format on
static_assert(well_formed(kSignalRules));

}  // namespace

std::span<const OpRule> signal_rules() { return kSignalRules; }

}  // namespace pagoda::inline core::ops
