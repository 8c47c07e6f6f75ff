// One stack per thread. A set holds the ids of ranges that other threads ended; it is searched only if not empty.
#include "ranges.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <vector>

namespace pagoda::tools::profile {
namespace {

struct OpenRange {
  std::string domain, name;
  std::uint64_t id = 0;  // 0: pushed
};

// Ranges ended by a thread that did not start them. Never destroyed: threads may outlive static objects.
struct EndedElsewhere {
  std::mutex mutex;
  std::set<std::uint64_t> ids;
  std::atomic<std::size_t> count = 0;
};
EndedElsewhere& ended() {
  static EndedElsewhere* const kEnded = new EndedElsewhere;
  return *kEnded;
}

// Thread-local objects are destroyed before exit handlers run, and programs may still launch kernels in these.
thread_local bool is_gone = false;
struct Stack {
  std::vector<OpenRange> ranges;
  ~Stack() { is_gone = true; }
};
std::vector<OpenRange>& own_stack() {
  if (is_gone) {
    thread_local std::vector<OpenRange>* const late = new std::vector<OpenRange>;
    return *late;
  }
  thread_local Stack own;
  return own.ranges;
}

std::vector<OpenRange>& stack() {
  std::vector<OpenRange>& ranges = own_stack();
  if (ended().count.load(std::memory_order_relaxed) > 0) {
    const std::lock_guard lock(ended().mutex);
    std::erase_if(ranges, [](const OpenRange& range) { return range.id != 0 && ended().ids.erase(range.id) > 0; });
    ended().count = ended().ids.size();
  }
  return ranges;
}

int depth(const std::vector<OpenRange>& ranges, std::string_view domain) {
  return static_cast<int>(
      std::ranges::count_if(ranges, [&](const OpenRange& range) { return range.id == 0 && range.domain == domain; }));
}

}  // namespace

int push_range(std::string_view domain, std::string_view name) {
  std::vector<OpenRange>& ranges = stack();
  const int before = depth(ranges, domain);
  ranges.push_back({std::string(domain), std::string(name), 0});
  return before;
}

int pop_range(std::string_view domain) {
  std::vector<OpenRange>& ranges = stack();
  for (std::size_t i = ranges.size(); i-- > 0;)
    if (ranges[i].id == 0 && ranges[i].domain == domain) {
      ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(i));
      return depth(ranges, domain);
    }
  return -1;
}

std::uint64_t start_range(std::string_view domain, std::string_view name) {
  static std::atomic<std::uint64_t> next = 0;
  const std::uint64_t id = ++next;
  stack().push_back({std::string(domain), std::string(name), id});
  return id;
}

void end_range(std::uint64_t id) {
  std::vector<OpenRange>& ranges = stack();
  const auto found = std::ranges::find(ranges, id, &OpenRange::id);
  if (id == 0) return;
  if (found != ranges.end()) {
    ranges.erase(found);
    return;
  }
  const std::lock_guard lock(ended().mutex);
  ended().ids.insert(id);
  ended().count = ended().ids.size();
}

OpenRanges open_ranges(const std::function<bool(const std::string&)>& skip) {
  OpenRanges open;
  for (const OpenRange& range : stack()) {
    if (skip && skip(qualified(range.domain, range.name))) continue;
    (open.path += open.path.empty() ? "" : "/") += range.name;
    if (range.domain == kNodeDomain) open.node = range.name;
  }
  return open;
}

std::string qualified(std::string_view domain, std::string_view name) {
  return domain.empty() ? std::string(name) : std::string(domain) + "@" + std::string(name);
}

}  // namespace pagoda::tools::profile
