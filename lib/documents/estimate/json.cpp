// Writes and reads pagoda.estimate/1: each part lists its members once, for both directions.
#include <algorithm>
#include <span>

#include "estimate/json_parts.h"
#include "pagoda/base/files.h"

namespace pagoda::documents {
namespace {

using namespace members;

constexpr const char* kSchema = "pagoda.estimate/1";
constexpr std::string_view kExpected = "an estimate, as onnx-estimate MODEL --format json writes it";

constexpr std::pair<Container, std::string_view> kContainers[] = {{Container::Sequence, "sequence("},
                                                                  {Container::Optional, "optional("},
                                                                  {Container::OptionalSequence, "optional(sequence("},
                                                                  {Container::Map, "map("},
                                                                  {Container::SequenceOfMaps, "sequence(map("},
                                                                  {Container::SparseTensor, "sparse_tensor("}};

bool set_type(TensorType& type, std::string_view name) {
  for (const auto& [container, opening] : kContainers)
    // "optional(" is also a prefix of "optional(sequence(", but the rest is then not an element type.
    if (name.starts_with(opening) && name.ends_with(')')) {
      std::string_view element =
          name.substr(opening.size(), name.find(')') < opening.size() ? 0 : name.find(')') - opening.size());
      std::optional<ElementType> key;
      if (const std::size_t comma = element.find(','); comma != std::string_view::npos && opening.ends_with("map(")) {
        key = element_type(element.substr(0, comma));
        if (!key) continue;
        element.remove_prefix(comma + 1);
      }
      if (const auto found = element_type(element)) {
        type.container = container;
        type.element = *found;
        type.key = key.value_or(ElementType::Undefined);
        return true;
      }
    }
  const auto found = element_type(name);
  if (found) type.element = *found;
  return found.has_value();
}

template <typename A>
void model(A& a, typename A::template Ref<EstimateModel> x) {
  a("path", x.path);
  a("name", x.name);
  a("ir_version", x.ir_version);
  a.object("opsets", Layout::Line, [&](A& inner) {
    if constexpr (A::kReads) {
      inner.each_member(
          [&](const std::string& domain, const JsonField& version) { inner.read(version, x.opsets[domain]); });
    } else {
      inner.entries(x.opsets);
    }
  });
  a("producer", x.producer);
  a("nodes", x.nodes);
  a("functions", x.functions);
}

template <typename A, typename Doc>
void bindings(A& a, Doc& x) {
  a.object("bindings", Layout::Line, [&](A& inner) {
    if constexpr (A::kReads) {
      inner.each_member([&](const std::string& name, const JsonField& value) {
        if (value.value().is_text())
          inner.read(value, x.renamed[name]);
        else
          inner.read(value, x.bindings[name]);
      });
    } else {
      inner.entries(x.bindings);
      for (const auto& [name, identifier] : x.renamed)
        if (!x.bindings.contains(name)) inner.json().member(name, identifier);
    }
  });
}

template <typename A>
void totals(A& a, typename A::template Ref<EstimateTotals> x) {
  row(a, columns_of(RowKind::Total, View::Json), {.counts = &x.counts});
  a("intensity", x.intensity);
  a("activation_peak_bytes", x.activation_peak_bytes);
  a("unmodelled_nodes", x.unmodelled_nodes);
  a("unmodelled_ops", x.unmodelled_ops);
  a("partial", x.partial);
  part(a, "at_load", Layout::Line, x.at_load,
       [](A& inner, auto& counts) { row(inner, columns_of(RowKind::AtLoad, View::Json), {.counts = &counts}); });
}

template <typename A>
void phase_of(A& a, typename A::template Ref<EstimatePhase> x) {
  a("name", x.phase);
  a("tokens", x.tokens);
  a("cache_bytes_per_token", x.cache_bytes_per_token);
  a("bytes_per_token", x.bytes_per_token);
  a("sequence_tokens", x.sequence_tokens);
  part(a, "speculated", Layout::Line, x.speculated, [](A& inner, auto& speculated) {
    inner("tokens", speculated.tokens);
    inner("acceptance", speculated.acceptance);
    inner("tokens_per_step", speculated.tokens_per_step);
  });
  a.maybe("user_tokens_per_second", x.user_tokens_per_second);
  a.maybe("device_tokens_per_second", x.device_tokens_per_second);
  if constexpr (A::kReads) x.is_timed = a.all().has("tokens_per_second");
  if (x.is_timed) a("tokens_per_second", x.tokens_per_second);
}

// All members except "schema" and the rows, which `rows` writes or reads in their place.
template <typename A, typename Doc, typename Rows>
void document(A& a, Doc& x, const Rows& rows) {
  a.maybe("tool", x.tool);
  a.object("model", Layout::Block, [&](A& inner) { model(inner, x.model); });
  bindings(a, x);
  a("count", x.count);
  a.maybe("precision", x.precision);
  a.object("totals", Layout::Block, [&](A& inner) { totals(inner, x.totals); });
  rows();
  part(a, "symbolic", Layout::Block, x.symbolic, [](A& inner, auto& symbolic) {
    fields(inner, symbolic.totals);
    inner.maybe("activation_peak_bytes", symbolic.activation_peak_bytes);
  });
  if (A::kReads || !x.symbols.empty())
    a.list("symbols", x.symbols, [](A& inner, auto& symbol) {
      inner("name", symbol.name);
      inner("node", symbol.node);
      inner("cause", symbol.cause);
      inner("upper", symbol.upper);
    });
  part(a, "memory", Layout::Block, x.memory, memory<A>);
  part(a, "phase", Layout::Line, x.phase, phase_of<A>);
  part(a, "traffic", Layout::Block, x.traffic, traffic<A>);
  part(a, "roofline", Layout::Block, x.roofline, roofline<A>);
  part(a, "fit", Layout::Line, x.fit, fit<A>);
  part(a, "measured", Layout::Line, x.measured, [](A& inner, auto& run) {
    inner("source", run.source);
    inner("seconds", run.seconds);
    inner("shortest", run.shortest);
    inner("longest", run.longest);
    inner("joules", run.joules);
    inner("bound_share", run.bound_share);
  });
  if (A::kReads || !x.advice.empty())
    a.list("advice", x.advice, [](A& inner, auto& each) {
      inner("change", each.change);
      inner.maybe("traffic", each.traffic);
      inner.maybe("precision", each.precision);
      inner.maybe("batch", each.batch);
      inner("seconds", each.seconds);
      inner("gain", each.gain);
    });
  const auto variants = columns_of(RowKind::Variant, View::Json);
  if (A::kReads || !x.variants.empty())
    a.list("variants", x.variants, [&](A& inner, auto& variant) { row(inner, variants, {.variant = &variant}); });
  part(a, "training", Layout::Block, x.training, training<A>);
  part(a, "sweep", Layout::Block, x.sweep, [&](A& inner, auto& sweep) {
    // A writer leaves out what no point has.
    if constexpr (A::kReads) {
      sweep_of(inner, sweep, columns_of(RowKind::Point, View::Json));
    } else {
      sweep_of(inner, sweep, columns_of(RowKind::Point, View::Json, x));
    }
  });
  if constexpr (A::kReads) {
    if (a.has("budgets")) x.budgets.emplace();
  }
  if (x.budgets)
    a.list("budgets", *x.budgets, [](A& inner, auto& result) {
      inner("budget", result.budget.kind);
      inner("limit", result.budget.text);
      inner("verdict", result.verdict);
      inner("value", result.value);
      inner("causes", result.causes);
    });
  a.list("diagnostics", x.diagnostics, [](A& inner, auto& diagnostic) {
    inner("severity", diagnostic.severity);
    inner("node", diagnostic.node);
    inner("message", diagnostic.message);
  });
}

}  // namespace

namespace members {

template <typename A>
void output(A& a, typename A::template Ref<OutputInfo> x) {
  a("name", x.name);
  if constexpr (A::kReads) {
    std::string type;
    a("type", type);
    if (!type.empty() && !set_type(x.type, type)) a.all().at("type").fail_expected("a type");
  } else {
    a("type", type_name(x.type));
  }
  a("shape", x.type.shape);
}

template void output(Writer& a, const OutputInfo& x);
template void output(Reader& a, OutputInfo& x);

}  // namespace members

std::string type_name(const TensorType& type) {
  std::string text(to_string(type.element));
  if (type.key != ElementType::Undefined) text.insert(0, std::string(to_string(type.key)) + ",");
  for (const auto& [container, opening] : kContainers)
    if (container == type.container) {
      const auto depth = std::count(opening.begin(), opening.end(), '(');
      return std::string(opening) + text + std::string(static_cast<std::size_t>(depth), ')');
    }
  return text;
}

std::string write_estimate(const EstimateDocument& estimate, std::size_t top) {
  constexpr std::size_t kUsualRow = 768;  // most rows are shorter; memory that is reserved and not used costs nothing
  JsonWriter json;
  json.reserve(kUsualRow * std::min(top == 0 ? SIZE_MAX : top, estimate.nodes.size()));
  Writer writer(json);
  json.begin_object();
  json.member("schema", kSchema);
  document(writer, estimate, [&] {
    const auto columns = columns_of(estimate.types ? RowKind::Type : RowKind::Node, View::Json, estimate);
    const auto write_type = [&](Writer& inner, const EstimateType& type) {
      row(inner, columns, {.type = &type, .counts = &type.counts});
    };
    const auto write_node = [&](Writer& inner, const EstimateNode& node) {
      row(inner, columns, {.node = &node, .counts = &node.counts});
    };
    if (estimate.types)
      writer.list("types",
                  std::span(*estimate.types).first(std::min(top == 0 ? SIZE_MAX : top, estimate.types->size())),
                  write_type);
    else if (top == 0)
      writer.list("nodes", estimate.nodes, write_node);
    else
      writer.list("nodes", heaviest(estimate, top),
                  [&](Writer& inner, const EstimateNode* node) { write_node(inner, *node); });
  });
  json.end_object();
  return std::move(json).text();
}

EstimateDocument parse_estimate(std::string_view json, std::string_view subject) {
  EstimateDocument estimate;
  Unknown unknown{subject.size()};
  const auto node_columns = columns_of(RowKind::Node, View::Json), type_columns = columns_of(RowKind::Type, View::Json);
  const base::JsonDocument rest = base::parse_json_elements(
      json, subject, "nodes",
      [&](const JsonField& field, std::size_t) {
        Reader inner(field, unknown);
        const EstimateNode& node = estimate.nodes.emplace_back();
        row(inner, node_columns, {.node = &node, .counts = &node.counts});
        inner.finish();
      },
      false);
  if (rest.schema() != kSchema)
    base::fail(subject, std::string("expected \"schema\": \"") + kSchema +
                            "\"; write one with onnx-estimate MODEL --format json");
  const JsonField root = rest.root();
  Reader reader(root, unknown);
  std::string schema;
  reader("schema", schema);
  document(reader, estimate, [&] {
    if (!reader.has("types") && !reader.has("nodes")) base::fail(subject, "has no array \"nodes\"");
    std::vector<EstimateNode> read_above;
    reader.list("nodes", read_above, [](Reader&, EstimateNode&) {});
    if (reader.has("types"))
      reader.list("types", estimate.types.emplace(), [&](Reader& inner, const EstimateType& type) {
        row(inner, type_columns, {.type = &type, .counts = &type.counts});
      });
  });
  reader.finish();
  estimate.unknown.assign(unknown.paths.begin(), unknown.paths.end());
  return estimate;
}

EstimateDocument load_estimate(const std::string& path) {
  return parse_estimate(base::read_file(path, kExpected), path);
}

}  // namespace pagoda::documents
