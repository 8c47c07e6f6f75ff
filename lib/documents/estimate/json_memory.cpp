// The memory plan and the traffic of kernels.
#include <algorithm>
#include <map>

#include "estimate/json_parts.h"

namespace pagoda::documents::members {

namespace {

// Tensors alive at the peak, by name. Names need not be unique: tensors inside bodies have empty ones.
template <typename A>
void peak_tensors(A& a, typename A::template Ref<EstimateMemory> x, std::vector<std::string>& names) {
  if constexpr (!A::kReads)
    for (const std::size_t tensor : x.peak_tensors) names.push_back(x.tensors[tensor].name);
  a("peak_tensors", names);
}

void find_peak_tensors(const Reader& reader, EstimateMemory& x, const std::vector<std::string>& names) {
  std::map<std::string_view, std::vector<std::size_t>> alive;  // at the peak, largest last
  for (std::size_t i = 0; i < x.tensors.size(); ++i) {
    const PlannedTensor& tensor = x.tensors[i];
    if (tensor.first_step <= x.peak_step && x.peak_step <= tensor.last_step) alive[tensor.name].push_back(i);
  }
  for (auto& [name, tensors] : alive)
    std::stable_sort(tensors.begin(), tensors.end(),
                     [&](std::size_t a, std::size_t b) { return x.tensors[a].bytes < x.tensors[b].bytes; });
  for (const std::string& name : names) {
    std::vector<std::size_t>& tensors = alive[name];
    if (tensors.empty()) reader.all().at("peak_tensors").fail_expected("names of tensors that are alive at the peak");
    x.peak_tensors.push_back(tensors.back());
    tensors.pop_back();
  }
}

template <typename A>
void cache(A& a, typename A::template Ref<KvCache> x) {
  a("bytes_per_token", x.bytes_per_token);
  a("past_bytes", x.past_bytes);
  a("shared_bytes", x.shared_bytes);
  a("separate_bytes", x.separate_bytes);
  a("written_bytes", x.written_bytes);
  a("copied_bytes", x.copied_bytes);
  std::size_t pairs = x.pairs.size();  // files state no more of them
  a("pairs", pairs);
  if constexpr (A::kReads) {
    constexpr std::size_t kMost = 1'000'000;
    if (pairs > kMost) a.all().at("pairs").fail_expected("a number of tensors");
    x.pairs.resize(pairs);
  }
}

}  // namespace

template <typename A>
void memory(A& a, typename A::template Ref<EstimateMemory> x) {
  a("excludes", x.excludes);
  a("peak_bytes", x.peak_bytes);
  a("peak_step", x.peak_step);
  a.maybe("peak_formula", x.peak_text);
  std::vector<std::string> peak_names;
  peak_tensors(a, x, peak_names);
  a("arena_bytes", x.arena_bytes);
  a("timeline", x.timeline);
  a("order", x.order);
  a("names", x.names);
  a("op_types", x.op_types);
  a.list("tensors", x.tensors, [](A& inner, auto& each) {
    inner("name", each.name);
    inner("bytes", each.bytes);
    inner("first_step", each.first_step);
    inner("last_step", each.last_step);
    inner("offset", each.offset);
    inner("shared_by", each.shared_by);
  });
  if constexpr (A::kReads) find_peak_tensors(a, x, peak_names);
  a.list("weights", x.weights, [](A& inner, auto& each) {
    inner("type", each.element);
    inner("tensors", each.tensors);
    inner("elements", each.elements);
    inner("bytes", each.bytes);
  });
  bool has_cache = !x.kv_cache.pairs.empty();
  if constexpr (A::kReads) {
    has_cache = a.has("kv_cache");
    if (!has_cache) a.derived("kv_cache", 0);  // known, though null
  }
  if (has_cache) a.object("kv_cache", Layout::Line, [&](A& inner) { cache(inner, x.kv_cache); });
  part(a, "reordered", Layout::Block, x.reordered, [](A& inner, auto& better) {
    inner("peak_bytes", better.peak_bytes);
    inner("arena_bytes", better.arena_bytes);
    inner("order", better.order);
  });
  a("unsized", x.unsized);
}

template <typename A>
void traffic(A& a, typename A::template Ref<EstimateTraffic> x) {
  a("model", x.model);
  a("bytes_read", x.bytes_read);
  a("bytes_written", x.bytes_written);
  a("bytes", x.bytes);
  std::size_t index = 0;
  const auto columns = columns_of(RowKind::Kernel, View::Json);
  a.list("groups", x.groups, [&](A& inner, auto& kernel) {
    row(inner, columns, {.index = index++, .kernel = &kernel, .counts = &kernel.counts});
  });
  if (A::kReads || x.model == TrafficModel::Resident)
    a.list("stayed", x.stayed, [](A& inner, auto& tensor) {
      inner("value", tensor.name);
      inner("bytes", tensor.bytes);
      inner("saved_bytes", tensor.bytes_saved);
      inner("in_memory", tensor.in_memory);
    });
}

template void memory(Writer& a, const EstimateMemory& x);
template void memory(Reader& a, EstimateMemory& x);
template void traffic(Writer& a, const EstimateTraffic& x);
template void traffic(Reader& a, EstimateTraffic& x);

}  // namespace pagoda::documents::members
