// oneDNN's convolutions. Its API has two algorithms, direct and Winograd, with several implementations of each, best
// first; those that unfold the input and multiply matrices are listed under direct and named "gemm:…".
#include "conv_run.h"

#ifdef PAGODA_ONEDNN
#include <dlfcn.h>

#include <chrono>
#include <dnnl.hpp>
#include <memory>
#include <unordered_map>
#endif

namespace pagoda::tools::conv {

#ifndef PAGODA_ONEDNN

ConvLibrary onednn_library(int) {
  return {.name = "oneDNN", .version = "", .unavailable = "built without oneDNN; install libdnnl-dev and build again"};
}

#else

namespace {

using dnnl::convolution_forward;
using dnnl::memory;

struct Descriptions {
  memory::desc source, weights, bias, destination;
  memory::dims strides, dilations, pads_begin, pads_end;
#if DNNL_VERSION_MAJOR < 3
  // Must outlive the iteration over implementations, which reads it again.
  std::optional<convolution_forward::desc> operation = {};
#endif
};

memory::dims spatial(std::int64_t first, std::int64_t second, const Sizes& sizes) {
  memory::dims dims = {first, second};
  dims.insert(dims.end(), sizes.begin(), sizes.end());
  return dims;
}

memory::dims weight_dims(const ConvLayer& l) {
  memory::dims dims = spatial(l.out_channels / l.groups, l.in_channels / l.groups, l.kernel);
  if (l.groups > 1) dims.insert(dims.begin(), l.groups);
  return dims;
}

// Plain layouts by rank: a, ab, abc, …
memory::format_tag plain(std::size_t rank) {
  constexpr memory::format_tag kTags[] = {
      memory::format_tag::undef, memory::format_tag::a,     memory::format_tag::ab,    memory::format_tag::abc,
      memory::format_tag::abcd,  memory::format_tag::abcde, memory::format_tag::abcdef};
  return kTags[rank];
}

memory::desc described(const memory::dims& dims, bool any) {
  return {dims, memory::data_type::f32, any ? memory::format_tag::any : plain(dims.size())};
}

Descriptions descriptions(const ConvLayer& l) {
  Descriptions d;
  d.source = described(spatial(l.batch, l.in_channels, l.in), true);
  d.weights = described(weight_dims(l), true);
  if (l.has_bias) d.bias = described({l.out_channels}, false);
  d.destination = described(spatial(l.batch, l.out_channels, l.out), true);
  d.strides = l.strides;
  for (const std::int64_t dilation : l.dilations) d.dilations.push_back(dilation - 1);  // 0 is dense
  d.pads_begin = l.pads_begin;
  d.pads_end = l.pads_end;
  return d;
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// The first implementation. Throws dnnl::error if there is none.
convolution_forward::primitive_desc first_of(dnnl::algorithm algorithm, Descriptions& d, const dnnl::engine& engine) {
  const auto kind = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
  return d.bias.get_ndims() > 0
             ? convolution_forward::primitive_desc(engine, kind, algorithm, d.source, d.weights, d.bias, d.destination,
                                                   d.strides, d.dilations, d.pads_begin, d.pads_end, user_scratchpad())
             : convolution_forward::primitive_desc(engine, kind, algorithm, d.source, d.weights, d.destination,
                                                   d.strides, d.dilations, d.pads_begin, d.pads_end, user_scratchpad());
#else
  if (d.bias.data.ndims > 0)
    d.operation.emplace(kind, algorithm, d.source, d.weights, d.bias, d.destination, d.strides, d.dilations,
                        d.pads_begin, d.pads_end);
  else
    d.operation.emplace(kind, algorithm, d.source, d.weights, d.destination, d.strides, d.dilations, d.pads_begin,
                        d.pads_end);
  return {*d.operation, user_scratchpad(), engine};
#endif
}

std::string name_of(const convolution_forward::primitive_desc& chosen) { return chosen.impl_info_str(); }

bool unfolds(const std::string& name) { return name.find("gemm") != std::string::npos; }
bool is_plain(const std::string& name) { return name.starts_with("ref"); }

// The first implementation of the requested algorithm; if there is none, `refused` gives the reason.
std::optional<convolution_forward::primitive_desc> choose(const ConvLayer& layer, const std::string& algorithm,
                                                          const dnnl::engine& engine, std::string& refused) {
  Descriptions d = descriptions(layer);
  const auto kind = algorithm == "winograd" ? dnnl::algorithm::convolution_winograd
                    : algorithm == "auto"   ? dnnl::algorithm::convolution_auto
                                            : dnnl::algorithm::convolution_direct;
  std::string seen;
  try {
    convolution_forward::primitive_desc candidate = first_of(kind, d, engine);
    do {
      const std::string name = name_of(candidate);
      const bool fits = algorithm == "gemm"     ? unfolds(name)
                        : algorithm == "direct" ? !unfolds(name) && !is_plain(name)
                                                : true;
      if (fits) return candidate;
      seen.append(seen.empty() ? "" : ", ").append(name);
    } while (candidate.next_impl());
    refused = "oneDNN has no such implementation for the layer, only " + seen;
  } catch (const dnnl::error& error) {
    refused = algorithm == "winograd" && error.status == dnnl_unimplemented
                  ? "oneDNN has no Winograd implementation for the layer"
                  : std::string("oneDNN: ") + error.what();
  }
  return std::nullopt;
}

// A prepared layer and its buffers.
struct Prepared {
  dnnl::engine engine;
  dnnl::stream stream;
  convolution_forward primitive;
  memory source, weights, bias, destination, scratchpad;
  std::unordered_map<int, memory> arguments;
  memory::dims output_dims;
};

memory reordered(const memory::dims& dims, const std::vector<float>& values, const memory::desc& wanted,
                 const dnnl::engine& engine, dnnl::stream& stream) {
  memory given(described(dims, false), engine, const_cast<float*>(values.data()));
  memory result(wanted, engine);
  dnnl::reorder(given, result).execute(stream, given, result);
  stream.wait();
  return result;
}

std::shared_ptr<Prepared> prepared(const ConvLayer& layer, const Operands& operands,
                                   const convolution_forward::primitive_desc& chosen, const dnnl::engine& engine) {
  auto p = std::make_shared<Prepared>();
  p->engine = engine;
  p->stream = dnnl::stream(engine);
  p->primitive = convolution_forward(chosen);
  p->output_dims = spatial(layer.batch, layer.out_channels, layer.out);
  p->source = reordered(spatial(layer.batch, layer.in_channels, layer.in), operands.input, chosen.src_desc(), engine,
                        p->stream);
  p->weights = reordered(weight_dims(layer), operands.weights, chosen.weights_desc(), engine, p->stream);
  p->destination = memory(chosen.dst_desc(), engine);
  p->scratchpad = memory(chosen.scratchpad_desc(), engine);
  p->arguments = {{DNNL_ARG_SRC, p->source},
                  {DNNL_ARG_WEIGHTS, p->weights},
                  {DNNL_ARG_DST, p->destination},
                  {DNNL_ARG_SCRATCHPAD, p->scratchpad}};
  if (layer.has_bias) {
    p->bias = reordered({layer.out_channels}, operands.bias, chosen.bias_desc(), engine, p->stream);
    p->arguments.emplace(DNNL_ARG_BIAS, p->bias);
  }
  return p;
}

ConvRun prepare(const ConvLayer& layer, const Operands& operands, const std::string& algorithm,
                const dnnl::engine& engine) {
  ConvRun run;
  const auto chosen = choose(layer, algorithm, engine, run.refused);
  if (!chosen) return run;
  run.implementation = name_of(*chosen);
  run.workspace_bytes = static_cast<std::int64_t>(chosen->scratchpad_desc().get_size());
  const auto p = prepared(layer, operands, *chosen, engine);
  run.time = [p](std::int64_t n) {
    std::vector<double> seconds;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto start = std::chrono::steady_clock::now();
      p->primitive.execute(p->stream, p->arguments);
      p->stream.wait();
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return seconds;
  };
  run.output = [p] {
    std::vector<float> values;
    memory::dim count = 1;
    for (const memory::dim size : p->output_dims) count *= size;
    values.resize(static_cast<std::size_t>(count));
    memory plain_memory(described(p->output_dims, false), p->engine, values.data());
    dnnl::reorder(p->destination, plain_memory).execute(p->stream, p->destination, plain_memory);
    p->stream.wait();
    return values;
  };
  return run;
}

// oneDNN uses the threads of the OpenMP runtime that it was linked with.
void set_threads(int threads) {
  using Set = void (*)(int);
  if (threads <= 0) return;
  if (const auto set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set(threads);
}

}  // namespace

ConvLibrary onednn_library(int threads) {
  set_threads(threads);
  const dnnl_version_t* version = dnnl_version();
  ConvLibrary library{.name = "oneDNN",
                      .version = std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
                                 std::to_string(version->patch),
                      .algorithms = {"auto", "direct", "gemm", "winograd"}};
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  library.prepare = [engine](const ConvLayer& layer, const Operands& operands, const std::string& algorithm) {
    return prepare(layer, operands, algorithm, engine);
  };
  library.objection = [engine](const ConvLayer& layer, const std::string& algorithm) {
    std::string refused;
    return choose(layer, algorithm, engine, refused) ? std::string() : refused;
  };
  return library;
}

#endif

}  // namespace pagoda::tools::conv
