# Counts the instructions of each hot loop in a listing of objdump, as a C++ table: kernel, mnemonic, number.
/^[0-9a-f]+ <.*>:$/ {
  kernel = ""
  if ($2 ~ /_loop>:$/) kernel = substr($2, 2, length($2) - 8)
  next
}
kernel != "" && /^ *[0-9a-f]+:/ {
  mnemonic = $2 ~ /^\{/ ? $3 : $2  # without "{vex}"
  row = "    {\"" kernel "\", \"" mnemonic "\", "
  if (!(row in count)) order[++rows] = row
  ++count[row]
}
END {
  print "// Written by cpu_loops.awk."
  print "#include \"code_audit.h\"\n"
  print "namespace pagoda::tools::ceilings {"
  print "std::span<const LoopInstruction> loop_instructions() {"
  print "  static constexpr LoopInstruction kRows[] = {"
  for (i = 1; i <= rows; ++i) print order[i] count[order[i]] "},"
  print "  };\n  return kRows;\n}\n}  // namespace pagoda::tools::ceilings"
}
