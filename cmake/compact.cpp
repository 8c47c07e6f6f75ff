// compact < script.js > compact.js: for embed.cmake.
#include "compact.h"

#include <iostream>
#include <iterator>

int main() { std::cout << pagoda::compact_script(std::string(std::istreambuf_iterator<char>(std::cin), {})); }
