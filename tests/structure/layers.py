#!/usr/bin/env python3
"""Checks the layering of the source tree: layers.py ROOT prints violations of the rules below and exits with 1.

Rules, all read from the files themselves:
* Layers are those of PAGODA_LAYERS in lib/CMakeLists.txt, lowest first; above them lib/bridges, then tools, then tests.
  Nothing includes or links a layer above its own.
* Folders depend on each other without circles. A folder is lib/LAYER/FOLDER, lib/bridges/NAME or tools/FOLDER.
  A header of include or internal belongs to the folder that implements it: the folder of the source with its name, else of the sources
  that include it first, else of those that define its functions. Without a single such folder it forms its own folder.
* Headers in lib/LAYER/include are public: installed for programs. Those in lib/LAYER/internal are for other layers, tools and
  tests of this project. All others are private to their layer.
* A public header has a user outside its layer, or another public header with such a user includes it. There are at most
  MOST_PUBLIC of them.
* A tool uses no private headers. The laboratory draws with the chart kit of present (KITS). A test may also use private headers of the one layer that it tests.
* Public headers include only public headers and C++'s own, internal ones also internal ones. Both declare between #pragma GCC visibility push(default)
  and pop: a shared library hides everything else.
* No two public types have the same name, and no two types of the library the same qualified name.
* Names that explain nothing outside their folder (GENERIC) stay out of the namespaces `pagoda` and `pagoda::core`.
* Layers below the front ends (FRONTS) name fields of the request in messages, "`batch`", and no option: present/spell.h.
  A message may quote the command of a program (PROGRAMS).
* A header that lib or tools name, in comments too, exists.
* lib and tools read numbers with base::parse_number() and base::leading_number() alone, which no locale changes.
* Documents are read through documents/archive.h or form.h, which know what to do with unknown members. JSON_READERS lists
  the sources that ask JSON for members by name, with the reason.
* Every source of lib and tests is named in a CMakeLists.txt, or in a shell script beside it that compiles it.
"""
import collections
import itertools
import pathlib
import re
import sys

# Private headers that another layer may use, by the layer that uses them.
KITS = {"lab": "lib/present/"}

FRONTS = {"present", "lab"}
PROGRAMS = r"(pagoda-\w+|onnx-estimate|ert-ceilings|ncu|nsys|trtexec|rocprofv3|python3|TensorRT|Nsight Compute)\b"
COMMANDS = {"lib/measured/profile/ncu.cpp"}  # builds the command line of another program
MARKDOWN = {"lib/documents/estimate/columns.cpp"}  # holds texts of a reference, whose backquotes mark columns
FIELDS = "lib/present/spell.cpp"  # kFields: names between blanks

JSON_READERS = {
    "lib/documents/internal/pagoda/documents/archive.h": "the archive",
    "lib/documents/form.cpp": "the form",
    "lib/documents/calibration.cpp": "coefficients: their names are the rows of an engine",
    "lib/documents/custom_operators.cpp": "attributes and sizes: their names are data",
    "lib/documents/device.cpp": "finds the device of an alias without reading all devices",
    "lib/documents/device_json.cpp": "asks a form whether a rate states its accumulator",
    "lib/documents/estimate/json.cpp": "rows are read one by one, after the rest of the document",
    "lib/documents/provider.cpp": "operators, constraints and host operands: their names are data",
    "lib/documents/measured.cpp": "kernels are read one by one, after the rest of the document",
    "lib/measured/import/kineto_trace.cpp": "a trace of PyTorch",
    "lib/measured/import/ort_profile.cpp": "a profile of ONNX Runtime",
    "lib/measured/import/tensorrt_profile.cpp": "a profile of TensorRT",
    "tools/bench/main.cpp": "a line of a worker",
    "tools/bench/outputs.cpp": "a line of a worker",
    "tools/bench/conv/matmul_command.cpp": "a line of a worker",
}

MOST_PUBLIC = 60

GENERIC = {"Run", "Plan", "Kernel", "Session", "Range", "select", "order", "key"}

# Edges that break a rule today, with the reason. An entry that no longer occurs is a failure: this list only shrinks.
KNOWN_EDGES = {}
KNOWN = {}

SOURCES = {".h", ".cpp", ".c", ".cu", ".cuh"}


class Tree:
    """The sources below a root: paths are relative to it, with / between parts."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.text = {}
        for top in ("lib", "tools", "tests", "examples"):
            for path in sorted((self.root / top).rglob("*")):
                if path.suffix in SOURCES or path.name == "CMakeLists.txt":
                    self.text[path.relative_to(self.root).as_posix()] = path.read_text(errors="replace")
        found = re.search(r"set\(PAGODA_LAYERS ([\w\s]+)\)", self.text["lib/CMakeLists.txt"])
        self.layers = found[1].split()
        self.sources = {path: includes(text) for path, text in self.text.items() if not path.endswith(".txt")}
        self.public = {as_included(path): path for path in self.sources if is_public(path)}
        self.owner = {header: self.implementer(header) for header in self.public.values()}

    def cmake(self):
        return {path: text for path, text in self.text.items() if path.endswith("CMakeLists.txt")}

    def layer(self, path):
        """'core', 'bridges', 'tools' …"""
        parts = path.split("/")
        if parts[0] != "lib":
            return parts[0]
        return parts[1] if parts[1] in self.layers + ["bridges"] else "bridges"  # lib/include is above all layers

    def rank(self, layer):
        return (self.layers + ["bridges", "tools", "tests", "examples"]).index(layer)

    def folder(self, path):
        """'core/ops'; 'core' for files outside of its folders."""
        return self.owner.get(path) or place(path)

    def implementer(self, header):
        inside = re.split("/include/|/internal/", header)[0] + "/"
        inside = [path for path in self.sources if path.startswith(inside) and path.endswith(".cpp")]
        own = [path for path in inside if header in self.resolved(path)]
        named = [path for path in own if stem(path) == stem(header)]
        first = [path for path in own if self.resolved(path)[0] == header]
        functions = {entry.name for entry in declarations(header, self.text[header]) if entry.kind == "function"}
        define = [path for path in own if any(
            entry.kind == "function" and entry.name in functions for entry in declarations(path, self.text[path]))]
        for sources in ([path for path in named if path in first], named, first, define):
            folders = {place(path) for path in sources}
            if len(folders) == 1:
                return folders.pop()
        return as_included(header)

    def resolve(self, path, include):
        """The file that a quoted include in `path` refers to; None for generated and third-party files."""
        if include in self.public:
            return self.public[include]
        parts = path.split("/")
        own = "/".join(parts[:3] if parts[1] == "bridges" else parts[:2])
        beside = (pathlib.PurePosixPath(path).parent / include).as_posix()
        places = [normal(beside), f"{own}/{include}"]
        if parts[0] == "tests":
            places.append(f"tests/{include}")
        if parts[0] != "lib":
            places += [f"{top}/{include}" for top in sorted({"/".join(p.split("/")[:2]) for p in self.sources
                                                             if p.startswith("tools/")})]
        places += [f"lib/{layer}/{include}" for layer in self.layers]
        places += [f"{top}/{include}" for top in ("tools", "tests")]
        return next((place for place in places if place in self.sources), None)

    def resolved(self, path):
        return [self.resolve(path, name) for quote, name in self.sources[path] if quote == '"']


def place(path):
    """The folder of a file, as named by Tree.folder()."""
    parts = path.split("/")[:-1]
    return "/".join(parts[1:3] if parts[0] == "lib" else parts[:2])


def stem(path):
    return path.rsplit("/", 1)[1].split(".")[0]


def normal(path):
    parts = []
    for part in path.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def is_installed(path):
    return "/include/" in path and path.split("/")[0] in ("lib", "tools")


def is_public(path):
    """Whether other layers may include it: in include or in internal."""
    return is_installed(path) or (path.startswith("lib/") and "/internal/" in path)


def as_included(header):
    return re.split("/include/|/internal/", header)[1]


def includes(text):
    """[('"' or '<', name)] in order."""
    return re.findall(r'^\s*#\s*include\s*(["<])([^">]+)[">]', text, re.M)


# Includes and link lines


def upward_includes(tree):
    for path in tree.sources:
        layer = tree.layer(path)
        if layer in ("tests", "examples"):
            continue
        for target in tree.resolved(path):
            if target and tree.rank(tree.layer(target)) > tree.rank(layer):
                yield f"{path}: includes {target}, which is above {layer}"


def private_includes(tree):
    layers_of = collections.defaultdict(set)
    for path in tree.sources:
        for target in tree.resolved(path):
            if not target or not target.startswith("lib/") or is_public(target):
                continue
            mine, its = tree.layer(path), tree.layer(target)
            if mine == "tests":
                layers_of[path.split("/")[1]].add(its)
            elif mine != its and not target.startswith(KITS.get(mine, "-")):
                yield f"{path}: includes {target}, a private header of {its}"
            elif is_public(path):
                yield f"{path}: a public header that includes {target}, which is private"
    for path in tree.public.values():
        for target in tree.resolved(path):
            if target and is_installed(path) and not is_installed(target):
                yield f"{path}: a public header that includes {target}, which is not installed"
    for folder, layers in sorted(layers_of.items()):
        if len(layers) > 1:
            yield f"tests/{folder}: includes private headers of {' and '.join(sorted(layers))}; a test goes inside one layer"


def foreign_includes(tree):
    for path in tree.public.values():
        if path.startswith("lib/bridges/"):
            continue  # bridges exist to handle other libraries' types
        for quote, name in tree.sources[path]:
            if quote == "<" and not re.fullmatch(r"[a-z_0-9]+|sys/[a-z_]+\.h", name):  # of C++ or of the C library
                yield f"{path}: a public header that includes <{name}>"
            if quote == '"' and not tree.resolve(path, name):
                yield f"{path}: includes \"{name}\", which is no header of Pagoda"


def unused_headers(tree):
    headers = [path for path in tree.public.values() if is_installed(path)]
    used = {target for path in tree.sources if tree.layer(path) != "tests"
            for target in tree.resolved(path) if target and tree.layer(target) != tree.layer(path)}
    used |= {path for path in headers if tree.layer(path) in ("bridges", "tools")}
    more = sorted(used)
    while more:
        more = [target for path in more if is_installed(path) for target in tree.resolved(path) if target and target not in used]
        used |= set(more)
    for path in headers:
        if path not in used:
            yield f"{path}: a public header that nothing outside of its layer uses; move it to internal, or into a folder of the layer"
    if len(headers) > MOST_PUBLIC:
        yield f"{len(headers)} public headers, expected at most {MOST_PUBLIC}"


def hidden_headers(tree):
    exported = r"^#pragma GCC visibility push\(default\)\nnamespace (?:.*\n)*#pragma GCC visibility pop\n"
    for path in tree.public.values():
        if path.split("/")[1] in tree.layers and not re.search(exported, tree.text[path], re.M):
            yield f"{path}: declares outside #pragma GCC visibility push(default) and pop; a shared library would hide it"


def commands(text):
    """(name, [argument]) of CMake's commands."""
    text = re.sub(r"#[^\n]*", "", text)
    for name, arguments in re.findall(r"(\w+)\s*\(([^()]*)\)", text):
        yield name, [argument.strip('"') for argument in arguments.split()]


def upward_links(tree):
    targets = {f"pagoda{joint}{layer}": layer for layer in tree.layers for joint in ("_", "::")}
    targets |= {"pagoda": "bridges", "pagoda::pagoda": "bridges"}
    for path, text in tree.cmake().items():
        layer = path.split("/")[1] if path.count("/") > 1 else ""
        if not path.startswith("lib/") or layer not in tree.layers:
            continue
        for name, arguments in commands(text):
            if name not in ("pagoda_layer", "target_link_libraries"):
                continue
            for argument in arguments[1:]:
                its = targets.get(argument, "bridges" if re.match(r"pagoda::|bench_|tools_", argument) else None)
                if its and tree.rank(its) >= tree.rank(layer):
                    yield f"{path}: links {argument}, which is not below {layer}"


def include_directories(tree):
    """Library folders that are added to include paths elsewhere."""
    layers_of = collections.defaultdict(set)
    for path, text in tree.cmake().items():
        folder = path.rsplit("/", 1)[0]
        for name, arguments in commands(text):
            if name == "pagoda_test" and "INSIDE" in arguments:
                layers_of[f"{folder}: {arguments[0]}_test"].add(arguments[arguments.index("INSIDE") + 1])
            if name not in ("include_directories", "target_include_directories"):
                continue
            for argument in arguments:
                argument = argument.replace("${PROJECT_SOURCE_DIR}/", "../" * (folder.count("/") + 1))
                argument = argument.replace("${CMAKE_CURRENT_SOURCE_DIR}", ".")
                place = normal(f"{folder}/{argument}")
                if not place.startswith("lib/") or "$" in place or place.startswith(folder) or \
                        f"{place}/" == KITS.get(folder.removeprefix("lib/")):
                    continue
                if path.startswith("tests/") and place.split("/")[1] in tree.layers:
                    layers_of[f"{folder}: {arguments[0]}"].add(place.split("/")[1])
                else:
                    yield f"{path}: adds {place} to the include path of {arguments[0]}; link the target instead"
    for target, layers in sorted(layers_of.items()):
        if len(layers) > 1:
            yield f"{target} goes inside {' and '.join(sorted(layers))}; a test goes inside one layer"


def missing_headers(tree):
    for path in tree.sources:
        if path.startswith(("lib/", "tools/")):
            for header in sorted(set(re.findall(r"\bpagoda/[\w/]+\.h\b", tree.text[path])) - set(tree.public)):
                yield f"{path}: names {header}, which does not exist; name the public header that is meant"


def locale_numbers(tree):
    reader = r"\b(sto(?:i|l|ll|ul|ull|f|d|ld)|strto\w+|ato(?:i|l|ll|f)|\w*scanf)\s*\("
    for path in tree.sources:
        if path.startswith(("lib/", "tools/")):
            for name in sorted(set(re.findall(reader, without_comments(tree.text[path])))):
                yield f"{path}: reads numbers with {name}(); use base::parse_number() or base::leading_number()"


def hand_readers(tree):
    found = set()
    for path in tree.sources:
        text = without_comments(tree.text[path])
        if path.startswith(("lib/", "tools/")) and re.search(r"\b(JsonField|JsonDocument|parse_json)\b", text):
            # A member of an archive (a, inner) or a form is described by the same words.
            asks = re.search(r"(?<!\ba)(?<!\binner)(?<!\bform)\.(at|has|array|texts?|integer|number|truth|amount|settings)\(\"|\.members\(\)", text)
            if asks and not path.startswith("lib/base/"):
                found.add(path)
    for path in sorted(found - set(JSON_READERS)):
        yield f"{path}: reads JSON by hand; describe the document by documents/archive.h, or read it by form.h"
    if "lib/documents/form.cpp" in tree.sources:  # this tree, not one of the tests
        for path in sorted(set(JSON_READERS) - found):
            yield f"JSON_READERS: {path} reads no JSON by hand; remove the entry"


def literals(text):
    """The texts of string literals; adjacent ones are one."""
    text = re.sub(r'"\s*\n\s*"', "", text)
    for found in re.finditer(r'"((?:\\.|[^"\\\n])*)"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*', text):
        if found[1]:
            yield found[1]


def options(tree):
    table = re.search(r"kFields\[\] = \{(.*?)^\};", tree.text.get(FIELDS, ""), re.S | re.M)
    fields = {name for text in literals(table[1]) for name in text.split()} if table else set()
    for path in tree.sources:
        layer = tree.layer(path)
        if not path.startswith("lib/") or layer not in tree.layers or layer in FRONTS or path in COMMANDS:
            continue
        for literal in literals(tree.text[path]):
            for found in re.finditer(r"--[a-z][a-z-]*", literal):
                if not re.search(PROGRAMS, literal[:found.start()]):
                    yield f"{path}: a message names the option {found[0]}; name the field of the request, as present/spell.h says"
            for field in re.findall(r"`(\w+)[`=]", literal):
                if field not in fields and path not in MARKDOWN:
                    yield f"{path}: a message names the field {field}, which {FIELDS} cannot spell"
        for field in re.findall(r'\bfield\("(\w+)"', tree.text[path]):
            if field not in fields:
                yield f"{path}: a message names the field {field}, which {FIELDS} cannot spell"


def uncompiled(tree):
    named = set()
    for path, text in tree.cmake().items():
        folder = path.rsplit("/", 1)[0]
        for name, arguments in commands(text):
            for argument in arguments:
                named.add(normal(f"{folder}/" + argument.removeprefix("${CMAKE_CURRENT_SOURCE_DIR}/")))
                if name == "pagoda_test":
                    named.add(normal(f"{folder}/{arguments[0]}/{argument}"))
    for path in tree.sources:
        if not path.endswith((".cpp", ".c")) or path.split("/")[0] not in ("lib", "tests") or path in named:
            continue
        file = tree.root / path
        if not any(file.name in script.read_text() for script in file.parent.glob("*.sh")):
            yield f"{path}: compiled by nothing; name it in the CMakeLists.txt of its target, or delete it"


# Circles


def folder_graph(tree):
    """{folder: {folder that it includes: (file, file)}}"""
    graph = collections.defaultdict(dict)
    for path in sorted(tree.sources):
        if tree.layer(path) in ("tests", "examples"):
            continue
        for target in tree.resolved(path):
            if target and tree.folder(path) != tree.folder(target):
                graph[tree.folder(path)].setdefault(tree.folder(target), (path, target))
    return graph


def path_between(graph, start, goal):
    """A shortest path, or None."""
    before, queue = {start: None}, collections.deque([start])
    while queue:
        at = queue.popleft()
        if at == goal:
            way = []
            while at is not None:
                way.append(at)
                at = before[at]
            return way[::-1]
        for to in sorted(graph.get(at, {})):
            if to not in before:
                before[to] = at
                queue.append(to)
    return None


def circles(tree, known):
    graph = folder_graph(tree)
    for (start, goal), reason in known.items():
        if goal not in graph.get(start, {}) or not path_between(graph, goal, start):
            yield f"KNOWN_EDGES: {start} -> {goal} ({reason}) no longer closes a circle; remove the entry"
    kept = {start: {goal: files for goal, files in goals.items() if (start, goal) not in known}
            for start, goals in graph.items()}
    told = set()
    for start in sorted(kept):
        for goal in sorted(kept[start]):
            back = path_between(kept, goal, start)
            if not back or (start, goal) in told:
                continue
            ring = [start] + back
            told |= set(itertools.pairwise(ring))
            steps = [f"{a} -> {b} ({kept[a][b][0]} includes {kept[a][b][1]})" for a, b in itertools.pairwise(ring)]
            yield "folders in a circle: " + ", ".join(steps)


# Names

Declared = collections.namedtuple("Declared", "kind namespace name path")


def without_comments(text):
    pattern = r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*(?:.|\n)*?\*/'
    text = re.sub(r"(?<=\d)'(?=\d)", "", text)  # digit separators
    text = re.sub(pattern, lambda found: " " if found[0].startswith("/") else '""', text)
    return re.sub(r"^\s*#(?:.*\\\n)*.*$", "", text, flags=re.M)


def declarations(path, text):
    """Types and functions declared at namespace scope, outside anonymous namespaces."""
    scopes, head, depth = [], [], 0  # scopes: names of the enclosing namespaces; depth: braces inside a declaration
    for token in re.findall(r"\w+|::|\S", without_comments(text)):
        if token == "{" and depth == 0 and "namespace" in head and "using" not in head:
            scopes.append([word for word in head if word not in ("inline", "namespace", "::")] or [""])
            head = []
        elif token == "{":
            depth += 1
            if depth == 1:
                head.append("{")
        elif token == "}" and depth > 0:
            depth -= 1
            # The end of a function, not of a default argument.
            if depth == 0 and "(" in head and head.count("(") == head.count(")"):
                yield from declared(path, scopes, head)
                head = []
        elif token == "}":
            scopes.pop()
            head = []
        elif depth == 0 and token == ";":
            yield from declared(path, scopes, head)
            head = []
        elif depth == 0:
            head.append(token)


def declared(path, scopes, head):
    namespace = [name for scope in scopes for name in scope]
    text = re.sub(r"template <(?:[^<>]|<[^<>]*>)*>|\[ \[.*?\] \]", "", " ".join(head)).strip()
    if "" in namespace or "friend" in head:
        return
    found = re.match(r"using (\w+) =", text) or re.match(
        r"(?:struct|class|union|enum(?: class| struct)?)(?: \w+)*? (\w+)(?: final)?(?: :[^:].*)? \{", text)
    if found:
        yield Declared("type", "::".join(namespace), found[1], path)
    elif found := re.match(r"[^(={]*?(\w+) \(", text):
        yield Declared("function", "::".join(namespace), found[1], path)


def names(tree):
    library = [entry for path, text in tree.text.items() if path in tree.sources
               and (path.startswith("lib/") or is_public(path)) for entry in declarations(path, text)]
    public, qualified = collections.defaultdict(set), collections.defaultdict(set)
    for entry in library:
        if entry.kind == "type":
            qualified[f"{entry.namespace}::{entry.name}"].add(entry.path)
            if is_public(entry.path):
                public[entry.name].add(entry.path)
    for name, paths in sorted(public.items()):
        if len(paths) > 1:
            yield f"public type {name} is declared twice: {', '.join(sorted(paths))}"
    for name, paths in sorted(qualified.items()):
        if len(paths) > 1 and len(public.get(name.split("::")[-1], ())) < 2:
            yield f"type {name} is defined twice: {', '.join(sorted(paths))}"
    generic = {(as_included(entry.path), entry.name, entry.namespace) for entry in library
               if is_public(entry.path) and entry.name in GENERIC and entry.namespace in ("pagoda", "pagoda::core")}
    for path, name, namespace in sorted(generic):
        yield f"{path}: generic name {name} in namespace {namespace}"


def check(root, known_edges, known):
    """Violations of the rules that are not known ones, as sentences."""
    tree = Tree(root)
    found = [sentence for rule in (upward_includes, private_includes, foreign_includes, unused_headers, hidden_headers,
                                   upward_links, include_directories, names, missing_headers, locale_numbers, hand_readers, options,
                                   uncompiled)
             for sentence in rule(tree)]
    stale = [f"KNOWN: \"{entry}\" no longer occurs; remove the entry" for entry in known if entry not in found]
    return [entry for entry in found if entry not in known] + stale + list(circles(tree, known_edges))


if __name__ == "__main__":
    offenders = check(sys.argv[1], KNOWN_EDGES, KNOWN)
    print("\n".join(offenders) if offenders else
          f"no offender; known and still there: {len(KNOWN_EDGES)} edges, {len(KNOWN)} other")
    sys.exit(bool(offenders))
