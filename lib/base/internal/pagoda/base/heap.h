// The heap of this process.
#pragma once

#pragma GCC visibility push(default)
namespace pagoda::base {

// Before the first large allocation of a program that ends soon: the heap asks for large pages, because a page of 4 KiB
// costs about as much to get as the data written to it. Does nothing where the C library or the system has no way.
void prefer_large_pages();

}  // namespace pagoda::base
#pragma GCC visibility pop
