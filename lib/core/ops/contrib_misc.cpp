// com.microsoft: operators that fit no other family: gathers of quantised tables, crops, Fourier transforms, distances,
// hashes, text, and nodes whose contents are opaque.
#include "ops/fold.h"
#include "ops/nn_work.h"

namespace pagoda::inline core::ops {
namespace {

// --- GatherBlockQuantized: data, indices, scales, zero points ---

// Elements of the gathered tensor per stored element of `data`: a byte packs 8 / bits of them.
std::int64_t elements_per_stored(const OpContext& op) {
  if (op.element(0) != ElementType::Uint8) return 1;
  const std::int64_t bits = op.attribute("bits", 4);
  if (bits != 2 && bits != 4 && bits != 8) op.fail(cat("bits is ", bits));
  return 8 / bits;
}

std::size_t gather_axis(const OpContext& op) {
  return static_cast<std::size_t>(normal_axis(op, op.attribute("gather_axis", 0), op.rank(0)));
}

Shape gather_quantized_shape(OpContext& op) {
  Shape data = op.shape(0);
  if (data.empty()) op.fail("data is a scalar");
  const auto axis = static_cast<std::ptrdiff_t>(gather_axis(op));
  normal_axis(op, op.attribute("quantize_axis", 1), op.rank(0));
  data.back() *= elements_per_stored(op);
  Shape output(data.begin(), data.begin() + axis);
  output.insert(output.end(), op.shape(1).begin(), op.shape(1).end());
  output.insert(output.end(), data.begin() + axis + 1, data.end());
  return output;
}

// Reads the picked slices of the data, scales and zero points, at most all. (x − zero point)·scale per element;
// floating-point data have no zero point.
OpCost cost_gather_quantized(const OpContext& op) {
  OpCost cost = op.streamed({1});
  const std::size_t axis = gather_axis(op);
  for (const int table : {0, 2, 3}) {
    if (!op.has_input(table)) continue;
    const Shape& shape = op.shape(table);
    Dim picked = op.elements(table);
    if (axis < shape.size() && shape[axis] != Dim(1)) {
      Dim slice = 1;
      for (std::size_t i = 0; i < shape.size(); ++i)
        if (i != axis) slice *= shape[i];
      // A scale along the gathered axis may apply to a block of slices.
      picked = min(picked, op.elements(1) * slice);
    }
    cost.read(table, byte_size(picked, op.element(table)));
  }
  const Work each = {.arith = is_float(op.element(0)) ? 1 : 2};
  return in_precision(op.element(2), cost) + each * op.output_elements(0);
}

// data [rows, bytes of a row], indices → […, K].
void infer_gather_packed(OpContext& op) {
  const ElementType element = element_attribute(op, "output_dtype", ElementType::Bfloat16);
  set_element(op, 0, element);
  expect_rank(op, 0, 2);
  op.set_output(0, element, appended(op.shape(1), {positive_attribute(op, "K")}));
}

// A product with its block's scale per element, whatever the format.
OpCost cost_gather_packed(const OpContext& op) {
  const Dim picked = min(op.elements(0), op.elements(1) * dim_of(op, 0, 1));
  return in_precision(op.output(0).element, cost_reading(op, {1}, picked)) + Work{.arith = op.output_elements(0)};
}

// weight [rows, width], indices → […, width].
Shape embedding_shape(OpContext& op) {
  expect_rank(op, 0, 2);
  return appended(op.shape(1), {dim_of(op, 0, 1)});
}

// --- CropAndResize: X [N, C, H, W], rois [R, 4], batch_indices [R], crop_size [2] ---

Shape crop_shape(OpContext& op) {
  expect_rank(op, 0, 4);
  expect_rank(op, 1, 2);
  const auto size = known_sizes(op, 3);
  if (size && size->size() != 2) op.fail(cat("crop_size has ", size->size(), " entries, expected 2"));
  const Dim height = size ? (*size)[0] : op.fresh("crop_height", "a size computed from data");
  const Dim width = size ? (*size)[1] : op.fresh("crop_width", "a size computed from data");
  return {dim_of(op, 1, 0), dim_of(op, 0, 1), height, width};
}

// The rows and columns of each region have coordinates. Reads the taps, at most the whole map.
OpCost cost_crop(const OpContext& op) {
  const Interpolation mode = interpolation(op, "bilinear");
  const Shape& output = op.output_shape(0);
  const Dim taps = min(op.elements(0), op.output_elements(0) * sample_taps(mode, 2));
  return cost_reading(op, {1, 2}, byte_size(taps, op.element(0))) +
         resampling_work(mode, 2, output[0] * (output[2] + output[3]), output[0] * output[2] * output[3],
                         op.output_elements(0));
}

// --- Rfft, Irfft: 5·N·⌈log2 N⌉ per complex transform of length N, axis by axis, half of it for real data ---

int signal_axes(const OpContext& op) {
  const std::int64_t axes = op.attribute("signal_ndim", 1);
  if (axes < 1 || axes > 3) op.fail(cat("signal_ndim is ", axes));
  return static_cast<int>(axes);
}

// […, n] → […, ⌊n/2⌋ + 1, 2].
Shape rfft_shape(OpContext& op) {
  Shape output = op.shape(0);
  if (op.rank(0) < signal_axes(op)) op.fail("the signal has fewer axes than signal_ndim");
  output.back() = floor_div(output.back(), 2) + 1;
  return appended(output, {2});
}

// […, n, 2] → […, 2·(n − 1)].
Shape irfft_shape(OpContext& op) {
  Shape output = op.shape(0);
  if (op.rank(0) < signal_axes(op) + 1) op.fail("the spectrum has fewer axes than signal_ndim");
  output.pop_back();
  if (output.back() == Dim(0)) op.fail("the spectrum is empty");
  output.back() = 2 * (output.back() - 1);
  return output;
}

// `real` is the shape of the real side.
OpCost cost_transform(const OpContext& op, const Shape& real) {
  Dim stages = 0;
  for (int i = 0; i < signal_axes(op); ++i) stages += ceil_log2(*(real.end() - 1 - i));
  return op.streamed() + Work{.arith = ceil_div(5 * element_count(real) * stages, 2)};
}
OpCost cost_rfft(const OpContext& op) { return cost_transform(op, op.shape(0)); }
OpCost cost_irfft(const OpContext& op) { return cost_transform(op, op.output_shape(0)); }

// --- CDist: A [M, N], B [K, N] → [M, K] ---

Shape cdist_shape(OpContext& op) {
  expect_rank(op, {0, 1}, 2);
  op.unify(dim_of(op, 0, 1), dim_of(op, 1, 1), "coordinates of A and B");
  return {dim_of(op, 0, 0), dim_of(op, 1, 0)};
}

// Σ (a − b)²: N subtractions, N squares, N − 1 additions; a square root for the Euclidean distance.
OpCost cost_cdist(const OpContext& op) {
  const std::string_view metric = op.attribute("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean") op.unknown(cat("metric is '", metric, "'"));
  const Dim pairs = op.output_elements(0);
  return op.streamed() +
         Work{.arith = pairs * (3 * dim_of(op, 0, 1) - 1), .special = when(metric == "euclidean", pairs)};
}

// --- DynamicTimeWarping: costs [M, N] or [1, M, N] → path [2, x] ---

void infer_time_warping(OpContext& op) {
  const Shape& costs = op.shape(0);
  if (costs.size() != 2 && costs.size() != 3) op.fail(cat("the input has rank ", costs.size(), ", expected 2 or 3"));
  const Dim upper = costs[costs.size() - 2] + costs.back() - 1;
  op.set_output(0, ElementType::Int32, {Dim(2), op.fresh("path", "steps of the cheapest path", upper)});
}

// The least of three neighbours and an addition for every cell.
OpCost cost_time_warping(const OpContext& op) {
  return op.streamed() + Work{.arith = 3, .comparisons = 2} * op.elements(0);
}

// --- MurmurHash3 ---

void infer_murmur(OpContext& op) {
  const bool positive = op.flag("positive", true);
  op.set_output(0, {.element = positive ? ElementType::Uint32 : ElementType::Int32, .shape = op.input(0).shape});
}

// MurmurHash3_x86_32: per word of 4 bytes mul, rotate, mul, xor, rotate, mul, add; at the end xor with the length and
// three shifts with xor around two mul. Bit operations count as comparisons. The length of strings depends on the data.
OpCost cost_murmur(const OpContext& op) {
  const int width = bits(op.element(0));
  const Dim words =
      width == 0 ? op.fresh("hashed_words", "words of 4 bytes in a string that is hashed") : Dim((width + 31) / 32);
  return op.streamed() +
         Work{.arith = (7 * words + 9) * op.elements(0), .comparisons = (3 * words + 7) * op.elements(0)};
}

// --- shapes and layouts ---

Shape expand_dims_shape(OpContext& op) {
  const auto axis = op.integers(1);
  Shape shape = op.shape(0);
  if (axis && axis->size() != 1) op.fail(cat("axis has ", axis->size(), " entries, expected 1"));
  shape.insert(axis ? shape.begin() + normal_axis(op, axis->front(), op.rank(0) + 1) : shape.end(), Dim(1));
  if (!axis)  // every size stays, moves back by one, or is the new 1
    for (std::size_t i = 0; i < shape.size(); ++i)
      shape[i] =
          op.fresh("expanded_dim", "the axis to insert is data", i == 0 ? shape[0] : max(op.shape(0)[i - 1], shape[i]));
  return shape;
}

// dim d of size n → ⌊(n − size) / step⌋ + 1 slices, their elements on a new last axis.
Shape unfold_shape(OpContext& op) {
  Shape shape = op.shape(0);
  const auto axis = static_cast<std::size_t>(normal_axis(op, op.attribute("dim", -1), op.rank(0)));
  const std::int64_t size = positive_attribute(op, "size");
  const std::int64_t step = positive_or_one(op, "step");
  if (greater_equal(shape[axis], size) == false) op.fail(cat("slices of ", size, " from ", shape[axis].to_string()));
  op.require(Requirement::Kind::Window, shape[axis], size);
  shape[axis] = floor_div(shape[axis] - size, step) + 1;
  return appended(shape, {size});
}

// x [n] → y, the place of each element in y, counts.
void infer_unique(OpContext& op) {
  expect_rank(op, 0, 1);
  std::optional<Dim> most;
  if (op.has_shape(0)) most = op.elements(0);
  const Dim count = op.fresh("unique", "the number of different elements", most);
  op.set_output(0, op.element(0), {count});
  op.set_output(1, {.element = ElementType::Int64, .shape = op.input(0).shape});
  op.set_output(2, ElementType::Int64, {count});
}

// --- text ---

// [C] or [N, C] → tokens on a new last axis, padded to the longest.
Shape tokenizer_shape(OpContext& op) {
  const Shape& shape = op.shape(0);
  if (shape.empty() || shape.size() > 2) op.fail(cat("the input has rank ", shape.size(), ", expected 1 or 2"));
  return appended(shape, {op.fresh("tokens", "the most tokens of a string")});
}

// words [words, characters], W [filters, 1, window, width], B, C [vocabulary, width] → [words, filters].
// ONNX Runtime takes words and characters from the first two axes, whatever the rank (word_conv_embedding.cc).
Shape word_embedding_shape(OpContext& op) {
  if (op.rank(0) < 2) op.fail(cat("input 0 has rank ", op.rank(0), ", expected at least 2"));
  expect_rank(op, 1, 4);
  const Dim words = op.shape(0)[0], characters = op.shape(0)[1];
  if (greater_equal(characters, dim_of(op, 1, 2)) == false)
    op.fail(cat("words of ", characters.to_string(), " characters are shorter than the window"));
  return {words, dim_of(op, 1, 0)};
}

// A convolution over the characters of every word at each window position, bias, tanh, and the maximum over the
// positions. Words count with their padded length; characters pick rows of the table.
OpCost cost_word_embedding(const OpContext& op) {
  const Shape& weight = shape_of(op, 1, 4);
  const Dim words = op.shape(0)[0], characters = op.shape(0)[1];
  const Dim places = characters - weight[2] + 1;
  const Dim results = words * places * weight[0];
  const Dim comparisons = words * (places - 1) * weight[0];
  OpCost cost = in_precision(op.element(1), op.streamed({0, 1, 2}));
  if (op.rank(0) > 2) op.read_only(cost, 0, byte_size(words * characters, op.element(0)));
  cost.read(3, byte_size(min(op.elements(3), words * characters * dim_of(op, 3, -1)), op.element(3)));
  return std::move(cost) + Work{.arith = results + comparisons,
                                .special = results,
                                .comparisons = comparisons,
                                .macs = results * weight[2] * weight[3]};
}

// --- opaque nodes: outputs are as the file declares them ---

void infer_opaque(OpContext&) {}

OpCost cost_opaque(const OpContext& op) { op.unknown("it holds a compiled model of another runtime"); }

// A PyTorch operator by name.
OpCost cost_aten(const OpContext& op) { op.unknown(cat("PyTorch operator '", op.attribute("operator", "?"), "'")); }

// clang-format off
constexpr OpRule kContribMiscRules[] = {
    // op                    infer                              cost                   fold                 cost in words
    {"CDist",                shaped<cdist_shape>,               cost_cdist,            nullptr,             "3·N − 1 per pair; sqrt for the Euclidean distance", kOther.with(Gradient::Unmodelled)},
    {"CropAndResize",        shaped<crop_shape>,                cost_crop,             nullptr,             "taps mul, taps − 1 adds per element; coordinates and weights per row and column of a crop", kPooling.with(Gradient::Unmodelled)},
    {"DynamicTimeWarping",   infer_time_warping,                cost_time_warping,     nullptr,             "2 comparisons, add per cell", kOther.with(Gradient::Unmodelled)},
    {"EPContext",            infer_opaque,                      cost_opaque,           nullptr,             "not known: a compiled model", kOther.with(Gradient::Unmodelled)},
    {"ExpandDims",           shaped<expand_dims_shape>,         cost_view,             fold_same,           "nothing: a view", kView.with(Gradient::Unmodelled)},
    {"GatherBlockQuantized", shaped<gather_quantized_shape, 2>, cost_gather_quantized, nullptr,             "sub and mul per element; reads the slices it picks, at most all", kGathering.with(Gradient::Unmodelled).reads({{}, {}, WeightUse::QuantScale, WeightUse::ZeroPoint})},
    {"GatherND",             infer_as<"GatherND">,              cost_as<"GatherND">,   fold_as<"GatherND">, "no arithmetic; reads the indices and what they pick, at most all", kGathering.with(Gradient::Unmodelled)},
    {"GatherPacked",         infer_gather_packed,               cost_gather_packed,    nullptr,             "mul per element; reads the rows it picks, at most all", kGathering.with(Gradient::Unmodelled)},
    {"GridSample",           infer_as<"GridSample">,            cost_as<"GridSample">, nullptr,             "as ai.onnx", kPooling.with(Gradient::Unmodelled)},
    {"Irfft",                shaped<irfft_shape>,               cost_irfft,            nullptr,             "2.5·N·⌈log2 N⌉ per transform of length N", kSignal},
    {"MurmurHash3",          infer_murmur,                      cost_murmur,           nullptr,             "7 per word of 4 bytes, 9 per element", kOther.with(Gradient::Unmodelled)},
    {"Pad",                  infer_as<"Pad">,                   cost_as<"Pad">,        nullptr,             "no arithmetic; reads what is not cropped", kLayout.with(Gradient::Unmodelled)},
    {"Range",                infer_as<"Range">,                 cost_as<"Range">,      fold_as<"Range">,    "as ai.onnx", kGenerated.with(Placement::Materialises)},
    {"Rfft",                 shaped<rfft_shape>,                cost_rfft,             nullptr,             "2.5·N·⌈log2 N⌉ per transform of length N", kSignal},
    {"Snpe",                 infer_opaque,                      cost_opaque,           nullptr,             "not known: a compiled model", kOther.with(Gradient::Unmodelled)},
    {"Tokenizer",            shaped_as<tokenizer_shape, ElementType::String>, cost_move,             nullptr,             "no arithmetic", kText},
    {"TorchEmbedding",       shaped<embedding_shape>,           cost_repeated_by,      nullptr,             "no arithmetic; reads the indices and what they pick, at most all", kGathering.with(Gradient::Unmodelled)},
    {"Trilu",                infer_as<"Trilu">,                 cost_as<"Trilu">,      fold_as<"Trilu">,    "no arithmetic; reads and writes all", kLayout.with(Gradient::Unmodelled)},
    {"UnfoldTensor",         shaped<unfold_shape>,              cost_move,             nullptr,             "no arithmetic; reads the input once, writes the output", kLayout.with(Gradient::Unmodelled)},
    {"Unique",               infer_unique,                      cost_as<"Unique">,     nullptr,             "as ai.onnx", kSearch.with(Gradient::Unmodelled)},
    {"WordConvEmbedding",    shaped<word_embedding_shape, 1>,   cost_word_embedding,   nullptr,             "window × width macs, bias, tanh, maximum per filter and place of a word", kOtherProduct},
};

constexpr OpRule kAtenRules[] = {
    // op    infer         cost       fold     cost in words
    {"ATen", infer_opaque, cost_aten, nullptr, "not known: a PyTorch operator", kOther.with(Gradient::Unmodelled)},
};
// clang-format on
static_assert(well_formed(kContribMiscRules) && well_formed(kAtenRules));

}  // namespace

std::span<const OpRule> contrib_misc_rules() { return kContribMiscRules; }
std::span<const OpRule> aten_rules() { return kAtenRules; }

}  // namespace pagoda::inline core::ops
