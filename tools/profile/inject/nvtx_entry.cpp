// The entry point that each copy of NVTX in a program calls at its first range if NVTX_INJECTION64_PATH names this
// file: it installs the functions that open and close ranges.
#include <nvtx3/nvToolsExt.h>

#include <string>

#include "injection.h"
#include "pagoda/base/text.h"

namespace {

using namespace pagoda::tools::profile;

using Name = std::string;  // domains and registered strings are pointers to one, never freed
const char kUnnamed[] = "unnamed";

std::string text_of(const wchar_t* text) {
  if (text == nullptr) return kUnnamed;
  std::string result;
  for (; *text != L'\0'; ++text) pagoda::base::append_utf8(result, static_cast<char32_t>(*text));
  return result;
}
std::string text_of(const char* text) { return text == nullptr ? kUnnamed : text; }
std::string text_of(const nvtxEventAttributes_t* event) {
  if (event == nullptr) return kUnnamed;
  switch (event->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return text_of(event->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return text_of(event->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED: {
      const auto* const name = reinterpret_cast<const Name*>(event->message.registered);
      return name != nullptr ? *name : kUnnamed;
    }
    default:
      return kUnnamed;
  }
}

std::string domain_name() { return ""; }
std::string domain_name(nvtxDomainHandle_t domain) {
  const auto* const name = reinterpret_cast<const Name*>(domain);
  return name != nullptr ? *name : "";
}

// Keeps exceptions out of the program.
template <typename Function>
auto guarded(Function function, decltype(function()) otherwise) noexcept {
  try {
    return function();
  } catch (...) {
    return otherwise;
  }
}

// The functions of ranges, in a domain (nvtxDomainHandle_t) or in the default one (nothing). `Text`: const char*, const
// wchar_t* or const nvtxEventAttributes_t*.
template <typename Text, typename... Domain>
int NVTX_API push(Domain... handle, Text text) {
  return guarded(
      [&] {
        const std::string domain = domain_name(handle...), name = text_of(text);
        const int depth = push_range(domain, name);
        if (recorder() != nullptr) recorder()->range_opened(domain, name);
        return depth;
      },
      -1);
}
template <typename... Domain>
int NVTX_API pop(Domain... handle) {
  return guarded(
      [&] {
        const std::string domain = domain_name(handle...);
        if (recorder() != nullptr) recorder()->range_closes(domain);
        return pop_range(domain);
      },
      -1);
}
template <typename Text, typename... Domain>
nvtxRangeId_t NVTX_API start(Domain... handle, Text text) {
  return guarded(
      [&] {
        const std::string domain = domain_name(handle...), name = text_of(text);
        const nvtxRangeId_t id = start_range(domain, name);
        if (recorder() != nullptr) recorder()->range_opened(domain, name);
        return id;
      },
      nvtxRangeId_t{0});
}
template <typename... Domain>
void NVTX_API end(Domain... handle, nvtxRangeId_t id) {
  guarded(
      [&] {
        if (recorder() != nullptr) recorder()->range_closes(domain_name(handle...));
        end_range(id);
        return 0;
      },
      0);
}
template <typename Text>
nvtxDomainHandle_t NVTX_API create_domain(Text text) {
  return guarded([&] { return reinterpret_cast<nvtxDomainHandle_t>(new Name(text_of(text))); }, nvtxDomainHandle_t{});
}
template <typename Text>
nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t, Text text) {
  return guarded([&] { return reinterpret_cast<nvtxStringHandle_t>(new Name(text_of(text))); }, nvtxStringHandle_t{});
}

struct Slot {
  unsigned id;
  NvtxFunctionPointer function;
};
template <typename Function>
Slot slot(unsigned id, Function* function) {
  return {id, reinterpret_cast<NvtxFunctionPointer>(function)};
}

template <std::size_t N>
bool fill(const NvtxExportTableCallbacks* callbacks, NvtxCallbackModule module, const Slot (&slots)[N]) {
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;  // of the table of the program's NVTX, which may be older
  if (callbacks->GetModuleFunctionTable(module, &table, &size) == 0 || table == nullptr) return false;
  for (const Slot& entry : slots)
    if (entry.id < size && table[entry.id] != nullptr) *table[entry.id] = entry.function;
  return true;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || recorder() == nullptr) return 0;
  using Narrow = const char*;
  using Wide = const wchar_t*;
  using Event = const nvtxEventAttributes_t*;
  const Slot core[] = {slot(NVTX_CBID_CORE_RangePushA, push<Narrow>),   slot(NVTX_CBID_CORE_RangePushW, push<Wide>),
                       slot(NVTX_CBID_CORE_RangePushEx, push<Event>),   slot(NVTX_CBID_CORE_RangePop, pop<>),
                       slot(NVTX_CBID_CORE_RangeStartA, start<Narrow>), slot(NVTX_CBID_CORE_RangeStartW, start<Wide>),
                       slot(NVTX_CBID_CORE_RangeStartEx, start<Event>), slot(NVTX_CBID_CORE_RangeEnd, end<>)};
  const Slot domains[] = {slot(NVTX_CBID_CORE2_DomainRangePushEx, push<Event, nvtxDomainHandle_t>),
                          slot(NVTX_CBID_CORE2_DomainRangePop, pop<nvtxDomainHandle_t>),
                          slot(NVTX_CBID_CORE2_DomainRangeStartEx, start<Event, nvtxDomainHandle_t>),
                          slot(NVTX_CBID_CORE2_DomainRangeEnd, end<nvtxDomainHandle_t>),
                          slot(NVTX_CBID_CORE2_DomainCreateA, create_domain<Narrow>),
                          slot(NVTX_CBID_CORE2_DomainCreateW, create_domain<Wide>),
                          slot(NVTX_CBID_CORE2_DomainRegisterStringA, register_string<Narrow>),
                          slot(NVTX_CBID_CORE2_DomainRegisterStringW, register_string<Wide>)};
  const bool has_core = fill(callbacks, NVTX_CB_MODULE_CORE, core);
  return fill(callbacks, NVTX_CB_MODULE_CORE2, domains) || has_core ? 1 : 0;
}
