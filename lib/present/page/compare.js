// Two models side by side: totals, a slope for each change, and a row for each pair of blocks that do the same. Other
// models are compared with the first model of the page. Runs of different numbers of items are compared by item.
const other_series = () => (state.s > 0 ? state.s : 1);
const kSlopes = 12;
const run_items = (s) => pairing.units?.[s.index] ?? 1;
const is_measured = () => [all_series[0], all_series[other_series()]].every((s) => s.items.seconds);
// Bounds are lower or higher; only a measured time is shorter or longer.
const compared_text = (from, to, [less, more]) => (Math.max(from / to, to / from) < 1.005 ? "unchanged" : from >= to ? `${plain(from / to)}× ${less}` : `${plain(to / from)}× ${more}`);
// Pairs that pass the filters on either side; pairs with the same rows on both sides are merged.
function paired_rows() {
  const before = all_series[0], after = all_series[other_series()], alike = new Map(), wanted = new Set([...visible_rows(before), ...visible_rows(after)]);
  for (const [list_a, list_b] of pairing.pairs[other_series() - 1] ?? []) {
    const rows_a = list_a.map((i) => before.row_of[i]), rows_b = list_b.map((j) => after.row_of[j]);
    if (![...rows_a, ...rows_b].some((row) => wanted.has(row))) continue;
    // The longest item names the block and its limit.
    const longest = (s, list) => list.reduce((most, i) => (most === undefined || (s.seconds_of(i) ?? 0) > (s.seconds_of(most) ?? 0) ? i : most), undefined);
    const side = (s, list) => {
      const sum_of = (value) => list.reduce((sum, i) => (sum === null || value(i) === null ? null : sum + value(i) / run_items(s)), 0);
      return { seconds: sum_of(s.seconds_of), flops: sum_of(s.work_of), bytes: sum_of(s.traffic_of), limit: list.length ? s.items.limit[longest(s, list)] : 0 };
    };
    const x = side(before, list_a), y = side(after, list_b), i = longest(before, list_a), j = longest(after, list_b), a = before.row_of[i], b = after.row_of[j];
    const key = [rows_a.map((row) => before.rows.indexOf(row)), rows_b.map((row) => after.rows.indexOf(row))].join("|");
    const sum = alike.get(key) ?? alike.set(key, { before: a, after: b, name: j === undefined ? before.items.name[i] : after.items.name[j], parts: [list_a.length, list_b.length], count: 0, x: { ...x, seconds: 0, flops: 0, bytes: 0 }, y: { ...y, seconds: 0, flops: 0, bytes: 0 } }).get(key);
    ++sum.count;
    for (const [total, one] of [[sum.x, x], [sum.y, y]]) for (const what of ["seconds", "flops", "bytes"]) total[what] = total[what] === null || one[what] === null ? null : total[what] + one[what];
  }
  return [...alike.values()];
}
const change_of = (pair, what) => (pair.x[what] === null || pair.y[what] === null ? null : pair.y[what] - pair.x[what]);
const signed = (value, unit) => (value === null ? "–" : value === 0 ? "0" : (value > 0 ? "+" : "−") + si(Math.abs(value), unit));
function times_text(from, to) {
  if (!(from > 0) || !(to > 0)) return from > 0 ? "gone" : to > 0 ? "new" : "–";
  return compared_text(from, to, is_measured() ? ["shorter", "longer"] : ["lower", "higher"]);
}
const kind_of = (pair) => (!pair.before ? "added" : !pair.after ? "removed" : change_of(pair, "seconds") === 0 && change_of(pair, "bytes") === 0 && change_of(pair, "flops") === 0 ? "same" : "changed");

// Lines from the time before to the time after on one logarithmic scale, so that equal slopes are equal ratios.
function draw_slopes(pairs, whole, width) {
  const shown = pairs.filter((pair) => pair.x.seconds > 0 && pair.y.seconds > 0 && kind_of(pair) === "changed" && Math.abs(change_of(pair, "seconds")) > 0.001 * (whole[0] + whole[1])).sort((a, b) => Math.abs(change_of(b, "seconds")) - Math.abs(change_of(a, "seconds"))).slice(0, kSlopes);
  const lines = [{ name: "all", x: whole[0], y: whole[1], is_whole: true }, ...shown.map((pair) => ({ name: short_name(pair.name, 20) + (pair.count > 1 ? ` ×${pair.count}` : ""), x: pair.x.seconds, y: pair.y.seconds, pair }))].filter((line) => line.x > 0 && line.y > 0);
  const height = 40 + 24 * Math.max(6, lines.length), values = lines.flatMap((line) => [line.x, line.y]), low = Math.log(Math.min(...values)), high = Math.log(Math.max(...values));
  const y = (value) => (high > low ? 34 + ((high - Math.log(value)) / (high - low)) * (height - 56) : height / 2);
  const left = 84, right = Math.max(left + 60, width - 244);
  const picture = element("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "slopes", role: "img", "font-size": 12, "aria-label": "Times before and after; green falls, orange rises" });
  const write = (x, at, text, anchor, weight = "normal") => { element("text", { x, y: fix(at + 4), "text-anchor": anchor, class: "ink", "font-weight": weight }, picture).textContent = text; };
  write(left, 10, "before", "middle", "bold");
  write(right, 10, "after", "middle", "bold");
  // Labels keep their order and stay one text line apart.
  const spread = (end) => {
    const sorted = [...lines].sort((a, b) => y(a[end]) - y(b[end]));
    let last = -Infinity;
    for (const line of sorted) line["at_" + end] = last = Math.max(y(line[end]), last + 15);
    for (let i = sorted.length - 1, most = height - 8; i >= 0; --i, most -= 15) sorted[i]["at_" + end] = Math.min(sorted[i]["at_" + end], most);
  };
  spread("x");
  spread("y");
  for (const line of lines) {
    const kind = line.is_whole ? "whole" : line.y < line.x ? "better" : "worse", group = element("g", { class: "slope " + kind }, picture);
    element("path", { d: `M${left} ${fix(y(line.x))}L${right} ${fix(y(line.y))}`, fill: "none" }, group);
    element("circle", { cx: left, cy: fix(y(line.x)), r: 3.5 }, group);
    element("path", { d: `M${right - 4} ${fix(y(line.y) + (kind === "worse" ? 4 : -4))}h8l-4 ${kind === "worse" ? -8 : 8}Z`, class: "tip" }, group);
    // A label that had to move points to its line.
    for (const [x, end, at] of [[left - 4, line.x, line.at_x], [right + 4, line.y, line.at_y]])
      if (Math.abs(y(end) - at) > 2) element("path", { d: `M${x} ${fix(y(end))}L${x < right ? x - 10 : x + 10} ${fix(at)}`, fill: "none", class: "leader" }, group);
    write(left - 16, line.at_x, si(line.x, "s"), "end", line.is_whole ? "bold" : "normal");
    write(right + 16, line.at_y, `${si(line.y, "s")}  ${line.is_whole ? "all, " + times_text(line.x, line.y) : line.name}`, "start", line.is_whole ? "bold" : "normal");
    if (line.pair) link_row(group, line.pair[state.s === 0 ? "before" : "after"]);
  }
  return picture;
}
function draw_compare(rows, holder) {
  const before = all_series[0], after = all_series[other_series()], k = other_series(), pairs = paired_rows();
  const factor_text = (from, to) => (from > 0 && to > 0 ? compared_text(from, to, ["lower", "higher"]) : "");
  const whole = [before.seconds / run_items(before), after.seconds / run_items(after)];
  const grid = made("table", { class: "plain", "aria-label": "Totals" }, made("thead", {}, made("tr", {}, ...["Total", "Before", "After", "Change"].map((title, i) => made("th", { scope: "col", class: i ? "number" : "" }, title)))), made("tbody", {},
    ...pairing.totals.filter((total) => total.values[0] !== null && total.values[k] !== null).map(({ name, unit, values }) => {
      const change = factor_text(values[0], values[k]);
      return made("tr", {}, ...[name, si(values[0], unit), si(values[k], unit), signed(values[k] - values[0], unit) + (change && change !== "unchanged" ? `, ${change}` : "")].map((text, i) => made(i ? "td" : "th", i ? { class: "number" } : { scope: "row" }, text)));
    })));
  const counts = new Map();
  for (const pair of pairs) counts.set(kind_of(pair), (counts.get(kind_of(pair)) ?? 0) + pair.count);
  const listed = ["same", "changed", "added", "removed"].filter((kind) => counts.get(kind)).map((kind) => `${counts.get(kind).toLocaleString("en")} ${kind}`).join(", ");
  const how = !pairing.pairs[k - 1] ? "less than half of the work matches by name or structure, so that only totals are compared." : `${listed} of the rows in view.${pairing.units ? ` Rows and slopes are of one ${pairing.unit}.` : ""}`;
  const says = made("p", { class: "lead" }, made("b", {}, `${before.label} → ${after.label}`), ": " + how);
  // One unit and three digits for all times, so that before, after and their difference read alike.
  const longest = Math.max(...pairs.flatMap((p) => [p.x.seconds ?? 0, p.y.seconds ?? 0]), 0), step = longest > 0 ? Math.max(-3, Math.min(0, Math.floor(Math.log10(longest) / 3 + 1e-12))) : 0;
  const in_step = (value) => (value === null ? "–" : value === 0 ? "0" : digits3(value / 1000 ** step) === "0.000" ? si(value, "s") : `${digits3(value / 1000 ** step)} ${["ns", "µs", "ms", "s"][step + 3]}`);
  const signed_time = (value) => (value === null ? "–" : value === 0 ? "0" : (value > 0 ? "+" : "−") + in_step(Math.abs(value)));
  const most = pairs.reduce((largest, pair) => Math.max(largest, Math.abs(change_of(pair, "seconds") ?? 0)), 0) || 1;
  const columns = [
    { key: "name", title: "Block", tip: "In brackets: its operators before and after", get: (p) => p.name.toLowerCase(), format: (p) => short_name(p.name, 30) + (p.count > 1 ? ` ×${p.count}` : "") + (p.parts[0] > 1 || p.parts[1] > 1 ? ` (${p.parts.join(" → ")})` : "") },
    { key: "kind", title: "Is", get: kind_of, format: kind_of },
    { key: "before", title: "Before", is_number: true, get: (p) => p.x.seconds, format: (p) => (p.before ? in_step(p.x.seconds) : "–") },
    { key: "after", title: "After", is_number: true, get: (p) => p.y.seconds, format: (p) => (p.after ? in_step(p.y.seconds) : "–") },
    { key: "delta", title: "Δ time", tip: "Sorted by its size", is_number: true, get: (p) => (change_of(p, "seconds") === null ? null : Math.abs(change_of(p, "seconds"))), format: (p) => barred(bar_of([[Math.abs(change_of(p, "seconds") ?? 0) / most, change_of(p, "seconds") > 0 ? "worse" : "better"]], 60), signed_time(change_of(p, "seconds"))) },
    { key: "ratio", title: "Ratio", is_number: true, get: (p) => ratio(p.x.seconds, p.y.seconds), format: (p) => times_text(p.x.seconds, p.y.seconds) },
    { key: "limit", title: "Limit", tip: "Before, and after where it is another", get: (p) => (p.x.limit === p.y.limit ? 1 : 0), format: (p) => (!p.before || !p.after || p.x.limit === p.y.limit ? [chip_of(p.after ? p.y.limit : p.x.limit)] : [chip_of(p.x.limit), " → ", chip_of(p.y.limit)]) },
    { key: "bytes", title: "Δ bytes", is_number: true, get: (p) => change_of(p, "bytes"), format: (p) => signed(change_of(p, "bytes"), "B") },
    { key: "flops", title: "Δ FLOP", is_number: true, get: (p) => change_of(p, "flops"), format: (p) => signed(change_of(p, "flops"), "") },
  ];
  const wide = Math.max(320, room.tabs), is_wide = wide > 1100, slopes = draw_slopes(pairs, whole, is_wide ? Math.round(0.4 * (wide - 20)) : wide);
  holder.replaceChildren(says, made("div", { class: "beside" }, made("div", {}, grid, slopes), plain_table(columns, pairs.filter((pair) => kind_of(pair) !== "same"), { label: "Changes by operator", by: "delta", each: (tr, pair) => link_row(tr, pair[state.s === 0 ? "before" : "after"]) })));
}
