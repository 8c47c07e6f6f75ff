// Lowers a graph to the kernels of ONNX Runtime, version 1.31, at its highest level of optimisation, on its CPU
// provider or another: which nodes become one kernel. Its fusions and reorders (ort_graph.cpp) follow the optimised
// graphs and profiles of models/skeletons.
#include <algorithm>
#include <set>

#include "pagoda/core/memory.h"
#include "predict/ort_graph.h"
#include "predict/pytorch.h"

namespace pagoda::inline core {
namespace {

// Run in blocks of channels if their operand is in blocks.
constexpr std::string_view kInBlocks[] = {
    "GlobalAveragePool", "GlobalMaxPool", "HardSigmoid", "HardSwish", "LeakyRelu", "Relu", "Resize",
    "Sigmoid",           "Tanh",          "Upsample"};
// Cost nothing: the engine removes them.
constexpr std::string_view kRemoved[] = {"Dropout", "Identity"};

class OrtLowering : OrtLayouts {
 public:
  OrtLowering(const Model& model, const Analysis& analysis, const OrtProvider& provider)
      : OrtLayouts(model.main(), analysis),
        provider_(provider),
        block_(provider.channel_block),
        idioms_(find_idioms(model, analysis)),
        row_of_(rows_of_nodes(graph(), analysis)),
        loading_(model, *this),
        constant_(loading_.constants()),
        integers_(*this, row_of_) {
    for (const Idiom& idiom : idioms_)
      if (idiom.call == Call::LayerNorm) normed_.insert(idiom.operands[0]);
    for (const Node& node : graph().nodes)
      if (integers_.runs_each_time(node)) constant_[index(node.output(0))] = false;
  }

  OrtKernels run() {
    for (std::size_t i = 0; i < analysis().nodes.size(); ++i) {
      at_row(static_cast<std::int32_t>(i));
      const NodeReport& row = analysis().nodes[i];
      result_.unknown_rows += row.unmodelled_inside + (row.cost.mark == Mark::Unmodelled ? 1 : 0);
      if (row.graph != 0) {
        if (row.cost.mark == Mark::Compute) lower_counted(nullptr, row);
        continue;
      }
      lower_row(graph().node(row.node), row);
    }
    for (const ValueId output : graph().outputs) want_plain(output);
    result_.weight_bytes = loading_.read_weight_bytes();
    result_.kernels = take();
    return std::move(result_);
  }

 private:
  bool is_constant(ValueId value) const { return value == kAbsent || constant_[index(value)]; }

  void lower_row(const Node& node, const NodeReport& row) {
    const Idiom& idiom = idioms_[index(row.node)];
    if (loading_.computes(row)) return;
    switch (row.cost.mark) {
      case Mark::Unmodelled:
        return;
      case Mark::Folded:
        if (integers_.runs_each_time(node))
          launch(OrtKernelClass::Quantize, bytes(node.input(0)) + bytes(node.output(0)));
        return;
      case Mark::Host:
        if (!loading_.has_fixed_sizes() && !loading_.repeats(row.node)) launch({});
        return;
      case Mark::View:
        if (!is_one_of(node.op_type, kRemoved)) {
          want_plain(node.input(0));
          if (!loading_.repeats(row.node)) launch({});
        } else if (is_in_blocks(node.input(0))) {
          set_layout(node.output(0), layout(node.input(0)));
        }
        return;
      case Mark::Compute:
        break;
    }
    if (idiom.call == Call::Part) return;
    if (idiom.call != Call::Own) return lower_call(idiom);
    if (joined_.contains(row.node) || loading_.is_part_of_norm(row.node)) return;
    if (const ValueId kept = loading_.kept(node); kept != kAbsent) return keep_order(kept, node.output(0));
    if (const auto norm = loading_.norms().find(row.node); norm != loading_.norms().end())
      return want_plain(norm->second.operand), launch_norm(norm->second.operand, norm->second.result);
    if (node.op_type == "QLinearConv") return lower_integer_conv(node, row);
    if (row.facts.form == ProductForm::Convolution || node.op_type == "ConvInteger") return lower_conv(node, row);
    if (multiplies_first_two(row.facts.form) || node.op_type == "FusedMatMul") return lower_matmul(node, row);
    lower_other(node, row);
  }

  // --- calls that exporters write as several nodes ---

  void lower_call(const Idiom& idiom) {
    switch (idiom.call) {
      case Call::Own:
      case Call::Part:
        return;
      case Call::Linear:
        lower_product(idiom.operands[0], idiom.operands[1], idiom.result, *row_of_[index(idiom.products[0])],
                      loading_.has_fixed_sizes());
        if (!loading_.has_fixed_sizes()) {
          if (!reads_as_activation(idiom.result) && !is_added_by_norm(idiom.result))
            launch(OrtKernelClass::PointwiseBroadcast, 2 * bytes(idiom.result));
        } else if (sizes(idiom.result).size() > 2) {  // a Gemm between two Reshapes
          for (int i = 0; i < 2; ++i) launch({});
        }
        return;
      case Call::Activation:
        if (is_in_blocks(idiom.operands[0])) set_layout(idiom.result, Layout::Blocks);
        return launch(is_logistic(idiom) ? OrtKernelClass::Logistic : OrtKernelClass::Activation,
                      2 * bytes(idiom.result));
      case Call::LayerNorm:
        want_plain(idiom.operands[0]);
        return launch_norm(idiom.operands[0], idiom.result);
      case Call::GroupNorm:  // an InstanceNormalization, a weight and a bias
        want_plain(idiom.operands[0]);
        launch(OrtKernelClass::Norm, 2 * bytes(idiom.result));
        for (int i = 0; i < 2; ++i) launch(OrtKernelClass::PointwiseBroadcast, 2 * bytes(idiom.result));
        return;
      case Call::Variance: {  // runs node by node: a mean, a difference, a square, a mean
        want_plain(idiom.operands[0]);
        const double operand = bytes(idiom.operands[0]);
        launch(OrtKernelClass::Reduce, operand);
        launch(OrtKernelClass::PointwiseBroadcast, 2 * operand);
        launch(OrtKernelClass::Pointwise, 2 * operand);
        return launch(OrtKernelClass::Reduce, operand);
      }
      case Call::Attention: {  // scaled products, a mask and a softmax
        const Node& scores = graph().node(idiom.products[0]);
        const Node& values = graph().node(idiom.products[1]);
        lower_product(scores.input(0), scores.input(1), scores.output(0), *row_of_[index(idiom.products[0])]);
        if (idiom.mask != kAbsent)
          launch(OrtKernelClass::PointwiseBroadcast, 2 * bytes(scores.output(0)) + bytes(idiom.mask));
        launch(OrtKernelClass::Softmax, 2 * bytes(scores.output(0)), row_width(scores.output(0)));
        lower_product(values.input(0), values.input(1), values.output(0), *row_of_[index(idiom.products[1])]);
        return;
      }
    }
  }

  bool is_logistic(const Idiom& idiom) const {
    const auto& read_by = readers(idiom.operands[0]);
    return std::any_of(read_by.begin(), read_by.end(), [&](std::int32_t reader) {
      const base::Name& op = graph().node(reader).op_type;
      return op == "Sigmoid" || op == "Tanh";
    });
  }

  // Whether the activation that follows adds the bias, as BiasGelu does.
  bool reads_as_activation(ValueId value) const {
    return std::any_of(readers(value).begin(), readers(value).end(), [&](std::int32_t reader) {
      const Idiom& idiom = idioms_[index(reader)];
      return idiom.call == Call::Part || idiom.call == Call::Activation || graph().node(reader).op_type == "Gelu";
    });
  }

  bool is_added_by_norm(ValueId value) const {
    const Node* next = only_reader(value);
    return next != nullptr && is_sum_of_norm(*next);
  }

  // --- products ---

  void lower_conv(const Node& node, const NodeReport& row) {
    const ValueId input = node.input(0), weight = node.input(1), output = node.output(0);
    const Sizes x = sizes(input), w = sizes(weight), y = sizes(output);
    if (x.size() < 3 || w.size() != x.size() || y.size() != x.size()) return lower_counted(&node, row);
    if (integers_.multiplies(row.node)) {
      want_channels_last(input);
      launch(conv_kernel(x, w, y, block_, ConvForm::Integers));
      set_channels_last(output);
      return join_activation(output, Folds::Norm);
    }
    const std::int64_t groups = std::max<std::int64_t>(node.integer("group", 1), 1);
    if (node.op_type == "ConvInteger")
      return lower_conv_integer(x, w, y, static_cast<double>(w[0]) / static_cast<double>(groups));
    const bool is_depthwise = groups > 1 && w[1] == 1 && w[0] == groups;
    // nchwc_transformer.cc: groups fill blocks; channels that are reordered come in fours.
    const auto is_aligned = [&] {
      if (is_depthwise) return w[0] % 4 == 0;
      if (groups > 1) return w[1] % block_ == 0 && w[0] / groups % block_ == 0;
      return w[1] < block_ || w[1] % 4 == 0;
    };
    // The engine's own saved graph: blocks and their reorders are in the file.
    if (node.domain == "com.microsoft.nchwc") return launch(conv_kernel(x, w, y, block_, ConvForm::Blocks));
    const bool is_known = node.domain.empty() || node.op_type == "FusedConv";
    const bool is_blocked =
        block_ > 0 && x.size() == 4 && is_aligned() && is_float32(input) && is_constant(weight) && is_known;
    if (!is_blocked) {
      want_plain(input);
      launch(conv_kernel(x, w, y, block_, ConvForm::Plain));
      last_kernel().has_bias = node.input(2) != kAbsent;
    } else {
      const bool is_stem = groups == 1 && x[1] < block_;
      is_stem ? want_plain(input) : want_blocks(input);
      launch(conv_kernel(x, w, y, block_, ConvForm::Blocks));
      set_layout(output, Layout::Joined);
    }
    join_activation(output, Folds::Channels);
  }

  // conv_integer.cc multiplies weights by a matrix of windows, for which MLAS has only its portable kernel. Nine
  // convolutions, ONNX Runtime 1.32 on one thread with AVX-512: 2.7 to 4.0 times as long as in float32; groups of one
  // channel take 18 times that.
  void lower_conv_integer(const Sizes& x, const Sizes& w, const Sizes& y, double outputs) {
    constexpr double kPortable = 3.4, kOneRow = 17;
    OrtKernel kernel = conv_kernel(x, w, y, 0, ConvForm::Plain);
    kernel.kind = OrtKernelClass::ConvColumns;
    kernel.flops *= kPortable * (1 + kOneRow / (outputs * outputs));
    launch(kernel);
  }

  enum class Folds : std::uint8_t { Nothing, Norm, Channels };  // the next nodes that go into a kernel's weights

  // Fuses the following nodes into the kernel that writes `value`: stored numbers by channel if it is a convolution,
  // the first norm of channels if it is another product, then an activation.
  void join_activation(ValueId value, Folds folds) {
    while (const Node* next = only_reader(value)) {
      const bool is_kept = loading_.kept(*next) == value;
      const bool is_folded = folds == Folds::Channels ? loading_.joins_weights(*next, value)
                                                      : folds == Folds::Norm && next->op_type == "BatchNormalization";
      if (folds == Folds::Channels && joins_sum_and_relu(*next, value)) return;
      if (!is_kept && !is_folded && !provider_.joins(next->op_type, folds == Folds::Channels)) return;
      joined_.insert(id(*next));
      if (folds == Folds::Channels) {
        OrtKernel& kernel = last_kernel();
        kernel.has_bias |= is_folded;
        if (!is_kept && !is_folded) ++kernel.activations;
      }
      move_order(value, next->output(0));
      const Layout after = is_kept ? layout(value) : is_folded ? Layout::Joined : Layout::Blocks;
      set_layout(next->output(0), is_in_blocks(value) ? after : Layout::Plain);
      value = next->output(0);
      if (!is_kept && !is_folded) return;
      if (is_folded && folds == Folds::Norm) folds = Folds::Nothing;
    }
  }

  // Whether the convolution that wrote `value` also adds another tensor and takes the Relu of the sum.
  bool joins_sum_and_relu(const Node& sum, ValueId value) {
    if (!provider_.joins_sum_and_relu || sum.op_type != "Add" || joined_.contains(id(sum))) return false;
    const Node* relu = only_reader(sum.output(0));
    const ValueId other = sum.input(0) == value ? sum.input(1) : sum.input(0);
    if (relu == nullptr || relu->op_type != "Relu" || sizes(other) != sizes(value)) return false;
    ++last_kernel().sums;
    ++last_kernel().activations;
    joined_.insert({id(sum), id(*relu)});
    return true;
  }

  void lower_matmul(const Node& node, const NodeReport& row) {
    if (row.facts.form == ProductForm::Deconvolution) {
      want_plain(node.input(0));
      OrtKernel kernel = moving_kernel(OrtKernelClass::ConvColumns, bytes(node.input(0)) + bytes(node.output(0)),
                                       bytes(node.input(1)));
      kernel.flops = 2 * number(row.cost.macs);
      kernel.rows = elements(node.input(0)) / std::max(number_at(node.input(0), 1), 1.0);
      kernel.depth = number_at(node.input(1), 0);
      kernel.width = elements(node.input(1)) / std::max(kernel.depth, 1.0);
      return launch(kernel);
    }
    lower_product(node.input(0), node.input(1), node.output(0), row,
                  node.op_type == "Gemm" && node.input(2) != kAbsent);
    join_activation(node.output(0), Folds::Norm);
  }

  void lower_product(ValueId left, ValueId right, ValueId output, const NodeReport& row, bool has_bias = false) {
    want_matrix(left);
    want_matrix(right);
    const Shape* out = shape(output);
    const double macs = number(row.cost.macs), total = elements(output);
    if (out == nullptr || out->empty() || total <= 0 || macs <= 0) return launch(OrtKernelClass::Other, bytes(output));
    const double width = number(out->back()), depth = macs / total;
    const bool has_weight = is_constant(right) || is_constant(left);
    const double matrices = has_weight || out->size() < 3 ? 1 : total / (width * number((*out)[out->size() - 2]));
    const bool is_quantized = integers_.multiplies(row.node);
    const double element = shape(right) == nullptr || elements(right) <= 0 ? 4 : bytes(right) / elements(right);
    const OrtKernelClass kind = is_quantized  ? ort_class_of_integers(*this, right)
                                : !has_weight ? OrtKernelClass::ProductBatched
                                : has_bias    ? OrtKernelClass::ProductBiased
                                              : OrtKernelClass::Product;
    OrtKernel kernel =
        product_kernel(kind, matrices, total / width / matrices, depth, width, is_quantized ? 1 : element, has_weight);
    if (row.cost.precision == ElementType::Float64) {  // half as many numbers in a vector
      kernel.flops *= 2;
      kernel.bytes *= 2;
    }
    launch(kernel);
  }

  // --- integers ---

  void lower_integer_conv(const Node& node, const NodeReport& row) {
    const Sizes x = sizes(node.input(0)), w = sizes(node.input(3)), y = sizes(node.output(0));
    if (x.size() < 3 || w.size() != x.size() || y.size() != x.size()) return lower_counted(&node, row);
    want_channels_last(node.input(0));
    launch(conv_kernel(x, w, y, block_, ConvForm::Integers));
    if (x.size() == 4) set_channels_last(node.output(0));
  }
  // An operator on 8-bit elements keeps the order of its operands if all share one.
  void lower_integer(const Node& node, const NodeReport& row) {
    std::vector<ValueId> operands;
    for (const ValueId input : node.inputs)
      if (input != kAbsent && is_float32(input)) operands.push_back(input);
    if (row.cost.mark != Mark::Compute || !take_order(node.output(0), shared_order(operands)))
      for (const ValueId input : node.inputs) want_plain(input);
    const auto computed = node.op_type == "AveragePool" ? OrtKernelClass::IntegerPool : OrtKernelClass::Integer;
    launch(integers_.moves(node) ? ort_class(*this, &node, row) : computed, number(row.cost.bytes()) / 4);
  }

  // --- all others ---

  // Whether the node is a sum that the norm after it computes itself, as it does if the file states the shapes.
  bool is_sum_of_norm(const Node& node) const {
    if (node.op_type != "Add" || node.inputs.size() != 2 || is_output(node.output(0))) return false;
    const ValueId sum = node.output(0);
    if (!loading_.has_fixed_sizes() && !graph().value(sum).declared.shape) return false;
    if (sizes(node.input(0)) != sizes(node.input(1)) || sizes(sum).size() != 3) return false;
    const auto& read_by = readers(sum);
    return !read_by.empty() &&
           std::all_of(read_by.begin(), read_by.end(), [&](std::int32_t reader) { return is_norm_part(reader, sum); });
  }
  bool is_norm_part(std::int32_t id, ValueId operand) const {
    if (graph().node(id).op_type == "LayerNormalization") return graph().node(id).input(0) == operand;
    return normed_.contains(operand);
  }
  void launch_norm(ValueId operand, ValueId result) {
    const Node* from = writing(operand);
    const bool adds = from != nullptr && is_sum_of_norm(*from);
    launch(adds ? OrtKernelClass::SkipNorm : OrtKernelClass::Norm, (adds ? 3 : 2) * bytes(result), row_width(result));
  }

  // A sum of two results in blocks is fused into a convolution that writes one of them.
  bool joins_sum(const Node& node) {
    if ((node.op_type != "Add" && node.op_type != "Sum") || node.inputs.size() != 2) return false;
    const ValueId a = node.input(0), b = node.input(1);
    if (!is_in_blocks(a) || !is_in_blocks(b) || sizes(a) != sizes(b)) return false;
    const auto absorbs = [&](ValueId value) {
      return layout(value) == Layout::Joined && only_reader(value) != nullptr;
    };
    if (!absorbs(a) && !absorbs(b)) return false;
    set_layout(node.output(0), Layout::Blocks);
    join_activation(node.output(0), Folds::Nothing);
    return true;
  }

  // Whether the node pools windows of whole blocks of channels, for which the engine reorders a plain image. Behind a
  // DequantizeLinear it pools the integers.
  bool pools_blocks(const Node& node) const {
    if (block_ == 0 || (node.op_type != "MaxPool" && node.op_type != "AveragePool")) return false;
    if (is_written_by(node.input(0), "DequantizeLinear")) return false;
    const Sizes x = sizes(node.input(0));
    return x.size() == 4 && x[1] % block_ == 0 && is_float32(node.input(0)) && node.output(1) == kAbsent;
  }

  bool stays_in_blocks(const Node& node) const {
    if (!is_in_blocks(node.input(0))) return false;
    if (is_one_of(node.op_type, kInBlocks)) return true;
    const bool is_binary = node.op_type == "Add" || node.op_type == "Mul" || node.op_type == "Sum";
    if (!is_binary && node.op_type != "Concat") return false;
    if (node.op_type == "Concat" && node.integer("axis", 1) != 1) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      if (!is_in_blocks(input)) return false;
      return is_binary ? sizes(input) == sizes(node.input(0))
                       : static_cast<std::int64_t>(number_at(input, 1)) % block_ == 0;
    });
  }

  // A Pad by zeros becomes the pads of the convolution or average that reads it (pad_fusion.cc); one of nothing goes.
  bool joins_pad(const Node& node) {
    if (node.op_type != "Pad" || (!node.text("mode").empty() && node.text("mode") != "constant")) return false;
    const ValueId input = node.input(0), output = node.output(0);
    const Sizes before = sizes(input), after = sizes(output);
    if (before.size() < 3 || before.size() != after.size() || before[0] != after[0] || before[1] != after[1])
      return false;
    const Node* next = only_reader(output);
    const bool is_read =
        next != nullptr &&
        (next->op_type == "Conv" || (next->op_type == "AveragePool" && next->integer("count_include_pad", 0) == 1));
    const bool is_zero = node.input(2) == kAbsent || is_all(graph(), analysis(), node.input(2), 0);
    if (before != after && !(is_read && is_zero)) return false;
    keep_order(input, output);
    return true;
  }

  // A BatchNormalization of blocks of channels that no convolution absorbs runs as a depthwise convolution.
  bool lower_channel_norm(const Node& node) {
    if (block_ == 0 || node.op_type != "BatchNormalization" || sizes(node.input(0)).size() != 4) return false;
    if (!is_constant(node.input(1)) || !is_in_blocks(node.input(0))) return false;
    const Sizes x = sizes(node.input(0));
    launch(conv_kernel(x, {x[1], 1, 1, 1}, x, block_, ConvForm::Blocks));
    set_layout(node.output(0), Layout::Joined);
    join_activation(node.output(0), Folds::Nothing);
    return true;
  }

  void lower_other(const Node& node, const NodeReport& row) {
    if (node.op_type == "Transpose") return defer_transpose(node);
    if (joins_pad(node) || joins_sum(node) || lower_channel_norm(node) || loading_.is_scale_of_product(node)) return;
    if (integers_.absorbs(node)) return keep_order(node.input(0), node.output(0));
    if (integers_.computes(row.node)) return lower_integer(node, row);
    if (is_sum_of_norm(node)) return want_plain(node.input(0)), want_plain(node.input(1));
    if (stays_transposed(node, row)) return lower_counted(&node, row);
    if (node.op_type == "LayerNormalization")
      return want_plain(node.input(0)), launch_norm(node.input(0), node.output(0));
    const bool pools = pools_blocks(node);
    if (pools) want_blocks(node.input(0));
    if (pools || stays_in_blocks(node)) {
      set_layout(node.output(0), Layout::Blocks);
      return lower_counted(&node, row);
    }
    for (const ValueId input : node.inputs) want_plain(input);
    lower_counted(&node, row);
    // Each reader of a dequantised value has a DequantizeLinear of its own.
    if (node.op_type == "DequantizeLinear")
      for (std::size_t i = 1; i < readers(node.output(0)).size(); ++i) lower_counted(&node, row);
  }

  // Element-wise kernels keep the axis order of their operands if all share one.
  bool stays_transposed(const Node& node, const NodeReport& row) {
    const bool is_pooled = node.op_type == "MaxPool" || node.op_type == "QLinearGlobalAveragePool";
    const bool is_conversion = node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear";
    if (row.facts.kind != OpKind::Pointwise && !node.op_type.starts_with("QLinear") && !is_pooled && !is_conversion)
      return false;
    std::vector<ValueId> operands;
    for (const ValueId input : node.inputs) {
      if (input == kAbsent || is_constant(input) || elements(input) <= 1) continue;
      if (is_pooled && bits(type(input)) != 8) return false;  // runs in blocks
      operands.push_back(input);
    }
    return take_order(node.output(0), shared_order(operands));
  }

  // Lowers a row to its counted work and bytes.
  void lower_counted(const Node* node, const NodeReport& row) {
    OrtKernel kernel{.kind = ort_class(*this, node, row)};
    kernel.times = number(row.runs);
    const double runs = std::max(kernel.times, 1.0);
    kernel.bytes = number(row.cost.bytes()) / runs;
    if (node != nullptr)
      for (std::size_t i = 0; i < node->inputs.size(); ++i) {
        const ValueId input = node->inputs[i];
        if (input == kAbsent || !graph().is_stored(input) || !row.cost.reads_whole(static_cast<int>(i))) continue;
        const double stored = std::min(bytes(input), kernel.bytes);
        kernel.bytes -= stored;
        kernel.weight_bytes += stored;
      }
    if (is_product(kernel.kind)) kernel.flops = 2 * number(row.cost.macs) / runs;
    const bool is_matrix_product = is_quantized(kernel.kind) || kernel.kind == OrtKernelClass::ProductBits;
    if (const double total = node == nullptr ? 0 : elements(node->output(0)); is_matrix_product && total > 0) {
      kernel.width = row_width(node->output(0));
      kernel.rows = total / std::max(kernel.width, 1.0);
      kernel.depth = kernel.flops / 2 / total;
    }
    if (kernel.kind == OrtKernelClass::Recurrent && node != nullptr) {  // a step: [batch, size] × [size, width]
      kernel.rows = number_at(node->input(0), 1);
      kernel.width = number_at(node->input(2), 1);
      kernel.depth = number_at(node->input(2), 2);
    }
    if (kernel.kind == OrtKernelClass::Small) kernel.bytes = kernel.weight_bytes = 0;
    if (kernel.kind == OrtKernelClass::ResizeCubic && provider_.has_cubic_lines)
      kernel.bytes = cubic_resize_bytes(*this, *node);
    if (node != nullptr && !is_product(kernel.kind)) kernel.width = ort_row_width(*this, kernel.kind, *node);
    launch(kernel);
  }

  const OrtProvider& provider_;
  const std::int64_t block_;
  std::vector<Idiom> idioms_;
  std::vector<const NodeReport*> row_of_;
  const OrtLoading loading_;
  std::vector<bool> constant_;
  const OrtIntegers integers_;
  std::set<ValueId> normed_;       // operands of norms that the file writes as several nodes
  std::set<std::int32_t> joined_;  // nodes fused into the kernel before them
  OrtKernels result_;
};

}  // namespace

OrtKernels ort_cpu_kernels(const Model& model, const Analysis& analysis, double channel_block) {
  return ort_kernels(model, analysis, cpu_provider(static_cast<int>(channel_block)));
}

OrtKernels ort_kernels(const Model& model, const Analysis& analysis, const OrtProvider& provider) {
  OrtKernels kernels = OrtLowering(model, analysis, provider).run();
  kernels.activation_bytes = static_cast<double>(
      plan_memory(model, analysis, {.bindings = {}, .in_place = true, .reorder = false, .arena = false}).peak_bytes);
  return kernels;
}

}  // namespace pagoda::inline core
