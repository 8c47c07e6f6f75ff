#!/usr/bin/env python3
"""Plants every kind of violation in a made-up tree, one at a time, and checks that layers.py reports it."""
import pathlib
import tempfile
import unittest

import layers

PUSH, POP = "#pragma GCC visibility push(default)\n", "#pragma GCC visibility pop\n"

# Two layers, a bridge, a tool and a test, all valid. pure.h has no implementer; b defines what size.h declares.
TREE = {
    "lib/CMakeLists.txt": "set(PAGODA_LAYERS low high)\n",
    "lib/low/CMakeLists.txt": "pagoda_layer(low SOURCES\n  a/one.cpp\n  b/two.cpp)\n",
    "lib/low/include/pagoda/low/one.h": "#include <vector>\n" + PUSH + "namespace pagoda { struct One { int kernel; }; int one(); }\n" + POP,
    "lib/low/include/pagoda/low/pure.h": PUSH + "namespace pagoda { struct Pure {}; }\n" + POP,
    "lib/low/include/pagoda/low/size.h": PUSH + "namespace pagoda { int size(); }\n" + POP,
    "lib/low/a/one.cpp": '#include "pagoda/low/one.h"\n#include "a/inner.h"\n#include "pagoda/low/pure.h"\n',
    "lib/low/a/inner.h": "namespace pagoda { struct Inner {}; namespace { struct Local {}; } }\n",
    "lib/low/b/two.cpp": '#include "b/two.h"\n#include "pagoda/low/size.h"\n#include "a/inner.h"\n'
                         "namespace pagoda { namespace { struct Local {}; } int size() { return 0; } }\n",
    "lib/low/b/two.h": '#include "pagoda/low/one.h"\n',
    "lib/high/CMakeLists.txt": "pagoda_layer(high LINK pagoda::low SOURCES top.cpp)\n",
    "lib/high/include/pagoda/high/top.h": '#include "pagoda/low/pure.h"\n' + PUSH + "namespace pagoda { struct Top {}; }\n" + POP,
    "lib/high/top.cpp": '#include "pagoda/high/top.h"\n',
    "lib/bridges/other/include/pagoda/other.h": '#include <other/types.h>\n#include "pagoda/low/one.h"\n',
    "tools/CMakeLists.txt": "target_link_libraries(tool PRIVATE pagoda::pagoda)\n",
    "tools/common/shared.h": "",
    "lib/low/internal/pagoda/low/house.h": PUSH + "namespace pagoda { struct House {}; }\n" + POP,
    "tools/tool/main.cpp": '#include "pagoda/high/top.h"\n#include "pagoda/low/size.h"\n#include "pagoda/low/house.h"\n#include "../common/shared.h"\n#include "generated.h"\n',
    "tests/CMakeLists.txt": "pagoda_test(a INSIDE low a_test.cpp)\n",
    "tests/a/a_test.cpp": '#include "a/inner.h"\n#include "pagoda/high/top.h"\n',
}

# The addition, the file that gets it, and words of the message that reports it.
OFFENCES = [
    ("lib/low/a/one.cpp", '#include "pagoda/high/top.h"', "which is above low"),
    ("lib/low/a/one.cpp", '#include "../../../tools/common/shared.h"', "which is above low"),
    ("lib/low/a/one.cpp", '#include "pagoda/other.h"', "which is above low"),
    ("lib/high/top.cpp", '#include "a/inner.h"', "lib/low/a/inner.h, a private header of low"),
    ("tools/tool/main.cpp", '#include "a/inner.h"', "lib/low/a/inner.h, a private header of low"),
    ("lib/low/include/pagoda/low/one.h", '#include "a/inner.h"', "lib/low/a/inner.h, which is private"),
    ("lib/low/include/pagoda/low/one.h", "#include <nlohmann/json.hpp>", "includes <nlohmann/json.hpp>"),
    ("lib/low/include/pagoda/low/one.h", '#include "fmt/core.h"', 'includes "fmt/core.h"'),
    ("lib/low/include/pagoda/low/bare.h", "namespace pagoda { int bare(); }", "a shared library would hide it"),
    ("lib/low/CMakeLists.txt", "target_link_libraries(pagoda_low PRIVATE pagoda::high)", "links pagoda::high"),
    ("lib/low/CMakeLists.txt", "target_link_libraries(pagoda_low PRIVATE pagoda_high)", "links pagoda_high"),
    ("lib/high/CMakeLists.txt", "target_link_libraries(pagoda_high PRIVATE pagoda::pagoda)", "links pagoda::pagoda"),
    ("tools/CMakeLists.txt", "target_include_directories(tool PRIVATE ../lib/low)", "adds lib/low to the include path"),
    ("tests/CMakeLists.txt", "target_include_directories(a_test PRIVATE ${PROJECT_SOURCE_DIR}/lib/high)",
     "a_test goes inside high and low"),
    ("tests/a/other_test.cpp", '#include "hidden.h"', "tests/a: includes private headers of high and low"),
    ("lib/low/a/inner.h", '#include "b/two.h"', "folders in a circle: low/a -> low/b"),
    ("lib/low/a/inner.h", '#include "pagoda/low/size.h"', "folders in a circle: low/a -> low/b"),
    ("lib/low/include/pagoda/low/pure.h", '#include "pagoda/low/one.h"', "folders in a circle: low/a -> pagoda/low/pure.h"),
    ("tools/common/shared.h", '#include "tool/main.h"', "folders in a circle: tools/common -> tools/tool"),
    ("lib/high/include/pagoda/high/top.h", "namespace pagoda::high { enum class One : int { A }; }",
     "public type One is declared twice"),
    ("lib/high/include/pagoda/high/top.h", "namespace pagoda { using Pure = int; }", "public type Pure is declared twice"),
    ("lib/high/top.cpp", "namespace pagoda { template <typename T> class Inner final : public One {}; }",
     "type pagoda::Inner is defined twice"),
    ("lib/low/include/pagoda/low/one.h", "namespace pagoda { struct Session { int a; }; }", "generic name Session"),
    ("lib/low/include/pagoda/low/one.h", "namespace pagoda::inline core { int select(int a = f({1})); }", "generic name select"),
    ("lib/low/a/inner.h", "// as pagoda/gone.h says", "lib/low/a/inner.h: names pagoda/gone.h"),
    ("lib/low/a/one.cpp", "int two = std::stoi(text);", "reads numbers with stoi()"),
    ("lib/low/a/one.cpp", "double two = strtod(text, nullptr);", "reads numbers with strtod()"),
    ("tools/tool/main.cpp", 'int read = std::sscanf(text, "%d", &two);', "reads numbers with sscanf()"),
    ("lib/low/a/one.cpp", 'auto n = parse_json(text).root().at("n").integer();', "reads JSON by hand"),
    ("lib/low/a/one.cpp", 'throw Error("give --batch");', "names the option --batch"),
    ("lib/low/a/one.cpp", 'throw Error("write it with "\n  "--by node");', "names the option --by"),
    ("lib/low/a/one.cpp", 'throw Error("give `batsh`");', "names the field batsh"),
    ("lib/low/a/one.cpp", 'throw Error(base::field("batsh", 8));', "names the field batsh"),
    ("lib/low/include/pagoda/low/one.h", '#include "pagoda/low/house.h"', "house.h, which is not installed"),
    ("lib/low/include/pagoda/low/idle.h", PUSH + "namespace pagoda { struct Idle {}; }\n" + POP,
     "idle.h: a public header that nothing outside of its layer uses"),
    ("lib/low/a/lost.cpp", "", "lib/low/a/lost.cpp: compiled by nothing"),
    ("tests/a/lost_test.cpp", "", "tests/a/lost_test.cpp: compiled by nothing"),
]

# Valid code that looks like an offence.
INNOCENT = [
    ("lib/low/a/one.cpp", '// #include "pagoda/high/top.h"'),
    ("lib/low/CMakeLists.txt", "# target_link_libraries(pagoda_low PRIVATE pagoda::high)"),
    ("lib/low/include/pagoda/low/one.h", "namespace pagoda { struct Box { struct Pure {}; int order(); }; struct Pure; }"),
    ("lib/low/include/pagoda/low/one.h", "namespace pagoda::low { int select(); }"),
    ("lib/low/include/pagoda/low/one.h", 'inline const char* kText = "struct Pure {};"; // struct Pure {};'),
    ("lib/low/a/one.cpp", 'const char* kText = "std::stoi(text)";  // not std::stoi(text)'),
    ("lib/low/a/one.cpp", 'throw Error("measure it by pagoda-calibrate --here");  // "--batch"'),
    ("tools/tool/main.cpp", 'throw Error("give --batch");'),
    ("lib/high/top.cpp", "namespace pagoda { namespace { struct One {}; } struct Top top() { struct Inner {}; return {}; } }"),
]


class Layers(unittest.TestCase):
    def offenders(self, changes=(), known_edges={}, known={}):
        with tempfile.TemporaryDirectory() as root:
            files = dict(TREE)
            for path, text in changes:
                files[path] = files.get(path, "") + text + "\n"
            for path, text in files.items():
                path = pathlib.Path(root, path)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return layers.check(root, known_edges, known)

    def test_a_tree_in_order_has_no_offender(self):
        self.assertEqual(self.offenders(), [])

    def test_each_offence_is_named(self):
        aside = [("lib/high/hidden.h", ""), ("tools/tool/main.h", "")]
        for path, text, words in OFFENCES:
            with self.subTest(text):
                found = self.offenders(aside + [(path, text)])
                self.assertTrue(any(words in sentence for sentence in found), f"expected \"{words}\", got {found}")

    def test_what_only_looks_like_an_offence_is_none(self):
        for path, text in INNOCENT:
            with self.subTest(text):
                self.assertEqual(self.offenders([(path, text)]), [])

    def test_there_are_not_too_many_public_headers(self):
        names = [f"more{n}" for n in range(layers.MOST_PUBLIC)]
        headers = [(f"lib/low/include/pagoda/low/{name}.h", PUSH + f"namespace pagoda {{ int {name}(); }}\n" + POP) for name in names]
        user = ("tools/tool/main.cpp", "".join(f'#include "pagoda/low/{name}.h"\n' for name in names))
        self.assertIn(f"expected at most {layers.MOST_PUBLIC}", "".join(self.offenders([*headers, user])))

    def test_known_offenders_pass_and_must_still_be_there(self):
        back = ("lib/low/a/inner.h", '#include "b/two.h"')
        edges = {("low/a", "low/b"): "reason"}
        self.assertEqual(self.offenders([back], edges), [])
        self.assertIn("no longer closes a circle", self.offenders([], edges)[0])
        include = ("lib/low/include/pagoda/low/one.h", "#include <fmt/core.h>")
        known = {"lib/low/include/pagoda/low/one.h: a public header that includes <fmt/core.h>": "reason"}
        self.assertEqual(self.offenders([include], {}, known), [])
        self.assertIn("no longer occurs", self.offenders([], {}, known)[0])

    def test_this_tree(self):
        root = pathlib.Path(__file__).parents[2]
        self.assertEqual(layers.check(root, layers.KNOWN_EDGES, layers.KNOWN), [])


if __name__ == "__main__":
    unittest.main()
