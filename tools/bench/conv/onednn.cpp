// oneDNN's convolutions and matrix products on the CPU, with operands in the layouts that it chooses.
//
// Its API has two algorithms of convolution, direct and Winograd, with several implementations of each, best first;
// those that unfold the input and multiply matrices are listed under direct and named "gemm:…".
#include "conv_run.h"
#include "matmul.h"
#include "pagoda/base/cat.h"

#ifdef PAGODA_ONEDNN
#include <dlfcn.h>

#include <dnnl.hpp>
#include <memory>
#include <unordered_map>
#endif

namespace pagoda::tools::conv {

#ifndef PAGODA_ONEDNN

constexpr const char* kNotBuilt = "built without oneDNN; install libdnnl-dev and build again";

ConvLibrary onednn_library(int) { return {.name = "oneDNN", .version = "", .unavailable = kNotBuilt}; }
ProductLibrary onednn_products(int) { return {.name = "onednn", .unavailable = kNotBuilt}; }

#else

namespace {

using dnnl::convolution_forward, dnnl::memory;

// oneDNN uses the threads of the OpenMP runtime that it was linked with.
void set_threads(int threads) {
  using Set = void (*)(int);
  if (threads <= 0) return;
  if (const auto set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set(threads);
}

std::string version_text() {
  const dnnl_version_t* version = dnnl_version();
  return cat(version->major, ".", version->minor, ".", version->patch);
}

// float32 in a plain layout by rank, a, ab, abc …, or in the layout that oneDNN chooses.
memory::desc described(const memory::dims& dims, bool any) {
  constexpr memory::format_tag kTags[] = {
      memory::format_tag::undef, memory::format_tag::a,     memory::format_tag::ab,    memory::format_tag::abc,
      memory::format_tag::abcd,  memory::format_tag::abcde, memory::format_tag::abcdef};
  return {dims, memory::data_type::f32, any ? memory::format_tag::any : kTags[dims.size()]};
}

memory reordered(const memory::dims& dims, const std::vector<float>& values, const memory::desc& wanted,
                 const dnnl::engine& engine, dnnl::stream& stream) {
  memory given(described(dims, false), engine, const_cast<float*>(values.data()));
  memory result(wanted, engine);
  dnnl::reorder(given, result).execute(stream, given, result);
  stream.wait();
  return result;
}

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
      const std::string name = candidate.impl_info_str();
      if (algorithm == "gemm" ? unfolds(name) : algorithm == "direct" ? !unfolds(name) && !is_plain(name) : true)
        return candidate;
      seen += (seen.empty() ? "" : ", ") + name;
    } while (candidate.next_impl());
    refused = "oneDNN has no such implementation for the layer, only " + seen;
  } catch (const dnnl::error& error) {
    refused = algorithm == "winograd" && error.status == dnnl_unimplemented
                  ? "oneDNN has no Winograd implementation for the layer"
                  : std::string("oneDNN: ") + error.what();
  }
  return std::nullopt;
}

// A primitive with its buffers.
template <typename Primitive>
struct OneDnnWork {
  dnnl::engine engine;
  dnnl::stream stream{engine};
  Primitive primitive;
  memory destination;
  std::unordered_map<int, memory> arguments = {};
};

ConvRun prepare_convolution(const ConvLayer& layer, const Operands& operands, const std::string& algorithm,
                            const dnnl::engine& engine) {
  ConvRun run;
  const auto chosen = choose(layer, algorithm, engine, run.refused);
  if (!chosen) return run;
  run.implementation = chosen->impl_info_str();
  run.workspace_bytes = static_cast<std::int64_t>(chosen->scratchpad_desc().get_size());
  const auto work = std::make_shared<OneDnnWork<convolution_forward> >(OneDnnWork<convolution_forward>{
      .engine = engine, .primitive = convolution_forward(*chosen), .destination = memory(chosen->dst_desc(), engine)});
  const auto operand = [&](const memory::dims& dims, const std::vector<float>& values, const memory::desc& wanted) {
    return reordered(dims, values, wanted, engine, work->stream);
  };
  work->arguments = {
      {DNNL_ARG_SRC, operand(spatial(layer.batch, layer.in_channels, layer.in), operands.input, chosen->src_desc())},
      {DNNL_ARG_WEIGHTS, operand(weight_dims(layer), operands.weights, chosen->weights_desc())},
      {DNNL_ARG_DST, work->destination},
      {DNNL_ARG_SCRATCHPAD, memory(chosen->scratchpad_desc(), engine)}};
  if (layer.has_bias)
    work->arguments.emplace(DNNL_ARG_BIAS, operand({layer.out_channels}, operands.bias, chosen->bias_desc()));
  run.time = [work](std::int64_t n) {
    return time_each(n, [&] {
      work->primitive.execute(work->stream, work->arguments);
      work->stream.wait();
    });
  };
  run.output = [work, layer] {
    std::vector<float> values(static_cast<std::size_t>(layer.out_elements()));
    memory plain(described(spatial(layer.batch, layer.out_channels, layer.out), false), work->engine, values.data());
    dnnl::reorder(work->destination, plain).execute(work->stream, work->destination, plain);
    work->stream.wait();
    return values;
  };
  return run;
}

ProductRun prepare_product(const ProductShape& s, const std::string& type, const dnnl::engine& engine) {
  ProductRun run;
  if (type != "float32" && type != "bfloat16") {
    run.refused = "oneDNN is measured in float32 and bfloat16 here";
    return run;
  }
  const auto element = type == "bfloat16" ? memory::data_type::bf16 : memory::data_type::f32;
  const memory::desc a({s.m, s.k}, element, memory::format_tag::ab), b({s.k, s.n}, element, memory::format_tag::any),
      c = described({s.m, s.n}, false);
  try {
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc chosen(engine, a, b, c);
#else
    const dnnl::matmul::primitive_desc chosen(dnnl::matmul::desc(a, b, c), engine);
#endif
    run.implementation = chosen.impl_info_str();
    const auto work = std::make_shared<OneDnnWork<dnnl::matmul> >(OneDnnWork<dnnl::matmul>{
        .engine = engine, .primitive = dnnl::matmul(chosen), .destination = memory(c, engine)});
    work->arguments = {
        {DNNL_ARG_SRC, reordered({s.m, s.k}, exact_values(s.m * s.k, 1), chosen.src_desc(), engine, work->stream)},
        {DNNL_ARG_WEIGHTS,
         reordered({s.k, s.n}, exact_values(s.k * s.n, 2), chosen.weights_desc(), engine, work->stream)},
        {DNNL_ARG_DST, work->destination}};
    run.together = [work](std::int64_t n) {
      return time_each(1,
                       [&] {
                         for (std::int64_t i = 0; i < n; ++i) work->primitive.execute(work->stream, work->arguments);
                         work->stream.wait();
                       })
          .front();
    };
    run.output = [work, count = s.m * s.n] {
      const auto* data = static_cast<const float*>(work->destination.get_data_handle());
      return std::vector<float>(data, data + count);
    };
  } catch (const dnnl::error& error) {
    run.refused = std::string("oneDNN: ") + error.what();
  }
  return run;
}

}  // namespace

ConvLibrary onednn_library(int threads) {
  set_threads(threads);
  ConvLibrary library{
      .name = "oneDNN", .version = version_text(), .algorithms = {"auto", "direct", "gemm", "winograd"}};
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  library.prepare = [engine](const ConvLayer& layer, const Operands& operands, const std::string& algorithm) {
    return prepare_convolution(layer, operands, algorithm, engine);
  };
  library.objection = [engine](const ConvLayer& layer, const std::string& algorithm) {
    std::string refused;
    return choose(layer, algorithm, engine, refused) ? std::string() : refused;
  };
  return library;
}

ProductLibrary onednn_products(int threads) {
  set_threads(threads);
  ProductLibrary library{.name = "onednn", .version = version_text()};
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  library.prepare = [engine](const ProductShape& shape, const std::string& type) {
    return prepare_product(shape, type, engine);
  };
  return library;
}

#endif

}  // namespace pagoda::tools::conv
