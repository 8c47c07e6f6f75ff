// Time by part of the model: an icicle chart whose widths are time, with layers that are alike folded into one.
const kDepth = 6, kStepHeight = 24;
function parts_of(series, i) {
  const name = series.items.name[i].split("/").filter(Boolean), scope = strings[series.items.scope[i]].split("/").filter(Boolean);
  return name.length > 1 || !scope.length ? name : [...scope, ...name];
}
// Whether an item lies in the searched part: the rows in view also hold their items in other parts.
function in_search() {
  const s = series(), finds = state.q.toLowerCase().split(/\s+/).filter((word) => word.includes("/")).map(finder), text = (i) => searched(s.items.name[i], strings[s.items.scope[i]]).toLowerCase();
  const matches = Array.from({ length: s.items.count }, (_, i) => finds.every((find) => find(text(i))));
  const found = matches.includes(true);
  return (i) => matches[i] || !found;
}
// The parts of the model by name, in order of execution; `items` are those that end here, `ends` if no name goes on.
function grow_tree(rows) {
  const s = series(), wanted = new Set(rows), part_of = (part) => ({ names: [part], count: 1, seconds: 0, limits: kNoLimits(), items: [], parts: new Map(), ends: true }), root = part_of(""), searches = in_search();
  for (let i = 0; i < s.items.count; ++i) {
    const row = s.row_of[i], seconds = row && wanted.has(row) && searches(i) ? s.seconds_of(i) ?? 0 : 0;
    if (!(seconds > 0)) continue;
    const path = parts_of(s, i);
    let node = root;
    const add = () => { node.seconds += seconds; node.limits[s.items.limit[i]] += seconds; };
    add();
    for (const part of path.slice(0, kDepth)) {
      node.ends = false;
      if (!node.parts.has(part)) node.parts.set(part, part_of(part));
      node = node.parts.get(part);
      add();
    }
    if (path.length > kDepth) node.ends = false;
    node.items.push(i);
  }
  return fold(measured(root));
}
// The operators of a part in order, as a text, and its items in the same order.
function measured(node) {
  node.parts = [...node.parts.values()].map(measured);
  node.recipe = `${node.items.map((i) => series().items.type[i]).join()}(${node.parts.map((part) => part.recipe).join(";")})`;
  node.all = [...node.items, ...node.parts.flatMap((part) => part.all)];
  return node;
}
// Siblings are alike if their names differ only in numbers, they hold the same operators in the same order, and each
// has the same FLOPs and bytes up to this part of the larger.
const kAlike = 0.05;
function are_alike(a, b) {
  const { items } = series(), near = (x, y) => x === y || (x !== null && y !== null && Math.abs(x - y) <= kAlike * Math.max(x, y));
  return a.all.every((i, k) => near(items.flops[i], items.flops[b.all[k]]) && near(items.bytes[i], items.bytes[b.all[k]]));
}
function fold(node) {
  const groups = new Map();
  for (const part of node.parts) {
    const key = part.names[0].replace(/\d+/g, "#") + " " + part.recipe, list = groups.get(key) ?? groups.set(key, []).get(key);
    const alike = list.find((group) => are_alike(group[0], part));
    if (alike) alike.push(part);
    else list.push([part]);
  }
  node.parts = [...groups.values()].flat().map((group) => fold({ ...merge(group), count: group.length }));
  return node;
}
// Parts with the same recipe have the same parts at the same places.
function merge(group) {
  if (group.length === 1) return group[0];
  const sum = (get) => group.reduce((all, part) => all + get(part), 0), seconds = group.map((part) => part.seconds);
  return { ...group[0], names: [...new Set(group.flatMap((part) => part.names))], seconds: sum((part) => part.seconds), least: Math.min(...seconds), most: Math.max(...seconds),
    limits: group[0].limits.map((_, limit) => sum((part) => part.limits[limit])), all: group.flatMap((part) => part.all), count: 1,
    parts: group[0].parts.map((_, k) => merge(group.map((part) => part.parts[k]))) };
}
// "layers.0–79" and, for the search, "layers.{0-79}"; with several numbers that differ or many gaps "layers.*".
function names_of(names) {
  const parts = names.map((name) => name.split(/(\d+)/)), [first] = parts, at = first.map((_, k) => k).filter((k) => parts.some((part) => part[k] !== first[k]));
  if (!at.length) return [names[0], names[0]];
  const join = (text) => first.map((part, k) => (at.includes(k) ? text : part)).join("");
  if (at.length > 1) return [join("*"), join("{*}")];
  const ranges = [];
  for (const number of parts.map((part) => Number(part[at[0]])).sort((a, b) => a - b)) {
    const last = ranges[ranges.length - 1];
    if (last && number === last[1] + 1) last[1] = number;
    else ranges.push([number, number]);
  }
  const text = (dash) => ranges.map(([from, to]) => (from === to ? from : from + dash + to)).join(",");
  return [ranges.length > 2 ? join("*") : join(text("–")), join(`{${text("-")}}`)];
}
const has_structure = () => series().rows.some((row) => row.seconds > 0 && parts_of(series(), row.first).length > 1);
function draw_structure(rows, holder) {
  const root = grow_tree(rows), width = Math.max(280, room.tabs);
  let depth = 0;
  const picture = element("svg", { role: "group", "aria-label": "Time by part of the model", width, "font-size": 12 });
  const place = (node, left, level, path) => {
    let x = left;
    for (const part of [...node.parts].sort((a, b) => b.seconds - a.seconds)) {
      const wide = (part.seconds / root.seconds) * width, [name, term] = names_of(part.names), times = part.count > 1 ? ` ×${part.count}` : "";
      if (wide < 1.5) break;
      depth = Math.max(depth, level + 1);
      const limit = part.limits.indexOf(Math.max(...part.limits)), share = percent(part.seconds / root.seconds), inner = path + term + (part.ends ? "" : "/");
      const each = part.count > 1 ? `, each ${si(part.least, "s")} … ${si(part.most, "s")}` : "";
      const text = `${name}${times}: ${si(part.seconds, "s")}, ${share}${each}, mostly ${kLimit[limit]}`;
      const group = element("g", { tabindex: level < 2 ? 0 : -1, role: "button", "aria-label": text + "; show only this" }, picture);
      group.dataset.filter = inner;
      element("title", {}, group).textContent = text;
      element("rect", { x: fix(x + 0.5), y: level * kStepHeight + 0.5, width: fix(Math.max(0.5, wide - 1)), height: kStepHeight - 1, fill: kLimitColors[limit], }, group);
      const room = wide - 10, label = (limit === 0 || limit === 4 ? "" : kLetters[limit] + " ") + name + times;
      const shown = text_width(label + " " + share) < room ? label + " " + share : text_width(label) < room ? label : "";
      if (shown) element("text", { x: fix(x + 5), y: level * kStepHeight + 16, fill: limit === 0 ? "#1f2328" : "#fff" }, group).textContent = shown;
      place(part, x, level + 1, inner);
      x += wide;
    }
  };
  place(root, 0, 0, "");
  picture.setAttribute("height", Math.max(1, depth) * kStepHeight);
  picture.setAttribute("viewBox", `0 0 ${width} ${Math.max(1, depth) * kStepHeight}`);
  holder.replaceChildren(picture);
}
by_id("structure").addEventListener("keydown", (event) => {
  const part = event.target.closest?.("g[data-filter]");
  if (!part || (event.key !== "Enter" && event.key !== " ")) return;
  event.preventDefault();
  filter_by(part.dataset.filter);
});
