// Shared by the pages of charts and of reports: elements, tabs, tables that sort by their headers, downloads.
const kSvg = "http://www.w3.org/2000/svg";
const by_id = (id) => document.getElementById(id);
const give = (node, attributes) => {
  for (const key in attributes) node?.setAttribute(key, attributes[key]);
  return node;
};
const element = (tag, attributes, parent) => {
  const node = give(document.createElementNS(kSvg, tag), attributes);
  if (parent) parent.append(node);
  return node;
};
const made = (tag, attributes, ...children) => {
  const node = give(document.createElement(tag), attributes);
  node.append(...children);
  return node;
};

// Tabs: a click, or ← and →, selects one; only its panel is shown.
function connect_tabs(bar, choose) {
  bar.addEventListener("click", (event) => { const tab = event.target.closest("[role=tab]"); if (tab) choose(tab.dataset.tab); });
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const tabs = [...bar.children].filter((tab) => !tab.hidden), at = tabs.findIndex((tab) => tab.getAttribute("aria-selected") === "true");
    const next = tabs[(at + step + tabs.length) % tabs.length];
    choose(next.dataset.tab);
    next.focus();
  });
}
function show_tab(bar, chosen) {
  for (const tab of bar.children) {
    const is_chosen = tab.dataset.tab === chosen;
    tab.setAttribute("aria-selected", is_chosen);
    tab.tabIndex = is_chosen ? 0 : -1;
    by_id(tab.getAttribute("aria-controls")).hidden = !is_chosen;
  }
}

// Sorts numbers largest first and text from A, or the reverse if `up`; unknown values always come last.
function sorted_by(rows, column, up) {
  const sign = up === !!column.is_number ? 1 : -1;
  return [...rows].sort((a, b) => {
    const x = column.get(a), y = column.get(b);
    if (x === null || y === null) return (x === null) - (y === null);
    return x < y ? -sign : x > y ? sign : 0;
  });
}
// Buttons in the headers of `columns`: [{key, title, tip, is_number}].
function header_cells(columns, by, up) {
  return columns.map((column) => {
    const button = made("button", { type: "button", "data-sort": column.key, ...(column.tip ? { title: column.tip } : {}) }, column.title);
    const cell = made("th", { scope: "col", class: column.is_number ? "number" : "" }, button);
    if (by === column.key) cell.setAttribute("aria-sort", up === !!column.is_number ? "ascending" : "descending");
    return cell;
  });
}
// Sorts by the header that the user clicks; `fill` writes the sorted rows.
function sort_by_header(table, columns, rows, fill, by = null) {
  let up = false;
  const show = () => {
    table.tHead.rows[0].replaceChildren(...header_cells(columns, by, up));
    const column = columns.find((each) => each.key === by);
    fill(column ? sorted_by(rows, column, up) : rows);
  };
  table.tHead.addEventListener("click", (event) => {
    const key = event.target.dataset.sort;
    if (!key) return;
    [by, up] = [key, key === by && !up];
    show();
  });
  show();
}

// A table of records. A column has `get` for sorting, and `format` for a text or an element.
const kMostRows = 200;
function plain_table(columns, rows, { label, by, each }) {
  const table = made("table", { class: "plain", "aria-label": label }, made("thead", {}, made("tr", {})), made("tbody", {}));
  sort_by_header(table, columns, rows, (sorted) => {
    table.tBodies[0].replaceChildren(...sorted.slice(0, kMostRows).map((row) => {
      const tr = made("tr", {}, ...columns.map((column) => made("td", { class: column.is_number ? "number" : "" }, ...[column.format(row)].flat())));
      each?.(tr, row);
      return tr;
    }));
  }, by);
  const holder = made("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table);
  if (rows.length > kMostRows) holder.append(made("p", { class: "note" }, `${kMostRows} of ${rows.length.toLocaleString("en")}, the first by the chosen column; filters narrow them`));
  return holder;
}
// A bar made of parts of one whole: [[part, class of its colour], …].
function bar_of(parts, width = 90) {
  const picture = element("svg", { width, height: 10, class: "cell-bar", "aria-hidden": "true" });
  let x = 0;
  for (const [part, name] of parts) {
    element("rect", { x: Math.round(10 * x) / 10, width: Math.max(part > 0 ? 0.5 : 0, Math.round(10 * part * width) / 10), height: 10, class: name }, picture);
    x += part * width;
  }
  return picture;
}
// A bar and its number, aligned with the rows above and below.
const barred = (bar, text) => [bar, made("span", { class: "amount" }, text)];

function download(blob, name) {
  const link = made("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
const file_name = (title, extension) => title.replace(/[^\w.=-]+/g, "-").slice(0, 80) + "." + extension;
// A cell that a spreadsheet would run as a formula gets a leading quote.
function csv_cell(text) {
  const safe = /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

// Light or dark: as the system says, until the reader chooses (`chosen`: null, true, false).
const is_dark = (chosen) => chosen ?? matchMedia("(prefers-color-scheme: dark)").matches;
function show_theme(chosen) {
  document.documentElement.dataset.theme = chosen === null ? "" : chosen ? "dark" : "light";
  by_id("dark").setAttribute("aria-pressed", is_dark(chosen));
}
