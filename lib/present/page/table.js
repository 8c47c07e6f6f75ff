// Every operator as text: the accessible equivalent of the picture. Only visible rows are in the document.
const kRowHeight = 26;
const rate = (row) => (row.measured ?? row.bound);
// Percentages in columns have one decimal, so that they line up.
const column_percent = (value) => (value === null ? "–" : value > 0 && value < 0.0005 ? "<0.1%" : (100 * value).toFixed(1) + "%");
const number_of = (get, format) => ({ get, format(row) { return format(get(row), this.unit); }, is_number: true });
// A count of which some size is only known to be at least 1.
const lower_bound = (get, format, is_bound = () => true) => ({ ...number_of(get, format), format(row) { return (row.at_least && get(row) !== null && is_bound() ? "≥ " : "") + format(get(row), this.unit); } });
let shown_names = new Map();  // of the visible rows
// Columns have fixed widths in pixels, so that they stay where they are when other rows come into view.
const is_roomy = () => room.window_wide > 1600;
const bar_wide = () => (room.rows < 480 ? 0 : room.rows < 640 ? 24 : 40);
// The name gets what whole columns leave, so that none is cut at the edge.
function name_wide() {
  const least = room.rows < 480 ? 140 : 204, most = 320;
  let used = 0;
  for (const column of columns().slice(1)) {
    if (used + wide_of(column) + least > room.rows) break;
    used += wide_of(column);
  }
  return Math.max(least, Math.min(most, room.rows - used));
}
const name_room = () => Math.floor((name_wide() - 20) / 7.2);
// Layout and cells by key. The document lists the columns in their order, with titles, units and meanings.
const kCells = {
  name: { wide: name_wide, get: (r) => r.name.toLowerCase(), format: (r) => shown_names.get(r.name) ?? r.name },
  seconds: { wide: 72, ...lower_bound((r) => (r.has_time ? r.seconds : null), (v) => in_unit(v), () => series().time !== "measured") },
  share: { wide: () => (room.rows < 480 ? 58 : 62 + bar_wide()), ...number_of((r) => (r.has_time ? r.share : null), column_percent) },
  limit: { wide: () => (is_roomy() ? 92 : 44), get: (r) => kLimit[r.limit], format: (r) => (r.absence && r.absence !== 2 ? kAbsence[r.absence] : kLimit[r.limit]) },
  roof_share: { wide: () => (is_roomy() ? 104 : 56), ...number_of((r) => r.roof_share, column_percent), measured: true },
  recoverable: { wide: 88, ...number_of((r) => r.recoverable, (v) => (v === 0 ? "0" : in_unit(v))), gains: true },
  type: { wide: 106, get: (r) => r.type.toLowerCase(), format: (r) => r.type.split(".").pop() },
  count: { wide: 58, ...number_of((r) => r.list.length, String) },
  cumulative: { wide: 58, ...number_of((r) => r.cumulative ?? null, column_percent) },
  shape: { wide: 124, get: (r) => r.shape, format: (r) => r.shape },
  dtype: { wide: 84, get: (r) => r.dtype, format: (r) => r.dtype },
  flops: { wide: 70, ...lower_bound((r) => r.flops, si) },
  bytes: { wide: 78, ...lower_bound((r) => r.bytes, si) },
  intensity: { wide: 70, ...number_of((r) => ratio(r.flops, r.bytes), plain) },
  rate: { wide: 70, ...number_of((r) => ratio(r.flops, rate(r)), si) },
  bandwidth: { wide: 82, ...number_of((r) => ratio(r.bytes, rate(r)), (v) => si(v, "B/s")) },
};
const kColumns = data_of("columns-data").map(([key, title, unit, tip]) => ({ key, title, unit, tip, ...kCells[key] }));
// Times of a column are in the unit of its longest row.
const kPrinted = 20;  // rows on paper; the page contains all rows
let unit = -2, most_share = 0;
function choose_unit(rows) {
  const most = rows.reduce((longest, row) => Math.max(longest, row.seconds), 0);
  unit = most > 0 ? Math.min(0, Math.max(-3, Math.floor(Math.log10(most) / 3 + 1e-9))) : -2;
}
function in_unit(value) {
  if (value === null) return "–";
  const shown = value / 1000 ** unit;
  return (shown === 0 ? "0" : shown >= 100 ? shown.toFixed(0) : shown >= 10 ? shown.toFixed(1) : shown >= 0.01 ? shown.toFixed(2) : "<0.01") + " " + kPrefixes[8 + unit] + "s";
}
const columns = () => kColumns.filter((c) => (!c.measured || series().time === "measured") && (!c.gains || series().time === "measured" || what?.group_of.length));
const scroller = by_id("rows");
const table = scroller.querySelector("table");
const open_rows = new Set();
let lines = [], printing = false, scrolled = 0, scrolled_right = 0;

function sort_rows(rows) {
  let sum = 0;
  for (const row of [...series().rows].sort((a, b) => b.seconds - a.seconds)) row.cumulative = row.has_time && series().seconds > 0 ? (sum += row.share) : null;
  return sorted_by(rows, kColumns.find((c) => c.key === state.sort), state.up);
}

function fill_table(rows) {
  lines = [];
  choose_unit(rows);
  most_share = series().rows.reduce((most, row) => Math.max(most, row.share), 0);
  for (const row of sort_rows(rows)) {
    lines.push({ row });
    if (!open_rows.has(row)) continue;
    const items = series().items;
    for (const i of row.list) lines.push({ row, item: i });
    for (const [kind, lists] of [["members", items.members], ["kernels", items.kernels]])
      for (const entry of lists)
        if (row.list.includes(entry[0]))
          for (const part of kind === "members" ? member_names(entry) : entry.slice(1).map((k) => strings[k]))
            lines.push({ row, item: entry[0], part });
  }
  draw_header();
  table.setAttribute("aria-rowcount", lines.length + 1);
  draw_rows();
}

// On paper, headers are text: browsers leave out buttons when they repeat a header on the next page.
const wide_of = (column) => (typeof column.wide === "function" ? column.wide() : column.wide);
function draw_header() {
  const group = table.querySelector("colgroup") ?? table.insertBefore(made("colgroup", {}), table.tHead), list = columns();
  group.replaceChildren(...list.map((column) => Object.assign(made("col", {}), { width: wide_of(column) })));
  table.style.minWidth = list.reduce((sum, column) => sum + wide_of(column), 0) + "px";
  table.tHead.rows[0].replaceChildren(...header_cells(columns(), state.sort, state.up));
  if (printing) for (const cell of table.tHead.rows[0].cells) cell.textContent = cell.textContent;
}

function cell_of(column, line) {
  const cell = made("td", { class: column.is_number ? "number" : "" });
  if (line.item === undefined) {
    cell.textContent = column.format(line.row);
    if (column.key === "name" && (line.row.list.length > 1 || has_parts(line.row))) {
      const is_open = open_rows.has(line.row);
      cell.prepend(made("button", { type: "button", class: "expand", "aria-expanded": is_open, "aria-label": "all of " + line.row.name }, is_open ? "▾" : "▸"));
    }
    if (column.key === "roof_share" && line.row.roof_share !== null) {
      cell.classList.add("roof");
      cell.replaceChildren(...barred(bar_of([[Math.min(1, line.row.roof_share), "strong"]], 40), cell.textContent));
    }
    if (column.key === "share" && line.row.has_time) {
      cell.replaceChildren(...(bar_wide() ? barred(bar_of([[line.row.share / (most_share || 1), "strong"]], bar_wide()), cell.textContent) : [cell.textContent]));
    }
    if (column.key === "limit" && line.row.limit && (!line.row.absence || line.row.absence === 2)) {
      const word = cell.textContent;
      cell.replaceChildren(made("i", { class: "chip l" + line.row.limit }, kLetters[line.row.limit]), made("span", { class: "word" }, " " + word));
      return Object.assign(cell, { title: word });
    }
    if (column.key === "type") {
      cell.prepend(swatch(line.row.color));
      return Object.assign(cell, { title: line.row.type });
    }
  } else if (column.key === "name") {
    const whole = line.part ?? series().items.name[line.item];
    cell.textContent = short_name(whole, name_room());  // the end of a name says more than its beginning
    cell.className = line.part === undefined ? "one" : "part";
    return Object.assign(cell, { title: whole });
  } else if (line.part === undefined) {
    const i = line.item, s = series();
    if (column.key === "seconds") cell.textContent = in_unit(s.seconds_of(i));
    if (column.key === "flops") cell.textContent = si(s.work_of(i));
    if (column.key === "bytes") cell.textContent = si(s.traffic_of(i), column.unit);
    if (column.key === "shape") cell.textContent = strings[s.items.shape[i]];
  }
  if (column.key === "recoverable" && line.item === undefined && line.row.partners) return Object.assign(cell, { title: "if fused with " + line.row.partners });
  cell.title = column.key === "name" && line.item === undefined ? line.row.name : cell.textContent;
  // Why a row has no limit is a sentence: a narrow column shows it on hover.
  if (column.key === "limit" && line.item === undefined && !is_roomy()) cell.textContent = "–";
  return cell;
}
const has_parts = (row) => row.list.some((i) => series().with_parts.has(i));

// Columns beside the visible part are filled when the reader pauses: text is what the table costs.
let rest_waits = 0;
function draw_rows() {
  const high = Math.ceil(room.lines / kRowHeight);
  const first = printing ? 0 : Math.max(0, Math.min(Math.floor(scrolled / kRowHeight), lines.length - high) - 4);
  const last = Math.min(lines.length, first + (printing ? kPrinted : high + 10));
  const spacer = (count) => {
    const cell = made("td", { colspan: kColumns.length });
    cell.style.height = count * kRowHeight + "px";
    return made("tr", { class: "spacer" }, cell);
  };
  shown_names = short_names(lines.slice(first, last).map((line) => line.row.name), name_room());
  const list = columns();
  let right = 0;
  const in_view = list.map((column) => { const left = right; right += wide_of(column); return printing || left < room.rows + scrolled_right; });
  const body = lines.slice(first, last).map((line, k) => {
    const is_selected = line.row === series().rows[state.row];
    const tr = made("tr", { "data-line": first + k, "aria-rowindex": first + k + 2, "aria-selected": is_selected }, ...list.map((column, at) => (in_view[at] ? cell_of(column, line) : made("td", {}))));
    for (const [name, is] of [["selected", is_selected], ["pointed", line.row === pointed], ["sub", line.item !== undefined]]) tr.classList.toggle(name, is);
    return tr;
  });
  clearTimeout(rest_waits);
  if (in_view.includes(false))
    rest_waits = setTimeout(() => body.forEach((tr, k) => in_view.forEach((is_filled, at) => { if (!is_filled && tr.cells[at]) tr.cells[at].replaceWith(cell_of(list[at], lines[first + k])); })), 120);
  table.tBodies[0].replaceChildren(...(printing ? body : [spacer(first), ...body, spacer(lines.length - last)]));
}

function show_row(row) {
  const at = lines.findIndex((line) => line.row === row);
  if (at < 0) return;
  const top = at * kRowHeight;
  if (top < scroller.scrollTop || top > scroller.scrollTop + scroller.clientHeight - 3 * kRowHeight) scroller.scrollTop = Math.max(0, top - 80);
  scrolled = scroller.scrollTop;
  draw_rows();
}

// Marks the row of the dot under the pointer, and scrolls to it unless the pointer is in the table.
function mark_pointed() {
  for (const tr of table.tBodies[0].rows) tr.classList.toggle("pointed", tr.dataset.line !== undefined && pointed !== null && lines[tr.dataset.line]?.row === pointed);
  if (pointed && !scroller.matches(":hover")) show_row(pointed);
}
// Starts at the heaviest row; ↑ and ↓ move through the lines that are rows.
function step_row(step) {
  const rows = lines.filter((line) => line.item === undefined).map((line) => line.row);
  const at = rows.indexOf(series().rows[state.row]);
  const next = rows[at < 0 ? 0 : clamp(at + step, 0, rows.length - 1)];
  if (!next || next === series().rows[state.row]) return;
  select(next);
  show_card_of(next);
}
function toggle_open(row) {
  if (!open_rows.delete(row)) open_rows.add(row);
  update("table");
}
scroller.addEventListener("keydown", (event) => {
  if (event.target !== scroller || event.ctrlKey || event.metaKey) return;
  const row = series().rows[state.row];
  const keys = { ArrowDown: () => step_row(1), ArrowUp: () => step_row(-1), Home: () => step_row(-Infinity), End: () => step_row(Infinity),
    Enter: () => row && toggle_open(row), Escape: () => row && select(row) };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});
scroller.addEventListener("scroll", () => {
  const { scrollTop, scrollLeft } = scroller, is_down = scrollTop !== scrolled;
  [scrolled, scrolled_right] = [scrollTop, scrollLeft];
  if (is_down) draw_rows();
}, { passive: true });
table.tHead.addEventListener("click", (event) => {
  const key = event.target.dataset.sort;
  if (!key) return;
  if (state.sort === key) state.up = !state.up;
  else Object.assign(state, { sort: key, up: false });
  update("table");
});
table.tBodies[0].addEventListener("click", (event) => {
  const tr = event.target.closest("tr[data-line]");
  if (!tr) return;
  const { row } = lines[tr.dataset.line];
  if (event.target.classList.contains("expand")) {
    toggle_open(row);
    return;
  }
  select(row);
});
table.tBodies[0].addEventListener("mouseover", (event) => {
  const tr = event.target.closest("tr[data-line]");
  if (tr) point_at(lines[tr.dataset.line].row);
});
table.tBodies[0].addEventListener("mouseleave", () => point_at(null));
window.addEventListener("beforeprint", () => {
  printing = true;
  draw_header();
  draw_rows();
  by_id("printed").textContent = `${Math.min(kPrinted, lines.length)} of ${lines.length} rows, those with the most time first`;
});
window.addEventListener("afterprint", () => { printing = false; draw_header(); draw_rows(); });
