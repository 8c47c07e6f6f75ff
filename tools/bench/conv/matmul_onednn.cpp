// oneDNN's matmul on the CPU, with operands in the layouts that it chooses.
#include "matmul.h"

#ifdef PAGODA_ONEDNN
#include <dlfcn.h>

#include <chrono>
#include <dnnl.hpp>
#include <memory>
#include <unordered_map>
#endif

namespace pagoda::tools::conv {

#ifndef PAGODA_ONEDNN

ProductLibrary onednn_products(int) {
  return {.name = "onednn", .unavailable = "built without oneDNN; install libdnnl-dev and build again"};
}

#else

namespace {

using dnnl::memory;

memory from_host(const memory::dims& dims, std::vector<float> values, const memory::desc& wanted,
                 const dnnl::engine& engine, dnnl::stream& stream) {
  memory given({dims, memory::data_type::f32, memory::format_tag::ab}, engine, values.data());
  memory result(wanted, engine);
  dnnl::reorder(given, result).execute(stream, given, result);
  stream.wait();
  return result;
}

ProductRun prepare(const ProductShape& s, const std::string& type, const dnnl::engine& engine) {
  ProductRun run;
  const auto element = type == "bfloat16" ? memory::data_type::bf16 : memory::data_type::f32;
  if (type != "float32" && type != "bfloat16") {
    run.refused = "oneDNN is measured in float32 and bfloat16 here";
    return run;
  }
  const memory::desc a({s.m, s.k}, element, memory::format_tag::ab), b({s.k, s.n}, element, memory::format_tag::any),
      c({s.m, s.n}, memory::data_type::f32, memory::format_tag::ab);
  try {
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc chosen(engine, a, b, c);
#else
    const dnnl::matmul::primitive_desc chosen(dnnl::matmul::desc(a, b, c), engine);
#endif
    run.implementation = chosen.impl_info_str();
    struct State {
      dnnl::stream stream;
      dnnl::matmul primitive;
      std::unordered_map<int, memory> arguments;
      memory result;
    };
    const auto state = std::make_shared<State>();
    state->stream = dnnl::stream(engine);
    state->primitive = dnnl::matmul(chosen);
    state->result = memory(c, engine);
    state->arguments = {
        {DNNL_ARG_SRC, from_host({s.m, s.k}, exact_values(s.m * s.k, 1), chosen.src_desc(), engine, state->stream)},
        {DNNL_ARG_WEIGHTS,
         from_host({s.k, s.n}, exact_values(s.k * s.n, 2), chosen.weights_desc(), engine, state->stream)},
        {DNNL_ARG_DST, state->result}};
    run.together = [state](std::int64_t n) {
      const auto start = std::chrono::steady_clock::now();
      for (std::int64_t i = 0; i < n; ++i) state->primitive.execute(state->stream, state->arguments);
      state->stream.wait();
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    const auto count = static_cast<std::size_t>(s.m * s.n);
    run.output = [state, count] {
      const auto* data = static_cast<const float*>(state->result.get_data_handle());
      return std::vector<float>(data, data + count);
    };
  } catch (const dnnl::error& error) {
    run.refused = std::string("oneDNN: ") + error.what();
  }
  return run;
}

}  // namespace

ProductLibrary onednn_products(int threads) {
  using Set = void (*)(int);
  if (threads > 0)
    if (const auto set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set(threads);
  const dnnl_version_t* version = dnnl_version();
  ProductLibrary library{.name = "onednn",
                         .version = std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
                                    std::to_string(version->patch)};
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  library.prepare = [engine](const ProductShape& shape, const std::string& type) {
    return prepare(shape, type, engine);
  };
  return library;
}

#endif

}  // namespace pagoda::tools::conv
