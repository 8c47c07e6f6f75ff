// Runs inside a page of results and uses it like a reader. report_page_test.py looks for the last line that it writes.
(() => {
  const results = [], $ = (selector) => document.querySelector(selector), all = (selector) => [...document.querySelectorAll(selector)];
  const check = (what, is_true, seen) => results.push((is_true ? "ok   " : "FAIL ") + what + (is_true ? "" : ": " + JSON.stringify(seen)));
  const panel = () => all("#tabs [role=tabpanel]").find((each) => !each.hidden), rows = () => [...panel().querySelectorAll("tbody tr")].filter((tr) => !tr.hidden);
  check("the script ran under its policy", document.documentElement.dataset.ready === "1", 0);
  check("one h1, and it is a verdict", all("h1").length === 1 && /\d/.test($("h1").textContent), $("h1").textContent);
  check("every control has a name", all("input, select").every((node) => node.closest("label") || node.getAttribute("aria-label")), 0);
  check("numbers stand at the right", all("td.number").length > 0 && all("td.number").every((cell) => getComputedStyle(cell).textAlign === "right"), 0);
  check("no swatch without a name", all("figure circle").every((dot) => !dot.matches(".swatch-of-line") || dot.nextElementSibling?.textContent), 0);
  const pictures = all("figure svg").filter((svg) => svg.getClientRects().length);
  check("each picture is shown once", pictures.length === all("figure").length, pictures.length);
  check("no picture scrolls sideways", document.documentElement.scrollWidth <= innerWidth && all("figure").every((figure) => figure.scrollWidth <= figure.clientWidth), [document.documentElement.scrollWidth, innerWidth]);
  const letters = (svg) => Math.min(...[...svg.querySelectorAll("text")].map((text) => (parseFloat(getComputedStyle(text).fontSize) * svg.getBoundingClientRect().width) / svg.viewBox.baseVal.width));
  check("letters of a picture can be read", pictures.every((svg) => letters(svg) >= 9), pictures.map(letters));
  check("no text of a picture is cut off", pictures.every((svg) => { const box = svg.getBoundingClientRect(); return [...svg.querySelectorAll("text")].every((text) => { const own = text.getBoundingClientRect(); return own.left >= box.left - 1 && own.right <= box.right + 1 && own.bottom <= box.bottom + 1; }); }), 0);
  check("no column is empty", all("table").every((table) => [...table.tHead.rows[0].cells].every((_, i) => [...table.tBodies[0].rows].some((tr) => tr.cells[i].textContent))), 0);
  check("no row is of a baseline against itself", !rows().some((tr) => [...tr.cells].filter((cell) => cell.textContent === "1.000").length > 2), 0);

  const number = [...panel().querySelectorAll("th button")].map((button, i) => [button, i]).find(([button]) => button.parentElement.classList.contains("number"));
  const column = () => rows().map((tr) => parseFloat(tr.cells[number[1]].textContent)).filter((value) => !Number.isNaN(value));
  if (rows().every((tr) => !/[a-zµ]/i.test(tr.cells[number[1]].textContent))) {
    number[0].click();
    check("a header sorts, the largest first", column().every((value, i, list) => !i || value <= list[i - 1]), column());
    panel().querySelectorAll("th button")[number[1]].click();
    check("again turns the order", column().every((value, i, list) => !i || value >= list[i - 1]), column());
  }
  const search = $("#search"), set = (text) => { search.value = text; search.dispatchEvent(new Event("input")); }, whole = rows().length;
  set("no such row");
  check("a search narrows the table", rows().length === 0 && $("#status").textContent.startsWith("0 of"), $("#status").textContent);
  set("");
  check("and gives all back", rows().length === whole, rows().length);
  for (const tab of all("[role=tab]")) {
    tab.click();
    check(`tab ${tab.textContent} shows its table alone`, panel().getAttribute("aria-labelledby") === tab.id && all("#tabs [role=tabpanel]").filter((each) => !each.hidden).length === 1 && location.hash.includes("tab="), location.hash);
  }
  for (const theme of ["its own", "the other"]) {
    check(`every text has contrast in ${theme} theme`, window.pale_texts().length === 0, window.pale_texts().slice(0, 9));
    $("#dark").click();
  }
  const keys = new Set(all("figure [data-k]").map((mark) => mark.dataset.k));
  all("[role=tab]").find((tab) => [...document.getElementById(tab.getAttribute("aria-controls")).querySelectorAll("tr[data-k]")].some((tr) => keys.has(tr.dataset.k)))?.click();
  const linked = rows().find((tr) => keys.has(tr.dataset.k)), mark = linked && all("figure [data-k]").find((each) => each.dataset.k === linked.dataset.k);
  if (linked) {
    linked.cells[0].dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
    check("a row marks its place in the picture", mark.classList.contains("pointed"), mark.outerHTML);
    mark.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
    check("a mark in the picture marks its row", linked.classList.contains("pointed"), linked.outerHTML);
    mark.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    check("a click chooses both", linked.classList.contains("selected") && mark.classList.contains("selected") && location.hash.includes("row="), location.hash);
  }
  results.push(linked ? "linked" : "not linked", `${innerWidth} px wide`);
  const out = document.createElement("pre");
  out.id = "results";
  out.textContent = results.join("\n") + "\n" + (results.some((line) => line.startsWith("FAIL")) ? "SOME FAILED" : "ALL PASSED");
  document.body.append(out);
  if (parent !== window) parent.postMessage(out.textContent, "*");
})();
