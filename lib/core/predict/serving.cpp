// The kernels of a step under a serving engine, derived from the rows of one device.
#include "pagoda/core/serving.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/index.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/core/memory.h"
#include "parallel/split.h"
#include "predict/engines.h"
#include "predict/graph_facts.h"

namespace pagoda::inline core {
namespace {

// Assumed: up to this many new tokens per sequence, as to verify a draft, engines use the decoding kernel.
constexpr double kFewTokens = 8;

// Between the up and down projections of a layer.
constexpr std::string_view kActivations[] = {"FastGelu", "Gelu", "Mul", "Relu", "SwiGLU"};
// Pass an operand on as it is.
constexpr std::string_view kPassing[] = {"Cast", "Identity", "Reshape"};

class ServingLowering : Links {
 public:
  ServingLowering(const Model& model, const Share& share, const ServingRates& rates, const LinkRate& link,
                  const ServingKernels& kernels)
      : Links(model.main(), share.analysis),
        share_(share),
        rates_(rates),
        link_(link),
        kernels_(kernels),
        constant_(constant_values(model, share.analysis)),
        cache_(find_kv_cache(model, share.analysis)),
        heads_(graph().outputs.begin(), graph().outputs.end()) {
    for (const CachePair& pair : cache_.pairs) heads_.erase(pair.present);
    const std::set<ValueId> outputs = heads_;
    for (const ValueId output : outputs)
      if (is_written_by(output, "Cast")) heads_.insert(writing(output)->input(0));
  }

  ServingTime lower() {
    refuse_states();
    time_.has_cache = !cache_.pairs.empty();
    for (std::size_t row = 0; row < analysis().nodes.size(); ++row)
      if (analysis().nodes[row].graph == 0 && analysis().nodes[row].cost.mark == Mark::Compute)
        lower_row(static_cast<std::int32_t>(row));
    for (const auto& [input, product] : products_)
      add("product", product.row, product_seconds(product.size, rates_, kernels_));
    for (const Collective& each : share_.collectives) {
      double bytes = number(each.bytes) * engine_width(each.row);
      if (each.kind == CollectiveKind::AllGather) bytes /= positions_;  // only the last position
      add(to_string(each.kind), each.row, collective_seconds(each.kind, bytes, each.devices, link_, rates_, kernels_));
    }
    if (products_.empty())
      throw Error("`engine=llm-serving`: the model has no product with a weight that it could time");
    std::ranges::stable_sort(time_.kernels, {}, &ServingKernel::row);
    for (const ServingKernel& kernel : time_.kernels) time_.seconds += kernel.seconds;
    return std::move(time_);
  }

 private:
  struct Product {
    std::int32_t row = 0;
    ProductSize size;
  };

  // The sizes of a value; empty if unknown.
  const Shape& shape(ValueId value) const {
    static const Shape kNone;
    const Shape* known = Links::shape(value);
    return known == nullptr ? kNone : *known;
  }
  // Engines send floats as bfloat16, whatever type the analysis has: the ratio of the two widths.
  double engine_width(std::int32_t row) const {
    const ElementType element = type(graph().node(analysis().nodes[index(row)].node).output(0));
    return is_float(element) ? 16.0 / bits(element) : 1;
  }
  double last(ValueId value) const { return shape(value).empty() ? 1 : number(shape(value).back()); }
  double elements(ValueId value) const { return number(element_count(shape(value))); }

  void add(std::string_view kind, std::int32_t row, double seconds) { time_.kernels.push_back({kind, row, seconds}); }

  // A small kernel that only reads and writes activations; operators are fused as far as possible.
  void add_small(std::int32_t row, double bytes) {
    const ServingKernels::Kernel& c = kernels_.products;
    add("small", row,
        kernels_.small_seconds + bytes / (rates_.bandwidth * c.bandwidth) +
            bytes * c.unit_cycles_per_byte / (rates_.units * rates_.clock));
  }

  void lower_row(std::int32_t place) {
    const NodeReport& row = analysis().nodes[index(place)];
    const Node& node = graph().node(row.node);
    const OpKind kind = row.facts.kind;
    if (node.op_type == "MoE" || node.op_type == "QMoE") return mixture(place, node);
    if (kind == OpKind::Product) return product(place, row, node);
    if (kind == OpKind::Attention && row.cost.macs != Dim(0)) return attention(place, node);
    const bool is_norm = (kind == OpKind::Norm && row.facts.rows != RowAxes::Softmax) || node.op_type == "ReduceMean";
    // A norm reads its operand and the residual, and writes its result and the residual: 4 tensors of 2 bytes.
    if (is_norm && node.input(0) != kAbsent) return add_small(place, 8 * elements(node.input(0)));
    const bool looks_up = node.op_type == "Gather" && node.input(0) != kAbsent && graph().is_stored(node.input(0)) &&
                          shape(node.input(0)).size() == 2 && is_float(type(node.input(0)));
    if (looks_up) add_small(place, 4 * elements(node.output(0)));
  }

  // Stored bytes; floats wider than 2 bytes are kept in 2.
  double weight_bytes(const Node& node, const WeightProduct& form) const {
    double bytes = 0;
    std::vector<int> places = form.per_block;
    places.push_back(form.weight);
    for (const int place : places) {
      const ValueId value = node.input(index(place));
      if (value == kAbsent) continue;
      const ElementType element = type(value);
      const int width = is_float(element) ? std::min(bits(element), 16) : bits(element);
      bytes += elements(value) * width / 8;
    }
    return bytes;
  }

  void product(std::int32_t place, const NodeReport& row, const Node& node) {
    if (node.input(0) == kAbsent || node.input(1) == kAbsent) return;
    const auto form = constant_[index(node.input(1))] && !constant_[index(node.input(0))]
                          ? weight_product(node, row.facts, shape(node.input(1)).size())
                          : std::nullopt;
    if (!form) return scores(place, node);
    const double n = last(node.output(0)), k = last(node.input(0));
    double m = elements(node.input(0)) / k;
    if (heads_.contains(node.output(0))) {
      const Shape& tokens = shape(node.input(0));
      positions_ = tokens.size() == 3 ? number(tokens[1]) : 1;
      m /= positions_;
      add_small(place, 2 * m * n);  // picks the next token
    }
    // Products that share an operand run as one, whatever views lie between.
    Product& product = products_[source(node.input(0))];
    if (product.size.n == 0) product = {.row = place, .size = {.m = m, .n = 0, .k = k}};
    const bool is_narrow = precision_of(row.cost.precision) == Precision::Float8;
    product.size.n += n;
    product.size.is_float8 = is_narrow;
    product.size.weight_bytes += weight_bytes(node, *form);
    const double operand = product.size.other_bytes == 0 ? (is_narrow ? 1 : 2) * m * k : 0;
    product.size.other_bytes += operand + 2 * m * n;
    // The activation between the up and down projections.
    const Node* before = writing(node.input(0));
    if (before != nullptr && is_one_of(before->op_type, kActivations) && k != hidden_) add_small(place, 6 * m * k);
    if (hidden_ == 0) hidden_ = k;
  }

  // Kernels that carry a state instead of keys and values were not measured.
  void refuse_states() const {
    for (const CachePair& pair : cache_.pairs)
      if (pair.axis == CachePair::kState)
        throw Error(cat("`engine=llm-serving`: ", graph().value(pair.past).name,
                        " is a state of linear attention, a state-space model or a convolution, whose kernels it was "
                        "not fitted to; without `predict` there is the bound"));
  }

  ValueId source(ValueId value) const {
    for (int looks = 0; looks < 4; ++looks) {
      const Node* from = writing(value);
      if (from == nullptr || !is_one_of(from->op_type, kPassing)) break;
      value = from->input(0);
    }
    return value;
  }

  // Two products of activations, around a softmax, are one attention.
  void scores(std::int32_t place, const Node& node) {
    const Shape& out = shape(node.output(0));
    if (out.size() < 3) return;
    if (!pending_) {
      pending_ = node.input(0);
      pending_keys_ = number(out.back());
      return;
    }
    const Shape& query = shape(*pending_);
    AttentionSize size{
        .batch = number(query[0]), .tokens = number(query[query.size() - 2]), .size = number(query.back())};
    size.heads = number(element_count(query)) / (size.batch * size.tokens * size.size);
    size.past = std::max(pending_keys_ - size.tokens, 0.0);
    const auto has_heads = [&](const CachePair& pair) { return shape(pair.past).size() == 4 && pair.axis == 2; };
    const auto pair = std::find_if(cache_.pairs.begin(), cache_.pairs.end(), has_heads);
    size.kv_heads = pair == cache_.pairs.end() ? size.heads : number(shape(pair->past)[1]);
    pending_.reset();
    add_attention(place, size);
  }

  void attention(std::int32_t place, const Node& node) {
    const ValueId query = node.input(0), out = node.output(0);
    const bool has_heads = shape(query).size() == 4;
    const ValueId present = node.output(1) != kAbsent ? node.output(1) : node.input(1);
    if (present == kAbsent || shape(present).size() != 4 || node.op_type == "PagedAttention")
      throw Error(cat("`engine=llm-serving`: ", node.op_type, " ", display_name(graph(), node),
                      " has no cache [batch, heads, tokens, size] to take its sizes from"));
    const Shape& keys = shape(present);
    AttentionSize size{.batch = number(shape(query)[0]),
                       .tokens = number(shape(query)[has_heads ? 2 : 1]),
                       .kv_heads = number(keys[1]),
                       .size = number(keys[3])};
    size.heads = has_heads ? number(shape(query)[1]) : last(out) / size.size;
    size.past = std::max(number(keys[2]) - size.tokens, 0.0);
    size.window = static_cast<double>(std::max<std::int64_t>(node.integer("local_window_size", 0), 0));
    size.cache_width = std::min(bits(type(present)), 16) / 8.0;
    add_attention(place, size);
  }

  void add_attention(std::int32_t place, AttentionSize size) {
    const double rows = size.batch * size.tokens * size.size;
    add_small(place, 4 * rows * (size.heads + size.kv_heads));  // rotates queries and keys: 2 bytes read, 2 written
    size.decodes = size.past > 0 && size.tokens <= kFewTokens;
    add("attention", place, attention_seconds(size, rates_, kernels_));
  }

  void mixture(std::int32_t place, const Node& node) {
    const Shape& weights = shape(node.input(2));
    MixtureSize size{
        .hidden = last(node.input(0)), .experts = number(weights[0]), .k = static_cast<double>(node.integer("k", 1))};
    const NodeReport& row = analysis().nodes[index(place)];
    size.groups = number(shape(node.input(1)).back()) / size.experts;
    const double tokens = elements(node.input(0)) / size.hidden;
    size.tokens = tokens * size.groups;
    size.inner = number(row.cost.macs) / (tokens * size.k * 3 * size.hidden);
    const double stored = number(row.param_bytes) / (size.experts * 3 * size.hidden * size.inner);
    size.weight_width = std::min(stored, 2.0);
    add("mixture", place, mixture_seconds(size, rates_, kernels_));
  }

  const Share& share_;
  const ServingRates& rates_;
  const LinkRate& link_;
  const ServingKernels kernels_;
  std::vector<bool> constant_;
  KvCache cache_;
  std::set<ValueId> heads_;              // values that become an output other than a cache, directly or through a Cast
  std::map<ValueId, Product> products_;  // by operand
  std::optional<ValueId> pending_;       // queries of an attention whose second product is yet to come
  double pending_keys_ = 0, positions_ = 1, hidden_ = 0;
  ServingTime time_;
};

}  // namespace

// Coefficients are cycles, exponents or fractions of a rate.
CoefficientRows coefficient_rows(ServingKernels& c) {
  CoefficientRows rows = {{"kernels.small.seconds", &c.small_seconds}};
  const auto product = [&](const char* object, ServingKernels::Kernel& of) {
    add_rows(rows, object,
             {{"launch_cycles", &of.launch_cycles},
              {"feed", &of.feed, kAmount},
              {"bandwidth", &of.bandwidth},
              {"small", &of.small},
              {"norm", &of.norm},
              {"tile_cycles", &of.tile_cycles},
              {"ramp_cycles", &of.ramp_cycles},
              {"unit_cycles_per_byte", &of.unit_cycles_per_byte, kAmount}});
  };
  const auto kernel = [&](const char* object, ServingKernels::Kernel& of) {
    add_rows(rows, object,
             {{"launch_cycles", &of.launch_cycles},
              {"feed", &of.feed, kAmount},
              {"bandwidth", &of.bandwidth},
              {"norm", &of.norm}});
  };
  product("kernels.products.", c.products);
  product("kernels.products_float8.", c.products_float8);
  kernel("kernels.prefill_attention.", c.prefill_attention);
  kernel("kernels.mixtures.", c.mixtures);
  ServingKernels::Kernel& decode = c.decode_attention;
  add_rows(rows, "kernels.decode_attention.",
           {{"launch_cycles", &decode.launch_cycles},
            {"bandwidth", &decode.bandwidth},
            {"unit_cycles_per_byte", &decode.unit_cycles_per_byte, kAmount},
            {"per_block_cycles", &decode.per_block_cycles},
            {"block_cycles_per_byte", &decode.block_cycles_per_byte, kPositive, {}, Presence::Optional},
            {"split_cycles", &decode.split_cycles, kPositive, {}, Presence::Optional}});
  ServingKernels::AllReduce& reduce = c.all_reduces;
  add_rows(rows, "kernels.all_reduces.",
           {{"one_shot_cycles", &reduce.one_shot_cycles},
            {"one_shot", &reduce.one_shot},
            {"two_shot_cycles", &reduce.two_shot_cycles},
            {"two_shot", &reduce.two_shot},
            {"in_switch_cycles", &reduce.in_switch_cycles, kPositive, {}, Presence::Optional},
            {"in_switch", &reduce.in_switch, kPositive, {}, Presence::Optional}});
  add_rows(rows, "kernels.ring_all_reduces.",
           {{"launch_cycles", &c.ring_all_reduces.launch_cycles},
            {"hop_cycles", &c.ring_all_reduces.hop_cycles},
            {"bandwidth", &c.ring_all_reduces.bandwidth}});
  add_rows(rows, "kernels.collectives.",
           {{"launch_cycles", &c.collectives.launch_cycles}, {"bandwidth", &c.collectives.bandwidth}});
  return rows;
}

CoefficientRows coefficient_rows(ServingPower& power) {
  return {{"watts", &power.watts},
          {"flops_per_second", &power.flops_per_second},
          {"flops_per_cycle", &power.flops_per_cycle}};
}

ServingKernels serving_kernels(const Calibration& calibration, const DeviceSpec& device) {
  const Calibration::Set* set = set_for(calibration.sets, device.compute_capability);
  ServingKernels kernels;
  read_coefficients(set == nullptr ? calibration.coefficients : set->coefficients, coefficient_rows(kernels));
  return kernels;
}

ServingTime predict_serving(const Model& model, const Share& share, const DeviceSpec& device, const LinkRate& link,
                            const Calibration& calibration) {
  std::string lacks;
  std::optional<ServingRates> rates = serving_rates(device, &lacks);
  if (!rates) throw Error(cat(device.id, " ", lacks, ", which calibration ", calibration.id, " needs"));
  rates->powered_part = powered_part(calibration, device);
  // Codes take 1/16 of such a memory (their source is in data/calibration/serving/fit.py), so at most 15 of 16 bytes
  // that it moves are data.
  const auto& coded = calibration.inline_codes;
  if (std::find(coded.begin(), coded.end(), device.id) != coded.end()) rates->bandwidth *= 15.0 / 16;
  return ServingLowering(model, share, *rates, link, serving_kernels(calibration, device)).lower();
}

namespace {

Prediction predict_step(const EngineRun& run) {
  const Calibration& fitted = run.calibration;
  std::string lacks;
  if (!serving_rates(run.device, &lacks)) return lacks_rates(run, lacks);
  const Share alone = run.share == nullptr ? share_of_device(run.model, run.analysis, {}) : Share();
  const Share& share = run.share == nullptr ? alone : *run.share;
  const ServingTime time = predict_serving(run.model, share, run.device, run.link, fitted);
  Prediction result{.seconds = time.seconds * run.overlap, .kernels = static_cast<std::int64_t>(time.kernels.size())};
  // The interval is for 16-bit products of decoders; no other device validates 8-bit ones.
  if (!time.has_cache)
    result.notes.emplace_back(
        "the model has no cache of keys and values, so it is no step of a decoder, to which llm-serving was fitted: no "
        "interval");
  const bool is_judged = time.has_cache && run.precision != Precision::Float8;
  set_interval(
      result, is_judged ? fitted.interval : std::nullopt, fitted.coverage,
      time.has_cache ? "no runs with 8-bit products judged the calibration" : "the model is no step of a decoder");
  return result;
}

constexpr Precision kServingPrecisions[] = {Precision::Bfloat16, Precision::Float16, Precision::Float8};
constexpr Precision kServingProducts[] = {Precision::Bfloat16, Precision::Float16};

}  // namespace

constinit const Engine kServing = {.id = "llm-serving",
                                   .what = "vLLM, SGLang, TensorRT-LLM: a step of a decoder, on one device or several",
                                   .schema = "pagoda.serving-calibration/1",
                                   .calibration = "llm-serving",
                                   .precisions = kServingPrecisions,
                                   .covers = "`predict` `engine=llm-serving` covers bf16, fp16 and fp8",
                                   .runs_on_groups = true,
                                   .fuses = true,
                                   .products = kServingProducts,
                                   .others = "shares the caches and applies the head to the last position only",
                                   .coefficients = rows_of<ServingKernels>,
                                   .powers = rows_of<ServingPower>,
                                   .predict = predict_step};

}  // namespace pagoda::inline core
