// Time by part of the model: an icicle chart whose widths are time, with similar layers folded into one.
const kDepth = 6, kStepHeight = 24;
function parts_of(series, i) {
  const name = series.items.name[i].split("/").filter(Boolean), scope = strings[series.items.scope[i]].split("/").filter(Boolean);
  return name.length > 1 || !scope.length ? name : [...scope, ...name];
}
// Layers whose names differ only in numbers form one part.
function grow_tree(rows) {
  const s = series(), root = { seconds: 0, parts: new Map(), limits: [0, 0, 0, 0, 0], names: new Set(), words: [] };
  const add = (node, row, seconds) => { node.seconds += seconds; node.limits[row.limit] += seconds; };
  for (const row of rows)
    for (const i of row.list) {
      const seconds = s.seconds_of(i) ?? 0;
      if (!seconds) continue;
      let node = root;
      add(root, row, seconds);
      for (const part of parts_of(s, i).slice(0, kDepth)) {
        const key = part.replace(/\d+/g, "#");
        if (!node.parts.has(key)) node.parts.set(key, { seconds: 0, parts: new Map(), limits: [0, 0, 0, 0, 0], names: new Set(), words: [...node.words, part.replace(/\d.*$/, "")] });
        node = node.parts.get(key);
        node.names.add(part);
        add(node, row, seconds);
      }
    }
  return root;
}
const has_structure = () => series().rows.some((row) => row.seconds > 0 && parts_of(series(), row.first).length > 1);
function draw_structure(rows, holder) {
  const root = grow_tree(rows), width = Math.max(280, room.tabs);
  let depth = 0;
  const picture = element("svg", { role: "group", "aria-label": "Time by part of the model", width, "font-size": 12 });
  const place = (node, left, level) => {
    let x = left;
    for (const [, part] of [...node.parts].sort((a, b) => b[1].seconds - a[1].seconds)) {
      const wide = (part.seconds / root.seconds) * width, first = [...part.names][0], times = part.names.size > 1 ? ` ×${part.names.size}` : "";
      if (wide < 1.5) break;
      depth = Math.max(depth, level + 1);
      const limit = part.limits.indexOf(Math.max(...part.limits)), share = percent(part.seconds / root.seconds), words = part.words.filter(Boolean).join(" ");
      const text = `${first}${times}: ${si(part.seconds, "s")}, ${share}, mostly ${kLimit[limit]}`;
      const group = element("g", { tabindex: level < 2 ? 0 : -1, role: "button", "aria-label": text + "; show only this" }, picture);
      group.dataset.filter = words;
      element("title", {}, group).textContent = text;
      element("rect", { x: fix(x + 0.5), y: level * kStepHeight + 0.5, width: fix(Math.max(0.5, wide - 1)), height: kStepHeight - 1, fill: kLimitColors[limit], }, group);
      const room = wide - 10, label = ["", "C ", "M ", "N ", ""][limit] + first + times;
      const shown = text_width(label + " " + share) < room ? label + " " + share : text_width(label) < room ? label : "";
      if (shown) element("text", { x: fix(x + 5), y: level * kStepHeight + 16, fill: limit === 0 ? "#1f2328" : "#fff" }, group).textContent = shown;
      place(part, x, level + 1);
      x += wide;
    }
  };
  place(root, 0, 0);
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
