// The NVTX ranges that are open on each thread, which tell what a launch belongs to.
//
// A pushed range belongs to the thread and the domain that pushed it. A started one is process-wide and counts as open
// on the thread that started it, until any thread ends it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace pagoda::tools::profile {

// Of model nodes: the innermost open range of this domain names the node of a launch.
inline constexpr std::string_view kNodeDomain = "pagoda";

// Each returns the number of ranges of the domain that were open on this thread before it; pop returns -1 without one.
int push_range(std::string_view domain, std::string_view name);
int pop_range(std::string_view domain);
// Never 0.
std::uint64_t start_range(std::string_view domain, std::string_view name);
void end_range(std::uint64_t id);

struct OpenRanges {
  std::string path;  // names, outermost first, joined by '/'
  std::string node;  // the innermost of kNodeDomain; empty: none
};
// On this thread, without those for which `skip` says yes to the qualified name.
OpenRanges open_ranges(const std::function<bool(const std::string&)>& skip = {});

// "pagoda@conv1" or, of the default domain, "conv1": what filters are held against.
std::string qualified(std::string_view domain, std::string_view name);

}  // namespace pagoda::tools::profile
