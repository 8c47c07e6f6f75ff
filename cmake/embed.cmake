# cmake "-DFILES=a.json;b.json" -DFUNCTION=device_files -DNAMESPACE=pagoda::documents -DOUTPUT=embedded.cpp
#   [-DCOMPACT=program] -P embed.cmake
# Writes a C++ source that holds files as string literals, so that installed programs need no data folder:
#   std::span<const pagoda::base::EmbeddedFile> NAMESPACE::FUNCTION();   // sorted by name
# Scripts and styles go into pages that are sent around: they lose what only their readers need, scripts by COMPACT, which
# is made of compact.cpp.
list(SORT FILES)
set(entries "")
foreach(path IN LISTS FILES)
  get_filename_component(name "${path}" NAME)
  file(READ "${path}" text)
  if(name MATCHES "[.]js$")
    execute_process(COMMAND ${COMPACT} INPUT_FILE ${path} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  elseif(name MATCHES "[.]css$")
    string(REGEX REPLACE "/[*][^*]*[*]/" "" text "${text}")
    string(REPLACE "\n" "" text "${text}")
    string(REGEX REPLACE "([{};:,]) +" "\\1" text "${text}")
    string(REPLACE " {" "{" text "${text}")
    string(REGEX REPLACE ";? *}" "}" text "${text}")
  endif()
  # Compilers need not take literals beyond 64 kB in one piece; neighbours are one string all the same. The suffix spares
  # them to count its characters, of which clang allows a million in a constant.
  set(pieces "")
  string(LENGTH "${text}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 12000 piece)
    string(APPEND pieces "R\"pagoda(${piece})pagoda\"sv\n     ")
    math(EXPR at "${at} + 12000")
  endwhile()
  string(APPEND entries "    {\"${name}\",\n     ${pieces}},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Written by cmake/embed.cmake.
#include \"pagoda/base/embedded_file.h\"

#ifdef __clang__  // counts neighbours as one literal
#pragma clang diagnostic ignored \"-Woverlength-strings\"
#endif

namespace ${NAMESPACE} {

std::span<const pagoda::base::EmbeddedFile> ${FUNCTION}() {
  using namespace std::string_view_literals;
  static constexpr pagoda::base::EmbeddedFile kFiles[] = {
${entries}  };
  return kFiles;
}

}  // namespace ${NAMESPACE}
")
