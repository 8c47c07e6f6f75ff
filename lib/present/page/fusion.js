// Which nodes form which kernel, and what each kernel saves: by the formulas for the current request if the page has
// them, else by the bytes in the estimate.
function fused_kernels() {
  const s = series(), items = s.items;
  if (!what) {
    return items.members.filter((member) => (items.saved_bytes?.[member[0]] ?? null) !== null).map((member) => {
      const i = member[0], after = s.bound_of(i), saved = items.saved_bytes[i];
      return { main: i, key: [items.type[i], items.flops[i], items.bytes[i], saved].join(), items: [i], names: member_names(member),
        types: member_types(member), before: null, after, bytes: items.bytes[i], saved_bytes: saved };
    });
  }
  const { of, rows, fused } = answered, parts = (list, get) => list.reduce((sum, bound) => sum + (bound ? get(bound) : 0), 0);
  const kernel = (key, list, before, after, names, types, main = list[0]) => ({ main, key: key + "/" + types.join(), items: list, names, types, before: parts(before, (b) => b.seconds), after: after.seconds,
    bytes: after.bytes, saved_bytes: parts(before, (b) => b.bytes) - after.bytes });
  if (what.fused)
    return items.members.map((member) => {
      const i = member[0], id = of.classes[what.class_of[i]], after = fused.bounds[id];
      return after && kernel(id, [i], what.rows_of[i].map((row) => rows.bounds[of.row_classes[row]]), after, member_names(member), member_types(member));
    }).filter(Boolean);
  const groups = new Map();
  what.group_of.forEach((id, i) => { if (id >= 0) (groups.get(id) ?? groups.set(id, []).get(id)).push(i); });
  return [...groups].map(([id, list]) => {
    const after = fused.bounds[of.groups[id]], before = list.map((i) => rows.bounds[of.classes[what.class_of[i]]]);
    const runs = list.filter((_, k) => before[k]?.runs), macs = (k) => before[k]?.macs ?? 0, moved = (k) => before[k]?.bytes ?? 0;
    const main = list[list.reduce((best, _, k) => (macs(k) > macs(best) || (macs(k) === macs(best) && moved(k) > moved(best)) ? k : best), 0)];
    return after && kernel(of.groups[id], list, before, after, list.map((i) => still_items.name[i]), (runs.length ? runs : list).map((i) => strings[items.type[i]]), main);
  }).filter(Boolean);
}
const has_fusion = () => (what ? what.group_of.some((id) => id >= 0) || what.fused : !!series().items.saved_bytes);
// "MatMul + Add + Erf": equal neighbours are written once, with their number.
function recipe(types) {
  const parts = [];
  for (const type of types) {
    const last = parts[parts.length - 1];
    if (last?.type === type) ++last.count;
    else parts.push({ type, count: 1 });
  }
  return parts.map(({ type, count }) => type + (count > 1 ? ` ×${count}` : "")).join(" + ");
}
function draw_fusion(rows, holder) {
  const s = series(), wanted = new Set(rows), alike = new Map();
  let all = 0, saved = 0, saved_bytes = 0, bytes = 0;
  for (const kernel of fused_kernels()) {
    if (!kernel.items.some((i) => wanted.has(s.row_of[i]))) continue;
    const sum = alike.get(kernel.key) ?? alike.set(kernel.key, { ...kernel, count: 0, before: kernel.before === null ? null : 0, after: 0, bytes: 0, saved_bytes: 0 }).get(kernel.key);
    ++sum.count;
    if (sum.before !== null) sum.before += kernel.before;
    sum.after += kernel.after ?? 0;
    sum.bytes += kernel.bytes ?? 0;
    sum.saved_bytes += kernel.saved_bytes;
    ++all;
    saved += kernel.before === null ? 0 : Math.max(0, kernel.before - kernel.after);
    saved_bytes += kernel.saved_bytes;
    bytes += kernel.bytes ?? 0;
  }
  const list = [...alike.values()].filter((kernel) => kernel.types.length > 1), knows_time = list.some((kernel) => kernel.before !== null);
  const gain = (kernel) => (kernel.before === null ? null : Math.max(0, kernel.before - kernel.after));
  const most = list.reduce((longest, kernel) => Math.max(longest, gain(kernel) ?? kernel.saved_bytes), 0) || 1;
  const columns = [
    { key: "name", title: "Kernel", get: (k) => s.items.name[k.main].toLowerCase(), format: (k) => short_name(what && !what.fused ? still_items.name[k.main] : s.items.name[k.main], 40) + (k.count > 1 ? ` ×${k.count}` : "") },
    { key: "nodes", title: "Nodes of each", get: (k) => recipe(k.types).toLowerCase(), format: (k) => [made("details", {}, made("summary", {}, recipe(k.types)), made("ul", {}, ...k.names.map((name) => made("li", {}, name))))] },
    ...(knows_time ? [
      { key: "before", title: "Apart", is_number: true, tip: "Lower bound of its nodes, each a kernel", get: (k) => k.before, format: (k) => in_unit(k.before) },
      { key: "after", title: "Fused", is_number: true, tip: "Lower bound as one kernel", get: (k) => k.after, format: (k) => in_unit(k.after) },
      { key: "saved", title: "Time saved", is_number: true, get: gain, format: (k) => barred(bar_of([[gain(k) / most, "strong"]], 60), in_unit(gain(k))) }] : []),
    { key: "bytes", title: "Bytes moved", is_number: true, get: (k) => k.bytes, format: (k) => si(k.bytes, "B") },
    { key: "saved_bytes", title: "Bytes saved", is_number: true, tip: "Stay within the kernel", get: (k) => k.saved_bytes, format: (k) => (knows_time ? si(k.saved_bytes, "B") : barred(bar_of([[k.saved_bytes / most, "strong"]], 60), si(k.saved_bytes, "B"))) },
  ];
  const says = made("p", { class: "lead" }, made("b", {}, `${all.toLocaleString("en")} kernels of several nodes save ${si(saved_bytes, "B")} of ${si(saved_bytes + bytes, "B")}`), knows_time ? ` and ${si(saved, "s")} of the lower bound` : "", ". A kernel opens to its nodes.");
  holder.replaceChildren(says, plain_table(columns, list, { label: "Fused kernels", by: knows_time ? "saved" : "saved_bytes", each: (tr, kernel) => link_row(tr, s.row_of[kernel.main]) }));
}
// Links a line of a tab's table to a row: hovering and clicking act on that row.
const linked = new WeakMap();
function link_row(tr, row) {
  if (row) linked.set(tr, row);
}
