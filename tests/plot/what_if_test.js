// Sets the what-if controls of a page like a reader, once for each of
// `window.requests`, and records what the page shows.
(() => {
  const $ = (selector) => document.querySelector(selector);
  const set = (node, value, event) => { node.value = value; node.dispatchEvent(new Event(event, { bubbles: true })); };
  const facts = () => ({
    command: $("#what-if-command").textContent, title: $("h1").textContent, actions: [...document.querySelectorAll("#actions li")].map((node) => node.textContent), stale: { chart: $(".split").classList.contains("stale") },
    facts: Object.fromEntries([...document.querySelectorAll("#answer [data-fact]")].map((node) => [node.dataset.fact, node.textContent])),
    rungs: Object.fromEntries([...document.querySelectorAll("#ladder li")].map((node) => [node.dataset.rung, node.querySelector("b").textContent])),
    status: $("#status").textContent,
  });
  const out = { ready: document.documentElement.dataset.ready, sizes: [...document.querySelectorAll("[data-size]")].map((node) => node.dataset.size), most: Object.fromEntries([...document.querySelectorAll("[data-size]")].map((node) => [node.dataset.size, node.max])), first: facts(), answers: [] };
  for (const request of window.requests) {
    for (const [name, value] of Object.entries(request.sizes)) set($(`[data-size="${name}"]`), value, "input");
    if (request.precision) set($("#what-if-precision"), [...$("#what-if-precision").options].find((o) => o.text === request.precision || (request.precision === "(file)" && o.text.endsWith(" (file)"))).value, "change");
    if (request.device) set($("#what-if-device"), [...$("#what-if-device").options].find((o) => o.text === request.device).value, "change");
    set($("#what-if-traffic"), [...$("#what-if-traffic").options].find((o) => o.text === request.traffic).value, "change");
    out.answers.push(facts());
  }
  const number = $("[data-size]");
  // A value that no run can have is said, and leaves the answer as it is.
  if (number) {
    const title = $("h1").textContent;
    set(number, -3, "input");
    out.refused = { text: $("#what-if-error").textContent, is_same: $("h1").textContent === title, is_marked: number.getAttribute("aria-invalid") === "true" };
  }
  const started = performance.now();
  if (number) set(number, 3, "input");
  $("#roofline").getBBox();
  out.step_ms = performance.now() - started;
  if (!$("#what-if-reset").disabled) $("#what-if-reset").click();
  out.last = facts();
  const pre = document.createElement("pre");
  pre.id = "results";
  pre.textContent = JSON.stringify(out);
  document.body.append(pre);
})();
