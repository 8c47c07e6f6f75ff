// The table of columns. A column's place in the table is its place in every output, unless `after()` says otherwise:
// files and Python keep the order in which columns were added.
#include "pagoda/documents/columns.h"

#include <algorithm>
#include <functional>
#include <string>

#include "estimate/json_parts.h"
#include "pagoda/base/text.h"
#include "pagoda/core/conventions.h"

namespace pagoda::documents {
namespace {
namespace table {

using members::Reader;
using members::Writer;

// A part with members of its own, which only JSON has as one value.
template <typename T>
concept Object = requires(Writer& json, const T& value) {
  members::fields(json, value);
};

// Values as cells.
using documents::to_cell;
Cell to_cell(const Name& value) { return value.view(); }
Cell to_cell(const std::string& value) { return std::string_view(value); }
Cell to_cell(double value) { return value; }
Cell to_cell(bool value) { return value; }
template <std::integral T>
Cell to_cell(T value) {
  return Int{value};
}
Cell to_cell(std::int32_t index) { return index < 0 ? Cell() : Cell(Int{index}); }
Cell to_cell(ElementType value) { return value == ElementType::Undefined ? Cell() : Cell(to_string(value)); }
template <typename T>
requires std::is_enum_v<T> Cell to_cell(T value) { return to_string(value); }
template <Object T>
Cell to_cell(const T&) {
  return {};
}
template <typename T>
Cell to_cell(const std::optional<T>& value) {
  return value ? to_cell(*value) : Cell();
}
Cell to_cell(const base::SmallVector<Name, 2>& values) {
  return std::vector<std::string>(values.begin(), values.end());
}
Cell to_cell(const std::vector<Fusion>& values) {
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const Fusion value : values) texts.emplace_back(to_string(value));
  return texts;
}
Cell to_cell(const std::vector<std::size_t>& values) { return std::vector<Int>(values.begin(), values.end()); }

template <typename T>
struct Member;
template <typename C, typename T>
struct Member<T C::*> {
  using Class = C;
  using Type = T;
};

template <typename T>
const T* part(const Row& row) {
  if constexpr (std::is_same_v<T, EstimateNode>) return row.node;
  if constexpr (std::is_same_v<T, EstimateGroup>) return row.kernel;
  if constexpr (std::is_same_v<T, EstimateType>) return row.type;
  if constexpr (std::is_same_v<T, EstimateCounts>) return row.counts;
  if constexpr (std::is_same_v<T, EstimateFormulas>) return row.symbolic;
  if constexpr (std::is_same_v<T, RowBound>) return row.bound;
  if constexpr (std::is_same_v<T, EstimateTraining::Node>) return row.training;
  if constexpr (std::is_same_v<T, EstimateTraining::Row>) return row.step_row;
  if constexpr (std::is_same_v<T, RooflineTotals>) return row.run;
  if constexpr (std::is_same_v<T, EstimatePoint>) return row.point;
  if constexpr (std::is_same_v<T, EstimateVariant> || std::is_same_v<T, EstimateFit>) return row.variant;
}

// A member of one of the row's parts. A double of a bound is known only if the bound is; a run of which no row has a
// time has none.
template <auto M, bool kIsAlwaysKnown>
struct Stored {
  using Class = typename Member<decltype(M)>::Class;
  using Type = typename Member<decltype(M)>::Type;
  static constexpr bool kIsObject = requires(const Type& value) { requires Object<std::decay_t<decltype(*value)>>; };
  static constexpr bool kIsTime = std::is_same_v<Class, RowBound> && !std::is_enum_v<Type> && !std::is_integral_v<Type>;

  static bool is_known(const Class& from) {
    if constexpr (kIsTime && !kIsAlwaysKnown) return from.bound != Bound::Unknown;
    if constexpr (std::is_same_v<Class, RooflineTotals>) return !from.at_least || from.seconds > 0;
    return true;
  }
  static Cell cell(const Row& row) {
    const Class* const from = part<Class>(row);
    return from == nullptr || !is_known(*from) ? Cell() : to_cell(from->*M);
  }
  static void write(Writer& json, const ResultColumn& column, const Row& row) {
    const Class* const from = part<Class>(row);
    if (from == nullptr) return;
    const Type& value = from->*M;
    if constexpr (kIsObject)
      members::structure(json, column.name, value);
    else if constexpr (std::is_same_v<Type, double>)
      json.known(column.name, value, is_known(*from));
    else if constexpr (std::is_same_v<Type, ElementType>)
      put(json, column, value == ElementType::Undefined ? std::nullopt : std::optional(value));
    else if constexpr (std::is_same_v<Class, RooflineTotals> && std::is_integral_v<Type>)
      put(json, column, is_known(*from) ? documents::Count(value) : documents::Count());
    else if constexpr (std::is_same_v<Type, std::int32_t>)
      put(json, column, value < 0 ? documents::Count() : documents::Count(value));
    else
      put(json, column, value);
  }
  static void read(Reader& json, const ResultColumn& column, const Row& row) {
    auto* const to = const_cast<Class*>(part<Class>(row));  // of the document that is being read
    if (to == nullptr) return;
    if constexpr (kIsObject)
      members::structure(json, column.name, to->*M);
    else
      json(column.name, to->*M);
  }

 private:
  template <typename T>
  static void put(Writer& json, const ResultColumn& column, const T& value) {
    if constexpr (members::kIsOptional<T> || requires { value.empty(); })
      column.is_left_out ? json.maybe(column.name, value) : json(column.name, value);
    else
      json(column.name, value);
  }
};

template <auto M, bool kIsAlwaysKnown = false>
constexpr Access stored = {Stored<M, kIsAlwaysKnown>::cell, Stored<M, kIsAlwaysKnown>::write,
                           Stored<M, kIsAlwaysKnown>::read};

void write_cell(Writer& json, const ResultColumn& column, const Row& row) {
  const Cell cell = column.cell(row);
  const double* const value = std::get_if<double>(&cell);
  const Int* const count = whole(cell);
  if (count != nullptr)
    json(column.name, *count);
  else
    json(column.name, value == nullptr ? std::nullopt : std::optional(*value));
}
void skip(Reader& json, const ResultColumn& column, const Row&) { json.derived(column.name, 0); }

// A number that follows from the row's members.
constexpr Access derived(Cell (*cell)(const Row&)) { return {cell, write_cell, skip}; }

// "float32[1,3,224,224]"; "float32" if the rank is unknown.
std::string type_text(const TensorType& type) {
  std::string text = type_name(type);
  if (!type.shape) return text;
  text += '[';
  for (const Dim& dim : *type.shape) text.append(text.back() == '[' ? "" : ",").append(dim.to_string());
  return text += ']';
}

// The outputs of a node.
Cell output_texts(const Row& row) {
  std::vector<std::string> texts;
  for (const OutputInfo& output : row.node->outputs) texts.push_back(output.name + ":" + type_text(output.type));
  return texts;
}
void write_outputs(Writer& json, const ResultColumn& column, const Row& row) {
  json.list(column.name, row.node->outputs, members::output<Writer>);
}
void read_outputs(Reader& json, const ResultColumn& column, const Row& row) {
  json.list(column.name, const_cast<EstimateNode*>(row.node)->outputs, members::output<Reader>);
}

// A member of a point that it has only with times.
template <auto M>
struct OfRun {
  static Cell cell(const Row& row) { return row.run == nullptr ? Cell() : Stored<M, false>::cell(row); }
  static void write(Writer& json, const ResultColumn& column, const Row& row) {
    if (row.run != nullptr) Stored<M, false>::write(json, column, row);
  }
};
template <auto M>
constexpr Access of_run = {OfRun<M>::cell, OfRun<M>::write, Stored<M, false>::read};

// amount / divisor; empty if either is unknown or the divisor is not positive.
Cell ratio(const std::optional<double>& amount, const std::optional<double>& divisor) {
  return amount && divisor && *divisor > 0 ? Cell(*amount / *divisor) : Cell();
}
// A rate of a variant, at the time by which it compares with the others.
template <auto M>
Cell compared(const Row& row) {
  return ratio(at_compared_seconds(row.estimate->variants, *row.variant, row.variant->*M), 1.0);
}
Cell compared_price(const Row& row) {
  return ratio(row.variant->price_per_million, at_compared_seconds(row.estimate->variants, *row.variant, 1.0));
}
// The time bound of a point or of its run.
std::optional<double> run_seconds(const Row& row) {
  return row.run == nullptr ? std::nullopt : std::optional(row.run->seconds);
}
// The same with one launch a kernel, where the device states what a launch takes.
std::optional<double> launched_seconds(const Row& row) {
  return row.run == nullptr ? std::nullopt : std::optional(row.run->launched_seconds());
}
// Operations per second of a point.
Cell bound_rate(const Row& row) { return ratio(real(row.counts->flops), run_seconds(row)); }
Cell measured_rate(const Row& row) { return ratio(real(row.counts->flops), row.point->measured_seconds); }
Cell published_rate(const Row& row) {
  return row.estimate->sweep->has_measurements ? measured_rate(row) : bound_rate(row);
}

// A part of a training step.
bool is_gradient(const Row& row) {
  const std::string_view name = kTrainingParts[row.index].first;
  return name == "dx" || name == "dw";
}
Cell of_part(const Row& row, const Count& count) { return to_cell(count.at_least(row.estimate->training->partial)); }
Cell times_forward(const Row& row) {
  const bool is_macs = row.estimate->count == Convention::Macs;
  const auto work = [&](const EstimateCounts& counts) { return is_macs ? counts.macs : counts.plain_flops(); };
  return ratio(real(work(*row.counts)), real(work(row.estimate->training->forward)));
}
Cell part_note(const Row& row) {
  const EstimateTraining& training = *row.estimate->training;
  const std::string_view name = kTrainingParts[row.index].first;
  if (name == "dx") return std::string_view("gradients of activations");
  if (name == "dw") return std::string_view("gradients of parameters");
  if (name == "optimizer") return to_string(training.optimizer);
  if (name == "recomputed") return to_string(training.recompute);
  if (name == "step" && training.time) return "time ≥ " + base::si_seconds(training.time->seconds);
  return std::string_view();
}

// A member of a member of the row's part, through optional ones.
template <typename T>
Cell follow(const T& value) {
  return to_cell(value);
}
template <typename T, typename Next, typename... Rest>
Cell follow(const std::optional<T>& value, Next next, Rest... rest) {
  return value ? follow((*value).*next, rest...) : Cell();
}
template <auto M, auto... Rest>
Cell inner(const Row& row) {
  return follow(part<typename Member<decltype(M)>::Class>(row)->*M, Rest...);
}

Cell fits_text(const Row& row) {
  if (!row.variant->refused.empty()) return std::string_view("cannot split");
  if (!row.estimate->cannot_run.empty()) return std::string_view("cannot run");
  if (!row.variant->fits) return {};
  return std::string_view(*row.variant->fits ? "fits" : "does not fit");
}
// "1.2 ms", or "(part) 1.2 ms" if some rows are not known.
Cell bound_text(const std::optional<double>& seconds, bool is_part) {
  return (is_part ? "(part) " : "") + (seconds ? base::si_seconds(*seconds) : std::string("?"));
}
// "8", or "8: 4 tensor, 2 pipeline" unless it is the tensor split alone.
std::string split_text(const ParallelOptions& devices) {
  std::string text = std::to_string(devices.devices());
  if (devices.tensor == devices.devices()) return text;
  const std::pair<std::int64_t, const char*> parts[] = {
      {devices.tensor, "tensor"}, {devices.pipeline, "pipeline"}, {devices.expert, "expert"}};
  const char* before = ": ";
  for (const auto& [count, name] : parts) {
    if (count == 1) continue;
    text += before + std::to_string(count) + " " + name;
    before = ", ";
  }
  return text;
}

// `part` in percent of the same count of the model.
template <auto M>
Cell percent_of_total(const Row& row) {
  const Count &part = row.counts->*M, total = (row.kernel ? row.estimate->moved() : row.estimate->totals.counts).*M;
  if (!part || !total || *total == 0) return {};
  return 100.0 * static_cast<double>(*part) / static_cast<double>(*total);
}

// The backward pass of a node; null if it is not modelled.
const EstimateTraining::Node* backward(const Row& row) {
  return row.training == nullptr || !row.training->problem.empty() ? nullptr : row.training;
}
// A member or a function of the work of one kind of gradients: dx of activations, dw of parameters.
template <auto Part, auto Value>
Cell backward_of(const Row& row) {
  return backward(row) == nullptr ? Cell() : to_cell(std::invoke(Value, row.training->*Part));
}
Count moved_bytes(const EstimateCounts& work) { return work.bytes_read + work.bytes_written; }
template <std::size_t Part>
Cell step_seconds(const Row& row) {
  const RowBound* const bound = row.step[Part];
  return bound == nullptr || bound->bound == Bound::Unknown ? Cell() : Cell(bound->seconds);
}

// Conditions.
bool is_timed(const EstimateDocument& estimate) { return estimate.roofline.has_value(); }
bool has_placement(const EstimateDocument& estimate) { return !estimate.placement.empty(); }
Cell place_text(const Row& row, std::string EstimatePlacement::Node::* text) {
  const bool is_node = row.estimate != nullptr && row.node != nullptr;
  const EstimatePlacement::Node* const place = is_node ? row.estimate->place_of(*row.node) : nullptr;
  return place == nullptr || (place->*text).empty() ? Cell() : Cell(place->*text);
}
bool has_kernels(const EstimateDocument& estimate) { return estimate.traffic.has_value(); }
bool is_training(const EstimateDocument& estimate) { return estimate.training.has_value(); }
bool is_partial(const EstimateDocument& estimate) { return estimate.totals.partial; }
bool is_whole(const EstimateDocument& estimate) { return !estimate.totals.partial; }
bool has_flops(const EstimateDocument& estimate) { return estimate.count != Convention::Macs; }
bool is_published(const EstimateDocument& estimate) { return is_published(estimate.count); }
bool is_not_published(const EstimateDocument& estimate) { return !is_published(estimate.count); }

// Sizes that the data decide make counts lower bounds.
bool has_bounds(const EstimateDocument& estimate) { return !estimate.symbols.empty(); }
Cell lower_bounds(const Row& row);

using enum RowKind;
using enum CellKind;

// Of a sweep: whether a point has the member.
template <auto M>
bool any_point(const EstimateDocument& estimate) {
  return estimate.sweep &&
         std::ranges::any_of(estimate.sweep->points, [](const EstimatePoint& point) { return (point.*M).has_value(); });
}
constexpr auto has_run = any_point<&EstimatePoint::time>, has_items = any_point<&EstimatePoint::items>;
bool has_users(const EstimateDocument& estimate) {
  return has_run(estimate) && estimate.phase && estimate.phase->sequence_tokens;
}
bool has_capacity(const EstimateDocument& estimate) { return estimate.sweep && estimate.sweep->device_bytes; }
bool has_joules(const EstimateDocument& estimate) { return estimate.sweep && estimate.sweep->has_joules; }
bool has_predictions(const EstimateDocument& estimate) { return estimate.sweep && estimate.sweep->has_predictions; }
bool is_measured(const EstimateDocument& estimate) { return estimate.sweep && estimate.sweep->has_measurements; }

// Of variants.
template <auto M>
bool has_of_variants(const EstimateDocument& estimate) {
  return std::ranges::any_of(estimate.variants, [](const EstimateVariant& each) { return (each.*M).has_value(); });
}
template <auto M>
bool differs(const EstimateDocument& estimate) {
  return std::ranges::any_of(estimate.variants,
                             [&](const EstimateVariant& each) { return each.*M != estimate.variants.front().*M; });
}
constexpr auto has_groups = has_of_variants<&EstimateVariant::parallel>,
               has_engine = has_of_variants<&EstimateVariant::predicted>;
bool has_no_groups(const EstimateDocument& estimate) { return !has_groups(estimate); }
bool has_several(const EstimateDocument& estimate) {
  return std::ranges::any_of(estimate.variants, [](const EstimateVariant& each) { return each.devices() > 1; });
}
// Beside numbers of devices, columns that are alike in all rows stand above the table.
template <auto M>
bool shows(const EstimateDocument& estimate) {
  return !has_groups(estimate) || differs<M>(estimate);
}
bool has_limits(const EstimateDocument& estimate) {
  return has_of_variants<&EstimateVariant::largest_batch>(estimate) ||
         has_of_variants<&EstimateVariant::longest_context>(estimate);
}
bool has_engine_of_phase(const EstimateDocument& estimate) { return has_engine(estimate) && estimate.phase; }
bool has_engine_of_several(const EstimateDocument& estimate) { return has_engine(estimate) && has_several(estimate); }

using Condition = bool (*)(const EstimateDocument& estimate);

// A row of the table, written as a sentence: column(…).listed(…).shown(…).
struct Entry : ResultColumn {
  template <typename T>
  constexpr Entry with(T ResultColumn::*member, const T& value) const {
    Entry entry = *this;
    entry.*member = value;
    return entry;
  }
  constexpr Entry in(View output, RowKinds rows) const {
    Entry entry = *this;
    entry.kinds[static_cast<std::size_t>(output)] = rows;
    return entry;
  }
  constexpr Entry json(RowKinds rows) const { return in(View::Json, rows); }
  constexpr Entry left_out_if_empty() const { return with(&ResultColumn::is_left_out, true); }
  // In CSV and Python.
  constexpr Entry listed(RowKinds rows) const { return in(View::Csv, rows).in(View::Python, rows); }
  constexpr Entry shown(RowKinds rows, const Terminal& how, Condition condition = nullptr) const {
    return in(View::Terminal, rows).with(&ResultColumn::terminal, how).with(&ResultColumn::when_in_terminal, condition);
  }
  constexpr Entry if_any() const {
    Entry entry = *this;
    entry.terminal.is_sparse = true;
    return entry;
  }
  constexpr Entry of_choice() const { return with(&ResultColumn::is_choice, true); }
  constexpr Entry compared() const { return in(View::Comparison, RowKind::Node | RowKind::Kernel); }
  constexpr Entry labelled(const char* text) const {
    return in(View::Viewer, RowKind::Node).with(&ResultColumn::label, text);
  }
  constexpr Entry only_if(Condition condition, const char* cure = nullptr) const {
    return with(&ResultColumn::when, condition).with(&ResultColumn::remedy, cure);
  }
  constexpr Entry follows(View output, const char* column) const {
    Entry entry = *this;
    entry.after[static_cast<std::size_t>(output)] = column;
    return entry;
  }
};

constexpr Entry column(const char* name, CellKind kind, Access value, const char* meaning) {
  Entry entry;
  static_cast<Access&>(entry) = value;
  entry.name = name;
  entry.kind = kind;
  entry.meaning = meaning;
  return entry;
}
constexpr Entry column(const char* name, CellKind kind, Cell (*cell)(const Row&), const char* meaning) {
  return column(name, kind, Access{cell}, meaning);
}

// A column of dots. The page's script computes its cells. The script and links to a sorted page find it by its name.
constexpr Entry of_dots(const char* name, CellKind kind, const char* header, const char* meaning) {
  return column(name, kind, Access{}, meaning).shown(Dot, {header});
}

constexpr const char *kFirst = "", *kNeedsDevice = "needs `device`", *kNeedsProvider = "needs `provider`",
                     *kNeedsPrediction = "needs `predict`, of an engine that is predicted node by node",
                     *kNeedsRun = "needs `measured`, a profile whose kernels join the nodes";
constexpr RowKinds kCounted = Node | Kernel | Type, kSummed = kCounted | Total, kAnyPoint = Point | PublishedPoint,
                   kTimes = NodeTime | KernelTime | StepTime;

// clang-format off
constexpr ResultColumn kColumns[] = {
    // Which row it is.
    column("index", Number, stored<&EstimateNode::index>, "Place in the order of execution.").json(Node).listed(Node).shown(Node, {"#", 1}),
    column("index", Number, derived([](const Row& row) { return to_cell(row.index); }), "Place in the list of kernels.").json(Kernel).listed(Kernel).shown(Kernel, {"#", 1}),
    column("index", Number, stored<&RowBound::row>, "Index of the node or kernel.").json(NodeTime | KernelTime),
    column("node", Number, stored<&EstimateTraining::Row::node>, "Index of the node; of the optimizer, of the last one.").json(StepTime),
    column("part", Text, stored<&EstimateTraining::Row::part>, "forward, recomputed, dx, dw or optimizer.").json(StepTime),
    column("shown_name", Text, [](const Row& row) -> Cell { return row.node->body.empty() ? row.shown_name() : row.node->body + "/" + row.shown_name(); },
           "The name, else that of the first output, after the bodies that contain the node.")
        .shown(Node, {"node", 0, 16}),
    column("name", Text, stored<&EstimateNode::name>, "Name in the file; may be empty or repeat.").json(Node).listed(Node | Part),
    column("kernel", Text, [](const Row& row) -> Cell { return row.shown_name(); }, "Name of the kernel's heaviest node.").listed(Kernel).shown(Kernel, {"kernel", 0, 16}).follows(View::Python, "ops"),
    column("ops", Text, [](const Row& row) -> Cell { return row.operators(); }, "Operators of the kernel's nodes.").listed(Kernel).shown(Kernel, {"ops", 0, 12}).follows(View::Python, "nodes"),
    column("op_type", Text, stored<&EstimateNode::op_type>, "Operator.").json(Node).listed(Node | Part),
    column("domain", Text, stored<&EstimateNode::domain>, "Domain of the operator; the default one is spelled ai.onnx.").json(Node).listed(Node),
    column("op_type", Text, stored<&EstimateType::op_type>, "Operator.").json(Type).listed(Type),
    column("domain", Text, stored<&EstimateType::domain>, "Domain of the operator; the default one is spelled ai.onnx.").json(Type).listed(Type),
    column("operator", Text, [](const Row& row) -> Cell { return row.operators(); }, "Operator, with its domain unless that is ai.onnx.").shown(Node, {"op", 0, 10}),
    column("operator", Text, [](const Row& row) -> Cell { return row.operators(); }, "Operator, with its domain unless that is ai.onnx.").shown(Type, {"op", 0, 16}),
    column("nodes", Number, stored<&EstimateType::nodes>, "Number of its nodes.").json(Type).listed(Type).shown(Type, {"nodes"}),
    column("unmodelled_nodes", Number, stored<&EstimateType::unmodelled_nodes>, "Number of its nodes that are not modelled.").json(Type).listed(Type),
    column("scope", Text, stored<&EstimateNode::scope>, "Functions, branches and loops that contain it, then the module path that the exporter recorded.").json(Node).listed(Node),
    column("inputs", Texts, stored<&EstimateNode::inputs>, "Names of values; empty for an omitted one.").json(Node).listed(Node),
    column("outputs", Texts, Access{output_texts, write_outputs, read_outputs}, "Names, types and shapes of values.").json(Node).listed(Node),
    column("output_type", Text, [](const Row& row) -> Cell { return row.node->outputs.empty() ? std::string() : type_text(row.node->outputs[0].type); }, "Type and shape of the first output.").shown(Node, {"output", 9, 20}),
    column("nodes", Texts,
           [](const Row& row) -> Cell {
             std::vector<std::string> names;
             for (const EstimateNode* node : row.nodes()) names.push_back(node->shown_name());
             return names;
           },
           "Names of the kernel's nodes.")
        .in(View::Csv, Kernel),
    column("nodes", Texts, stored<&EstimateGroup::nodes>, "Indices of the kernel's nodes.").json(Kernel).in(View::Python, Kernel),

    // Work and traffic.
    column("macs", Count, stored<&EstimateCounts::macs>, "Multiply-accumulates of contractions.")
        .json(kSummed | AtLoad | Part | Backward | Point).listed(kSummed | AtLoad | Part | Point)
        .compared().shown(kCounted | Point, {"MACs"}, has_flops).labelled("MACs").follows(View::Viewer, "flops"),
    column("arith", Count, stored<&EstimateCounts::arith>, "Additions, multiplications and comparisons outside contractions.")
        .json(kSummed | AtLoad | Part | Backward).listed(kSummed | AtLoad | Part)
        .compared().labelled("Arithmetic"),
    column("special", Count, stored<&EstimateCounts::special>, "Evaluations of exp, sqrt, tanh and the like.").json(kSummed | AtLoad | Part | Backward).listed(kSummed | AtLoad | Part).compared().labelled("Special functions"),
    column("comparisons", Count, stored<&EstimateCounts::comparisons>, "Comparisons, which `arith` includes.").json(kSummed).listed(kSummed | Part).compared().follows(View::Comparison, "seconds").labelled("Comparisons"),
    column("flops", Count, stored<&EstimateCounts::flops>, "Operations by the requested convention.")
        .json(kSummed | AtLoad | Part | Point).listed(kSummed | AtLoad | Part | kAnyPoint)
        .compared().shown(kCounted | Point, {"FLOPs"}).labelled("FLOPs").follows(View::Viewer, "measured_seconds"),
    column("flops_percent", Percent, percent_of_total<&EstimateCounts::flops>, "Share of the model's operations.").shown(kCounted, {"%", 2, 0, "-"}, is_whole),
    column("modelled_flops_percent", Percent, percent_of_total<&EstimateCounts::flops>, "Share of the operations of all modelled nodes.").shown(kCounted, {"% of modelled", 2, 0, "-"}, is_partial),
    column("params", Count, stored<&EstimateCounts::params>, "Elements of the weights that this row is the first to use.").json(kSummed).listed(kSummed | Part).compared().shown(kCounted, {"params", 6}).labelled("Parameters"),
    column("param_bytes", Bytes, stored<&EstimateCounts::param_bytes>, "Their stored bytes.")
        .json(kSummed | Point).listed(kSummed | Part | kAnyPoint)
        .compared().shown(kCounted, {"param bytes", 5}, is_published).labelled("Parameter bytes"),
    column("bytes_read", Bytes, stored<&EstimateCounts::bytes_read>, "Bytes read from memory.")
        .json(kSummed | Part | Backward | Point).listed(kSummed | Part | Point)
        .compared().shown(kCounted, {"read", 5}, is_not_published).labelled("Bytes read"),
    column("bytes_written", Bytes, stored<&EstimateCounts::bytes_written>, "Bytes written to memory.")
        .json(kSummed | Part | Backward | Point).listed(kSummed | Part | Point)
        .compared().shown(kCounted, {"written", 4}, is_not_published).labelled("Bytes written"),
    column("bytes", Bytes, stored<&EstimateCounts::bytes>, "Both together.").json(kSummed | Point).listed(kSummed | Part | kAnyPoint).compared().shown(kCounted, {"bytes", 4}, is_published).labelled("Bytes"),
    column("bytes_percent", Percent, percent_of_total<&EstimateCounts::bytes>, "Share of the model's bytes.").shown(kCounted, {"% bytes", 7, 0, "-"}),
    column("intensity", Intensity, derived([](const Row& row) { return to_cell(row.counts->intensity()); }), "Operations per byte.")
        .json(kCounted).listed(kCounted | Part).shown(kCounted, {"FLOP/B", 3, 0, "-"}).labelled("FLOPs per byte"),

    // Facts of a node or kernel.
    column("precision", Text, stored<&EstimateNode::precision>, "Type in which the work is done.").json(Node).listed(Node),
    column("mark", Text, stored<&EstimateNode::mark>, "compute, or why nothing is counted: view, host, folded, unmodelled.").json(Node).listed(Node),
    column("on", Text, [](const Row& row) -> Cell { return place_text(row, &EstimatePlacement::Node::on); }, "Where the first requested provider of ONNX Runtime puts the node: provider, cpu, or gone before it is asked (folded, fused).").listed(Node).shown(Node, {"on", 0, 0, ""}).labelled("Runs on").only_if(has_placement, kNeedsProvider),
    column("part", Number, [](const Row& row) -> Cell { const auto* place = row.estimate->place_of(*row.node); return place == nullptr || place->part < 0 ? Cell() : Cell(Int{place->part}); }, "The part of the provider's nodes that it is in; no path through the CPU separates one.").listed(Node).shown(Node, {"part", 3, 0, ""}).only_if(has_placement),
    column("reason", Text, [](const Row& row) -> Cell { return place_text(row, &EstimatePlacement::Node::reason); }, "Why it is not on the provider.").listed(Node).shown(Node, {"reason", 0, 0, ""}).only_if(has_placement),
    column("problem", Text, stored<&EstimateNode::problem>, "Why counts are not known.").json(Node).left_out_if_empty().listed(Node),
    column("saved_bytes", Bytes, stored<&EstimateGroup::saved_bytes>, "Bytes that its nodes pass on inside the kernel.")
        .json(Kernel).listed(Kernel).shown(Kernel, {"saved", 8, 0, "?", true}).follows(View::Terminal, "predicted_percent"),
    column("rule", Text, stored<&EstimateGroup::rule>, "Why its nodes run together.").json(Kernel).follows(View::Json, "index").listed(Kernel).shown(Kernel, {"rule", 9}).follows(View::Terminal, "saved_bytes"),

    // The least time on the device.
    column("flops", Count, stored<&RowBound::flops, true>, "Operations.").json(StepTime),
    column("bytes", Bytes, stored<&RowBound::bytes, true>, "Bytes.").json(StepTime),
    column("group", Number, stored<&RowBound::group>, "Index of the kernel that runs the node; null if it runs nothing.").json(NodeTime),
    column("bound", Text, stored<&RowBound::bound>, "What bounds the time: compute, memory, latency, none, unknown.")
        .json(kTimes)
        .listed(Node | Kernel | Part).shown(Node | Kernel, {"bound"}).follows(View::Csv, "memory_seconds").follows(View::Python, "memory_seconds").follows(View::Terminal, "share")
        .only_if(is_timed),
    column("seconds", Seconds, stored<&RowBound::seconds>, "Least time on the device.")
        .json(kTimes).listed(Node | Kernel | Part).compared().shown(Node | Kernel, {"time ≥"}).labelled("Time at least").follows(View::Viewer, kFirst)
        .only_if(is_timed, kNeedsDevice),
    column("seconds", Seconds, stored<&EstimateType::seconds>, "Least time on the device, of all nodes of the type.").json(Type).left_out_if_empty().listed(Type).shown(Type, {"time ≥", 0, 0, ""}).only_if(is_timed),
    column("compute_seconds", Seconds, stored<&RowBound::compute_seconds>, "Least time of the arithmetic.")
        .json(kTimes).listed(Node | Kernel | Part).labelled("Compute at least").follows(View::Viewer, "seconds")
        .only_if(is_timed, kNeedsDevice),
    column("memory_seconds", Seconds, stored<&RowBound::memory_seconds>, "Least time of the traffic.")
        .json(kTimes).listed(Node | Kernel | Part).labelled("Memory at least").follows(View::Viewer, "compute_seconds")
        .only_if(is_timed, kNeedsDevice),
    column("share", Share, stored<&RowBound::share>, "Share of the time of all kernels.").json(NodeTime | KernelTime).listed(Node | Kernel).shown(Node | Kernel, {"% time", 1, 0, ""}).only_if(is_timed),
    column("share", Share,
           [](const Row& row) -> Cell {
             const double total = row.estimate->roofline->totals.seconds;
             return row.type->seconds && total > 0 ? Cell(*row.type->seconds / total) : Cell();
           },
           "Share of the time of all kernels.")
        .shown(Type, {"% time", 1, 0, ""})
        .only_if(is_timed),
    column("headroom", Factor, stored<&RowBound::headroom>, "How many times faster it could be if what bounds it vanished.")
        .json(NodeTime | KernelTime).listed(Node | Kernel).shown(Node | Kernel, {"up to", 6, 0, ""})
        .only_if(is_timed),

    column("flops", Count, stored<&RowBound::flops>, "Operations at the precision of the bound.").json(NodeTime | KernelTime),
    column("bytes", Bytes, stored<&RowBound::bytes>, "Bytes at the precision of the bound.").json(NodeTime | KernelTime),
    column("intensity", Intensity, stored<&RowBound::intensity>, "Their ratio.").json(NodeTime | KernelTime),
    column("precision", Text, stored<&RowBound::precision>, "Precision of the peak.").json(kTimes),

    // The engine's time.
    column("predicted_seconds", Seconds, [](const Row& row) { return to_cell(row.predicted_seconds); }, "Time that the engine's calibration predicts.")
        .listed(kCounted).shown(kCounted, {"predicted ≈", 0, 0, "", true}).labelled("Time predicted").follows(View::Viewer, "memory_seconds")
        .only_if(has_predicted_rows, kNeedsPrediction),
    column("predicted_percent", Share,
           [](const Row& row) -> Cell {
             const double seconds = row.predicted_seconds.value_or(0), total = *row.estimate->roofline->predicted->seconds;
             return seconds > 0 && total > 0 ? Cell(seconds / total) : Cell();
           },
           "Share of the predicted time of the run.")
        .shown(kCounted, {"% of it", 1, 0, ""})
        .only_if(has_predicted_rows),
    column("measured_seconds", Seconds, [](const Row& row) { return to_cell(row.measured_seconds); }, "Time of the measured kernels that join the node.")
        .labelled("Time measured").follows(View::Viewer, "predicted_seconds")
        .only_if(nullptr, kNeedsRun),

    // The node in a training step.
    column("dx_macs", Count, backward_of<&EstimateTraining::Node::dx, &EstimateCounts::macs>, "Multiply-accumulates of the gradients of activations.").listed(Node).only_if(is_training),
    column("dx_flops", Count, backward_of<&EstimateTraining::Node::dx, &EstimateCounts::plain_flops>, "Their operations.").listed(Node).only_if(is_training),
    column("dx_bytes", Bytes, backward_of<&EstimateTraining::Node::dx, moved_bytes>, "Bytes that they move.").listed(Node).only_if(is_training),
    column("dw_macs", Count, backward_of<&EstimateTraining::Node::dw, &EstimateCounts::macs>, "Multiply-accumulates of the gradients of parameters.").listed(Node).only_if(is_training),
    column("dw_flops", Count, backward_of<&EstimateTraining::Node::dw, &EstimateCounts::plain_flops>, "Their operations.").listed(Node).only_if(is_training),
    column("dw_bytes", Bytes, backward_of<&EstimateTraining::Node::dw, moved_bytes>, "Bytes that they move.").listed(Node).only_if(is_training),
    column("gradient_bytes", Bytes, [](const Row& row) {
             const EstimateTraining::Node* const node = row.training;
             return node == nullptr ? Cell() : to_cell(node->gradient_bytes + node->parameter_gradient_bytes);
           },
           "Bytes of its gradients.")
        .listed(Node).only_if(is_training),
    column("backward_flops", Count,
           [](const Row& row) {
             const EstimateTraining::Node* const node = backward(row);
             return node == nullptr ? Cell() : to_cell(node->dx.plain_flops() + node->dw.plain_flops());
           },
           "Operations of its backward pass.")
        .shown(Node, {"backward", 1}).only_if(is_training),
    column("kept_bytes", Bytes, stored<&EstimateTraining::Node::saved_bytes>, "Bytes that the forward pass keeps for the backward pass.").listed(Node).shown(Node, {"saved", 2}).only_if(is_training),
    column("recomputed", Flag, stored<&EstimateTraining::Node::recomputed>, "Whether the backward pass runs the node again.").listed(Node).only_if(is_training),
    column("forward_seconds", Seconds, step_seconds<0>, "Least time of the forward pass in the step.").listed(Node).only_if(is_training),
    column("dx_seconds", Seconds, step_seconds<1>, "Least time of the gradients of activations.").listed(Node).only_if(is_training),
    column("dw_seconds", Seconds, step_seconds<2>, "Least time of the gradients of parameters.").listed(Node).only_if(is_training),

    // Formulas of its counts.
    column("macs_formula", Formula, stored<&EstimateFormulas::macs>, "`macs` with free dims as symbols.").listed(kCounted),
    column("flops_formula", Formula, stored<&EstimateFormulas::flops>, "`flops` with free dims as symbols.").listed(kCounted),
    column("bytes_formula", Formula, stored<&EstimateFormulas::bytes>, "`bytes` with free dims as symbols.").listed(kCounted),

    column("symbolic", Formula, stored<&EstimateNode::symbolic>, "Formulas of macs, flops and bytes.").json(Node).left_out_if_empty(),
    column("symbolic", Formula, stored<&EstimateGroup::symbolic>, "Formulas of macs, flops and bytes.").json(Kernel).left_out_if_empty(),
    column("symbolic", Formula, stored<&EstimateType::symbolic>, "Formulas of macs, flops and bytes.").json(Type).left_out_if_empty(),

    // A point of a sweep.
    column("ai", Intensity, stored<&EstimatePoint::intensity>, "Operations per byte.").in(View::Csv, PublishedPoint).follows(View::Csv, kFirst),
    column("perf", Rate, published_rate, "Operations per second: measured, else at the time bound.").in(View::Csv, PublishedPoint).follows(View::Csv, "ai"),
    column("bytes", Bytes, stored<&EstimateCounts::bytes>, "Bytes read and written.").shown(Point, {"bytes"}),
    column("param_fraction", Ratio, [](const Row& row) { return ratio(real(row.counts->param_bytes), real(row.counts->bytes)); }, "Share of parameters in the bytes.").in(View::Csv, PublishedPoint),
    column("intensity", Intensity, stored<&EstimatePoint::intensity>, "Operations per byte.").json(Point).listed(Point).shown(Point, {"FLOP/B"}),
    column("activation_peak_bytes", Bytes, stored<&EstimatePoint::activation_peak_bytes>, "Peak of live activations.").json(Point).listed(Point),
    column("memory_bytes", Bytes, stored<&EstimatePoint::memory_bytes>, "Weights and the activation peak; of a training step, all that it holds.").json(Point).listed(Point).shown(Point, {"memory"}),
    column("fits", Text,
           [](const Row& row) -> Cell {
             const documents::Count& needed = row.point->memory_bytes;
             if (!needed) return {};
             const bool fits = *needed <= *row.estimate->sweep->device_bytes;
             if (fits && (needed.is_at_least() || !row.estimate->unset.empty())) return {};
             return std::string_view(fits ? "yes" : "no");
           },
           "Whether that is at most the device's memory.")
        .shown(Point, {"fits"}).only_if(has_capacity),
    column("seconds", Seconds, stored<&RooflineTotals::seconds>, "Least time on the device.").json(Point | Run).listed(Point).shown(Point, {"time ≥"}).only_if(has_run),
    column("eager_seconds", Seconds, stored<&RooflineTotals::eager_seconds>, "Least time with one launch per kernel.").json(Point | Run).listed(Point).shown(Point, {"launched ≥", 2}).if_any().only_if(has_run),
    column("floor_seconds", Seconds, stored<&RooflineTotals::floor_seconds>, "Floor: no engine can be faster.").json(Point | Run).follows(View::Json, "seconds").listed(Point).only_if(has_run),
    column("compute_seconds", Seconds, stored<&RooflineTotals::compute_seconds>, "Least time of the arithmetic.").json(Point | Run).only_if(has_run),
    column("memory_seconds", Seconds, stored<&RooflineTotals::memory_seconds>, "Least time of the traffic.").json(Point | Run).only_if(has_run),
    column("launches", Number, stored<&RooflineTotals::launches>, "Kernels that run.").json(Point | Run).only_if(has_run),
    column("bound", Text, of_run<&EstimatePoint::bound>, "What bounds the time.").json(Point).follows(View::Json, "items").listed(Point).shown(Point, {"bound"}).follows(View::Terminal, "flops_per_second").only_if(has_run),
    column("flops_per_second", Rate, bound_rate, "Operations per second at the time bound.").listed(Point).shown(Point, {"FLOP/s ≤", 3}).follows(View::Terminal, "user_tokens_per_second").only_if(has_run),
    column("items", Size, of_run<&EstimatePoint::items>, "Items of a run: its batch, or tokens.").json(Point).listed(Point).only_if(has_run),
    column("items_per_second", Rate, [](const Row& row) { return ratio(real(row.point->items), run_seconds(row)); }, "Items per second at the time bound.").listed(Point).only_if(has_run),
    column("launched_items_per_second", Rate, [](const Row& row) { return ratio(real(row.point->items), launched_seconds(row)); }, "The same, with launches.").shown(Point, {"items/s ≤"}, has_items).only_if(has_run),
    column("user_tokens_per_second", Rate, [](const Row& row) { return ratio(real(row.estimate->phase->sequence_tokens), launched_seconds(row)); },
           "Tokens of one sequence per second, with launches.")
        .shown(Point, {"a user ≤"}).only_if(has_users),
    column("joules", Joules, stored<&EstimatePoint::joules>, "Energy at the time bound.").json(Point).listed(kAnyPoint).shown(Point, {"energy ≈", 1}).follows(View::Terminal, "predicted_items_per_second").only_if(has_joules),
    column("joules_per_item", Joules, [](const Row& row) { return ratio(row.point->joules, real(row.point->items)); }, "Energy of an item.")
        .shown(Point, {"J an item ≈", 4}, has_items).follows(View::Terminal, "joules").only_if(has_joules),
    column("predicted_seconds", Seconds, stored<&EstimatePoint::predicted_seconds>, "Time that the engine's calibration predicts.").json(Point).listed(kAnyPoint).shown(Point, {"predicted"}).only_if(has_predictions),
    column("predicted_low", Seconds, stored<&EstimatePoint::predicted_low>, "Lower end of its interval.").json(Point).listed(kAnyPoint).only_if(has_predictions),
    column("predicted_high", Seconds, stored<&EstimatePoint::predicted_high>, "Upper end of its interval.").json(Point).listed(kAnyPoint).only_if(has_predictions),
    column("predicted_items_per_second", Rate, [](const Row& row) { return ratio(real(row.point->items), row.point->predicted_seconds); },
           "Items per predicted second.")
        .listed(kAnyPoint).shown(Point, {"items/s ≈", 1}, has_items).only_if(has_predictions),
    column("bound_perf", Rate, bound_rate, "Operations per second at the time bound.").in(View::Csv, PublishedPoint).only_if(is_measured),
    column("measured_seconds", Seconds, stored<&EstimatePoint::measured_seconds>, "Time of the fastest measured run.").json(Point).listed(kAnyPoint).shown(Point, {"measured", 0, 0, ""}).only_if(is_measured),
    column("measured_flops_per_second", Rate, measured_rate, "Operations per measured second.").listed(kAnyPoint).shown(Point, {"FLOP/s", 0, 0, ""}).only_if(is_measured),
    column("measured_bytes_per_second", Rate, [](const Row& row) { return ratio(real(row.counts->bytes), row.point->measured_seconds); }, "Bytes per measured second.").listed(kAnyPoint).only_if(is_measured),
    column("measured_joules", Joules, stored<&EstimatePoint::measured_joules>, "Measured energy.").json(Point).listed(kAnyPoint).only_if(is_measured),
    column("measured_flops_per_joule", Rate, [](const Row& row) { return ratio(real(row.counts->flops), row.point->measured_joules); },
           "Operations per measured joule.")
        .listed(kAnyPoint).shown(Point, {"FLOP/J", 0, 0, ""}).if_any().follows(View::Terminal, "bound_share").only_if(is_measured),
    column("bound_share", Portion, [](const Row& row) { return ratio(run_seconds(row), row.point->measured_seconds); },
           "Time bound over measured time.")
        .listed(kAnyPoint).shown(Point, {"of the bound", 0, 0, ""}, has_run).only_if(is_measured),

    // A part of a training step. Counts of an incomplete step are lower bounds.
    column("part", Text, [](const Row& row) -> Cell { return (is_gradient(row) ? "  " : "") + std::string(kTrainingParts[row.index].first); }, "Its name; dx and dw are parts of backward.").shown(Part, {"training step"}),
    column("macs", Count, [](const Row& row) { return of_part(row, row.counts->macs); }, "Multiply-accumulates of contractions.").shown(Part, {"MACs"}),
    column("plain_flops", Count, [](const Row& row) { return of_part(row, row.counts->plain_flops()); }, "Operations.").shown(Part, {"FLOPs"}, has_flops),
    column("bytes_read", Bytes, stored<&EstimateCounts::bytes_read>, "Bytes read from memory.").shown(Part, {"read"}),
    column("bytes_written", Bytes, stored<&EstimateCounts::bytes_written>, "Bytes written to memory.").shown(Part, {"written"}),
    column("times_forward", Ratio, times_forward, "Its operations over those of forward.").shown(Part, {"× forward", 0, 0, ""}),
    column("note", Text, part_note, "What it computes.").shown(Part, {""}),

    // A variant of the request.
    column("device", Text, stored<&EstimateVariant::device>, "Device, with its power mode.").json(Variant).listed(Variant).shown(Variant, {"device"}).of_choice(),
    column("split", Number, [](const Row& row) -> Cell { return split_text(row.variant->parallel.value_or(ParallelOptions{})); },
           "Number of devices, and how they share the model.")
        .shown(Variant, {"devices"}).only_if(has_groups).of_choice(),
    column("precision", Text, stored<&EstimateVariant::precision>, "Precision in place of the file's.").json(Variant).listed(Variant),
    column("precision_text", Text, [](const Row& row) -> Cell { return precision_text(*row.estimate, row.variant->traffic, row.variant->precision); }, "The same, or the file's own.").shown(Variant, {"precision"}, shows<&EstimateVariant::precision>).of_choice(),
    column("traffic", Text, stored<&EstimateVariant::traffic>, "Traffic model.").json(Variant).listed(Variant).shown(Variant, {"traffic", 1}, shows<&EstimateVariant::traffic>).of_choice(),
    column("total_bytes", Bytes, stored<&EstimateVariant::total_bytes>, "Memory of a run, on the device that needs the most.").json(Variant).listed(Variant).shown(Variant, {"memory"}),
    column("device_bytes", Bytes, stored<&EstimateVariant::device_bytes>, "Memory of a device.").json(Variant).listed(Variant).shown(Variant, {"of", 2}).of_choice(),
    column("fits", Flag, stored<&EstimateVariant::fits>, "Whether the first is at most the second.").json(Variant).listed(Variant),
    column("verdict", Text, fits_text, "The same in words.").shown(Variant, {"fits"}).of_choice(),
    column("seconds", Seconds, stored<&EstimateVariant::seconds>, "Least time of a run.").json(Variant).listed(Variant),
    column("seconds_text", Seconds, [](const Row& row) { return bound_text(row.variant->seconds, row.variant->is_part); }, "The same, marked if some rows are not known.").shown(Variant, {"time ≥"}),
    column("times_first", Ratio,
           [](const Row& row) {
             const std::vector<EstimateVariant>& all = row.estimate->variants;
             return ratio(compared_seconds(all, *row.variant), compared_seconds(all, all.front()));
           },
           "Its time over that of the first variant, with launches if those of all devices are known.")
        .shown(Variant, {"× first"}).only_if(has_no_groups),
    column("floor_seconds", Seconds, stored<&EstimateVariant::floor_seconds>, "Floor: no engine can be faster.")
        .json(Variant).listed(Variant).shown(Variant, {"floor ≥", 3}, has_no_groups).follows(View::Terminal, "bound"),
    column("at_least", Flag, stored<&EstimateVariant::is_part>, "Whether some rows are not known: the times are then of the others.").json(Variant).listed(Variant),
    column("bound", Text, stored<&EstimateVariant::bound>, "What bounds the time.").json(Variant).listed(Variant).shown(Variant, {"bound"}),
    column("items_per_second", Rate, stored<&EstimateVariant::items_per_second>, "Items or tokens per second, at most.").json(Variant).listed(Variant),
    column("compared_items_per_second", Rate, compared<&EstimateVariant::items_per_second>, "The same, with launches if those of all devices are known.").shown(Variant, {"items/s ≤"}),
    column("largest_batch", Size, stored<&EstimateVariant::largest_batch>, "Largest batch that still fits.").json(Variant).left_out_if_empty().listed(Variant).shown(Variant, {"most users"}, has_limits),
    column("longest_context", Size, stored<&EstimateVariant::longest_context>, "Longest context that still fits.").json(Variant).left_out_if_empty().listed(Variant).shown(Variant, {"longest context"}, has_limits),
    column("memory_context", Size, stored<&EstimateVariant::memory_context>, "Longest context that the memory alone holds.").json(Variant).left_out_if_empty().listed(Variant).follows(View::Csv, "refused"),
    column("position_table", Text, stored<&EstimateVariant::position_table>, "The table of positions that limits the context.").json(Variant).left_out_if_empty(),
    column("joules", Joules, stored<&EstimateVariant::joules>, "Energy of a run at the time bound.").json(Variant).left_out_if_empty().listed(Variant).shown(Variant, {"energy ≈"}).if_any(),
    column("price_per_million", Ratio, stored<&EstimateVariant::price_per_million>, "Price of a million items or tokens, at least.")
        .json(Variant).left_out_if_empty().listed(Variant),
    column("compared_price", Ratio, compared_price, "The same, with launches if those of all devices are known.")
        .shown(Variant, {"price of a million ≥", 0, 0, ""}).if_any()
        .follows(View::Terminal, "prompt_predicted_seconds"),
    column("predicted", Text, stored<&EstimateVariant::predicted>, "The prediction under the requested engine.").json(Variant).left_out_if_empty(),
    column("predicted_engine", Text, inner<&EstimateVariant::predicted, &EstimatePrediction::engine>, "The engine.").listed(Variant),
    column("predicted_seconds", Seconds, inner<&EstimateVariant::predicted, &EstimatePrediction::seconds>, "Time that its calibration predicts.").listed(Variant).shown(Variant, {"{engine} ≈"}).if_any(),
    column("predicted_bytes", Bytes, inner<&EstimateVariant::predicted, &EstimatePrediction::memory, &EngineMemory::bytes>, "Resident bytes that the engine adds to a process.").shown(Variant, {"process +"}).if_any(),
    column("predicted_low", Seconds, inner<&EstimateVariant::predicted, &EstimatePrediction::low>, "Lower end of its interval.").listed(Variant),
    column("predicted_high", Seconds, inner<&EstimateVariant::predicted, &EstimatePrediction::high>, "Upper end of its interval.").listed(Variant),
    column("parallel", Text, stored<&EstimateVariant::parallel>, "Numbers of devices by direction.").json(Variant).left_out_if_empty(),
    column("devices", Number, [](const Row& row) { return row.variant->parallel ? to_cell(row.variant->devices()) : Cell(); }, "Number of devices.").listed(Variant),
    column("tensor", Number, inner<&EstimateVariant::parallel, &ParallelOptions::tensor>, "Devices that split each tensor.").listed(Variant),
    column("pipeline", Number, inner<&EstimateVariant::parallel, &ParallelOptions::pipeline>, "Stages of the pipeline.").listed(Variant),
    column("expert", Number, inner<&EstimateVariant::parallel, &ParallelOptions::expert>, "Groups of experts.").listed(Variant),
    column("weight_bytes", Bytes, stored<&EstimateVariant::weight_bytes>, "Weights on the device that needs the most memory.")
        .json(Variant).left_out_if_empty().listed(Variant).shown(Variant, {"weights", 4}, has_groups).follows(View::Terminal, "traffic"),
    column("cache_bytes", Bytes, stored<&EstimateVariant::cache_bytes>, "Its part of the key-value cache.")
        .json(Variant).left_out_if_empty().listed(Variant).shown(Variant, {"cache", 4}, has_groups).follows(View::Terminal, "weight_bytes"),
    column("device_items_per_second", Rate, stored<&EstimateVariant::device_items_per_second>, "Items or tokens per second and device, at most.")
        .json(Variant).left_out_if_empty().listed(Variant),
    column("compared_device_items_per_second", Rate, compared<&EstimateVariant::device_items_per_second>, "The same, with launches if those of all devices are known.")
        .shown(Variant, {"a device ≤"}, has_several).follows(View::Terminal, "compared_items_per_second"),
    column("predicted_items_per_second", Rate, inner<&EstimateVariant::predicted, &EstimatePrediction::items_per_second>, "Items or tokens per predicted second.").listed(Variant).shown(Variant, {"items/s ≈"}, has_engine_of_phase),
    column("predicted_device_items_per_second", Rate, inner<&EstimateVariant::predicted, &EstimatePrediction::device_items_per_second>, "The same for each device.").listed(Variant).shown(Variant, {"a device ≈"}, has_engine_of_several),
    column("prompt_tokens", Size, inner<&EstimateVariant::prompt, &EstimatePrompt::tokens>, "Tokens of the prompt.").listed(Variant),
    column("prompt_seconds", Seconds, inner<&EstimateVariant::prompt, &EstimatePrompt::seconds>, "Least time of its prefill.").listed(Variant),
    column("prompt_text", Seconds,
           [](const Row& row) {
             const auto& prompt = row.variant->prompt;
             return prompt ? bound_text(prompt->seconds, prompt->at_least) : Cell();
           },
           "The same, marked if some rows are not known.")
        .shown(Variant, {"{prompt} ≥"}).if_any(),
    column("prompt_predicted_seconds", Seconds, inner<&EstimateVariant::prompt, &EstimatePrompt::predicted, &EstimatePrediction::seconds>, "Time of the prefill that the calibration predicts.")
        .listed(Variant).shown(Variant, {"{prompt} ≈"}).if_any(),
    column("prompt_predicted_low", Seconds, inner<&EstimateVariant::prompt, &EstimatePrompt::predicted, &EstimatePrediction::low>, "Lower end of its interval.").listed(Variant),
    column("prompt_predicted_high", Seconds, inner<&EstimateVariant::prompt, &EstimatePrompt::predicted, &EstimatePrediction::high>, "Upper end of its interval.").listed(Variant),
    column("refused", Text, stored<&EstimateVariant::refused>, "Why these devices cannot share the model.").json(Variant).left_out_if_empty().listed(Variant),
    column("prompt", Text, stored<&EstimateVariant::prompt>, "The prefill of a prompt.").json(Variant).left_out_if_empty(),
    column("launched_seconds", Seconds, stored<&EstimateVariant::launched_seconds>, "Least time with one launch per kernel.")
        .json(Variant).left_out_if_empty().listed(Variant).follows(View::Csv, "memory_context").shown(Variant, {"launched ≥", 2}).if_any().follows(View::Terminal, "times_first"),

    // A dot of a chart.
    of_dots("name", Text, "Operator", "The end of its name; hover for all of it."),
    of_dots("seconds", Seconds, "Time", "Measured, else the lower bound of its roofs; all rows in one unit."),
    of_dots("share", Share, "% time", "Part of the sum of all rows."),
    of_dots("limit", Text, "Limit", "What bounds it: M memory, C compute, L shorter than a launch, N neither roof is near."),
    of_dots("roof_share", Share, "% roof", "Its lower bound over its measured time."),
    of_dots("recoverable", Seconds, "Recoverable", "Measured: time above its lower bound. Estimated: its part of what its kernel saves when it is fused."),
    of_dots("type", Text, "Type", "Operator."),
    of_dots("count", Number, "Count", "Rows of the same work."),
    of_dots("cumulative", Share, "Σ %", "Of the time, with all rows above it when sorted by time."),
    of_dots("shape", Text, "Shape", "Of its first output."),
    of_dots("dtype", Text, "Precision", "In which its work is done."),
    of_dots("flops", Count, "FLOP", "Operations."),
    of_dots("bytes", Bytes, "Bytes", "To and from memory."),
    of_dots("intensity", Intensity, "FLOP/B", "Arithmetic intensity."),
    of_dots("rate", Rate, "FLOP/s", "Operations over time."),
    of_dots("bandwidth", Rate, "B/s", "Bytes over time."),

    // What terminals show last, and what came late into files.
    column("work_precision", Text, [](const Row& row) { return row.node->mark == Mark::Compute ? to_cell(row.node->precision) : Cell(); }, "Type in which counted work is done.").shown(Node, {"precision", 8, 0, ""}),
    column("remark", Text,
           [](const Row& row) -> Cell {
             if (row.node->mark != Mark::Compute) return to_string(row.node->mark);
             return std::string_view(row.node->problem.empty() ? "" : "partial");
           },
           "Why nothing, or not everything, is counted.")
        .shown(Node, {"mark"}),
    column("remark", Text,
           [](const Row& row) -> Cell {
             return row.type->unmodelled_nodes == 0 ? std::string() : std::to_string(row.type->unmodelled_nodes) + " unmodelled";
           },
           "How many of its nodes are not counted.")
        .shown(Type, {"mark"}),
    column("body", Text, stored<&EstimateNode::body>, "The functions, branches and loops alone; empty in the main graph.").follows(View::Json, "scope").json(Node).left_out_if_empty().listed(Node),
    column("dequantized_from", Text, stored<&EstimateNode::dequantized_from>, "Narrow type of a product's dequantised operands, in which an engine that folds quantisation multiplies.")
        .follows(View::Json, "precision").json(Node).left_out_if_empty().listed(Node),
    column("group", Number, stored<&EstimateNode::group>, "Index of the kernel that runs the node; null if it runs nothing.")
        .json(Node).follows(View::Json, "dequantized_from").listed(Node).follows(View::Python, "mark").only_if(has_kernels),
    column("joined_by", Texts, stored<&EstimateGroup::joined_by>, "Why each of its nodes joined the kernel.").json(Kernel).follows(View::Json, "nodes").listed(Kernel),
    column("peak_precision", Text, stored<&RowBound::precision>, "Precision of the peak.").listed(Node | Kernel).only_if(is_timed),
    column("unit", Text, stored<&RowBound::unit>, "Unit of the peak: vector or tensor.").json(kTimes).listed(Node | Kernel).only_if(is_timed),
    column("level", Text, stored<&RowBound::level>, "Slowest level of memory for it; empty without bytes.").json(NodeTime | KernelTime).listed(Node | Kernel).only_if(is_timed),
    column("lower_bounds", Texts, lower_bounds, "Columns whose counts are only lower bounds, because sizes that the data decide are taken as 1.").listed(kSummed | AtLoad | Part | kAnyPoint).only_if(has_bounds),
};
// clang-format on

Cell lower_bounds(const Row& row) {
  std::vector<std::string> names;
  for (const ResultColumn& column : kColumns) {
    const bool is_count = column.kind == CellKind::Count || column.kind == CellKind::Bytes;
    if (is_count && column.is_in(View::Csv, row.kind) && std::holds_alternative<AtLeast>(column.cell(row)))
      names.emplace_back(column.name);
  }
  return names;
}

// In few steps: compilers limit those of constant expressions.
constexpr bool is_well_formed() {
  for (const ResultColumn& column : kColumns) {
    for (const ResultColumn* other = kColumns; other != &column; ++other) {
      if (column.name[0] != other->name[0] || std::string_view(column.name) != other->name) continue;
      for (std::size_t output = 0; output < kOutputs; ++output)
        if ((other->kinds[output].bits & column.kinds[output].bits) != 0) return false;
    }
    for (std::size_t output = 0; output < kOutputs; ++output) {
      const std::string_view after = column.after[output] == nullptr ? "" : column.after[output];
      bool has_anchor = after.empty();
      for (const ResultColumn* other = kColumns; !has_anchor && other != std::end(kColumns); ++other)
        has_anchor = other->kinds[output].bits != 0 && after == other->name;
      if (!has_anchor) return false;
    }
  }
  return true;
}
static_assert(is_well_formed());  // names are unique in each output, and columns follow columns of the same output

}  // namespace table

}  // namespace

const Int* whole(const Cell& cell) {
  const auto* const bound = std::get_if<AtLeast>(&cell);
  return bound == nullptr ? std::get_if<Int>(&cell) : &bound->value;
}

Cell to_cell(const Count& count) {
  if (!count) return {};
  return count.is_at_least() ? Cell(AtLeast{*count}) : Cell(*count);
}

std::optional<double> number(const Cell& cell) {
  if (const Int* const value = whole(cell)) return static_cast<double>(*value);
  if (const double* const value = std::get_if<double>(&cell)) return *value;
  return std::nullopt;
}

std::string_view unit(CellKind kind) {
  constexpr std::pair<CellKind, std::string_view> kUnits[] = {{CellKind::Bytes, "B"},
                                                              {CellKind::Seconds, "s"},
                                                              {CellKind::Joules, "J"},
                                                              {CellKind::Intensity, "1/B"},
                                                              {CellKind::Percent, "%"}};
  for (const auto& [measure, unit] : kUnits)
    if (measure == kind) return unit;
  return "";
}

bool ResultColumn::is_timed() const { return when == table::is_timed; }

std::span<const ResultColumn> all_columns() { return table::kColumns; }

std::vector<const ResultColumn*> columns_of(RowKind kind, View output) {
  const auto at = static_cast<std::size_t>(output);
  std::vector<const ResultColumn*> list, moved;
  for (const ResultColumn& column : table::kColumns)
    if (column.is_in(output, kind)) (column.after[at] == nullptr ? list : moved).push_back(&column);
  // A column may follow one that is itself moved.
  for (std::size_t left = moved.size() + 1; !moved.empty() && left > moved.size();) {
    left = moved.size();
    std::erase_if(moved, [&](const ResultColumn* column) {
      const std::string_view after = column->after[at];
      const auto place = std::ranges::find(list, after, &ResultColumn::name);
      if (place == list.end() && !after.empty()) return false;
      list.insert(after.empty() ? list.begin() : place + 1, column);
      return true;
    });
  }
  list.insert(list.end(), moved.begin(), moved.end());
  return list;
}

std::vector<const ResultColumn*> columns_of(RowKind kind, View output, const EstimateDocument& estimate,
                                            bool has_formulas) {
  std::vector<const ResultColumn*> list = columns_of(kind, output);
  std::erase_if(list, [&](const ResultColumn* column) {
    const bool is_formula = column->kind == CellKind::Formula && output != View::Json;
    return (column->when != nullptr && !column->when(estimate)) || (is_formula && !has_formulas) ||
           (output == View::Terminal && column->when_in_terminal != nullptr && !column->when_in_terminal(estimate));
  });
  return list;
}

}  // namespace pagoda::documents
