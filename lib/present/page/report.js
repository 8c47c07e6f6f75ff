// A page of results: its tables can be sorted, one search filters all of them, and a table row and its mark in the
// picture highlight each other.
const state = { q: "", tab: null, dark: null, row: null };
const tables = [...document.querySelectorAll("#tabs table")], tab_bar = by_id("tab-bar"), marks = new Map();
for (const mark of document.querySelectorAll("figure [data-k]")) (marks.get(mark.dataset.k) ?? marks.set(mark.dataset.k, []).get(mark.dataset.k)).push(mark);
const kScale = { n: 1e-9, µ: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 };
// The number by which a cell like "1.23 ms", "≥ 4.5 kB" or "12 %" is sorted; null if it is not a number.
function value_of(text) {
  const found = /^[≤≥≈<\s]*([-+−]?[\d,]*\.?\d+(?:e[-+]?\d+)?)\s*(?:([nµmkMGTP])(?=(?:s|B|J|W|Hz|FLOP|items)\b))?/.exec(text);
  return found ? Number(found[1].replace("−", "-").replaceAll(",", "")) * (kScale[found[2]] ?? 1) : null;
}
const lines = tables.map((table) => [...table.tBodies[0].rows].map((tr) => ({ tr, table, texts: [...tr.cells].map((cell) => cell.textContent), key: tr.dataset.k })));
const shows = (line) => state.q.toLowerCase().split(/\s+/).filter(Boolean).every((word) => line.texts.join(" ").toLowerCase().includes(word));
function show_rows() {
  let count = 0, all = 0;
  lines.flat().forEach((line) => (line.tr.hidden = !shows(line)));
  for (const line of lines[tables.findIndex((table) => !table.closest("[role=tabpanel]").hidden)] ?? []) ++all, (count += !line.tr.hidden);
  const found = new Set(lines.flat().filter((line) => line.key && !line.tr.hidden).map((line) => line.key));
  for (const [key, list] of marks) for (const mark of list) mark.classList.toggle("faded", state.q !== "" && !found.has(key));
  by_id("status").textContent = `${count} of ${all} rows`;
}
function highlight(name, key) {
  for (const [other, list] of marks) for (const mark of list) mark.classList.toggle(name, other === key);
  for (const line of lines.flat()) line.tr.classList.toggle(name, !!key && line.key === key);
}
function choose_row(key) {
  state.row = state.row === key ? null : key;
  highlight("selected", state.row);
  const line = lines.flat().find((each) => state.row && each.key === state.row);
  if (line && !line.table.closest("[hidden]")) line.tr.scrollIntoView({ block: "nearest" });
  write();
}
function write() {
  const hash = new URLSearchParams();
  for (const key of ["q", "tab", "row"]) if (state[key]) hash.set(key, state[key]);
  if (state.dark !== null) hash.set("dark", state.dark ? "1" : "0");
  const text = hash.toString();
  try { history.replaceState(null, "", text ? "#" + text : location.pathname + location.search); } catch { location.hash = text; }
}
function show() {
  by_id("search").value = state.q;
  show_theme(state.dark);
  if (tab_bar.children.length) show_tab(tab_bar, [...tab_bar.children].some((each) => each.dataset.tab === state.tab) ? state.tab : tab_bar.children[0].dataset.tab);
  show_rows();
  write();
}
tables.forEach((table, at) => {
  const columns = [...table.tHead.rows[0].cells].map((cell, i) => {
    const is_number = cell.classList.contains("number");
    return { key: String(i), title: cell.textContent, is_number, get: (line) => (is_number ? value_of(line.texts[i]) : line.texts[i].toLowerCase()) };
  });
  sort_by_header(table, columns, lines[at], (sorted) => table.tBodies[0].append(...sorted.map((line) => line.tr)));
});
const key_at = (event) => event.target.closest?.("[data-k]")?.dataset.k ?? null;
document.addEventListener("mouseover", (event) => highlight("pointed", key_at(event)));
document.addEventListener("click", (event) => { const key = key_at(event); if (key && !event.target.closest("button")) choose_row(key); });
for (const holder of document.querySelectorAll(".scroll"))
  holder.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.target !== holder) return;
    event.preventDefault();
    const keys = [...holder.querySelectorAll("tr[data-k]:not([hidden])")].map((tr) => tr.dataset.k), at = keys.indexOf(state.row);
    const next = keys[at < 0 ? 0 : Math.min(keys.length - 1, Math.max(0, at + step))];
    if (next && next !== state.row) choose_row(next);
  });
connect_tabs(tab_bar, (name) => { state.tab = name; show(); });
by_id("search").addEventListener("input", (event) => { state.q = event.target.value; show(); });
by_id("dark").addEventListener("click", () => { state.dark = !is_dark(state.dark); show(); });
const title = document.title;
by_id("save-svg").addEventListener("click", () => [...document.querySelectorAll("figure svg")].filter((svg) => svg.getClientRects().length).forEach((svg, i) => download(new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" }), file_name(title + (i ? "-" + (i + 1) : ""), "svg"))));
by_id("save-csv").addEventListener("click", () => {
  const at = Math.max(0, tables.findIndex((table) => !table.closest("[role=tabpanel]").hidden)), head = [...tables[at].tHead.rows[0].cells].map((cell) => cell.textContent);
  download(new Blob([[head, ...lines[at].filter(shows).map((line) => line.texts)].map((row) => row.map(csv_cell).join(",")).join("\r\n") + "\r\n"], { type: "text/csv" }), file_name(title, "csv"));
});
function read() {
  const hash = new URLSearchParams(location.hash.slice(1));
  Object.assign(state, { q: hash.get("q") ?? "", tab: hash.get("tab"), dark: hash.get("dark") === null ? null : hash.get("dark") === "1", row: null });
  show();
  if (marks.has(hash.get("row")) || lines.flat().some((line) => line.key === hash.get("row"))) choose_row(hash.get("row"));
}
addEventListener("hashchange", read);
read();
document.documentElement.dataset.ready = "1";
