// Where POSIX systems differ: what Linux has and others, such as macOS, do another way or not at all.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace pagoda::base::posix {

bool make_pipe(int (&ends)[2]);         // both ends are closed by exec
int nameless_file(const char* folder);  // a descriptor; -1: not here
// Becomes the program, looked up in this process's PATH; returns if it cannot.
void execute(char* const* words, char* const* environment);
void die_with_parent();  // in a child: is killed when its parent dies
void be_first_victim();  // in a child: is killed first when memory runs out
std::int64_t peak_bytes(const rusage& usage);

}  // namespace pagoda::base::posix
