// The NVTX ranges open on each thread, to which its launches are attributed.
//
// A pushed range belongs to its thread and domain. A started range is process-wide and counts as open on the thread
// that started it, until any thread ends it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace pagoda::tools::profile {

// Domain of model nodes: its innermost open range names the node of a launch.
inline constexpr std::string_view kNodeDomain = "pagoda";

// Each returns the level of the range: the number of pushed ranges of the domain open below it on this thread. pop
// returns -1 if none is open.
int push_range(std::string_view domain, std::string_view name);
int pop_range(std::string_view domain);
// Never 0.
std::uint64_t start_range(std::string_view domain, std::string_view name);
void end_range(std::uint64_t id);

struct OpenRanges {
  std::string path;  // names, outermost first, joined by '/'
  std::string node;  // innermost range of kNodeDomain; empty: none
};
// The ranges open on this thread, without those for whose qualified name `skip` returns true.
OpenRanges open_ranges(const std::function<bool(const std::string&)>& skip = {});

// "pagoda@conv1" or, in the default domain, "conv1": the name that filters are matched against.
std::string qualified(std::string_view domain, std::string_view name);

}  // namespace pagoda::tools::profile
