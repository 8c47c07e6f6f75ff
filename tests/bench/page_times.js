// Runs inside a chart page, after its script: measures how long the page took to be ready, and the time of zoom steps,
// what-if steps and tab switches, each with script, style and layout.
(() => {
  const ready = performance.now(), frame = document.querySelector(".frame"), box = frame.getBoundingClientRect();
  const step = (act) => {
    const begin = performance.now();
    act();
    document.body.getBoundingClientRect();
    document.getElementById("roofline").getBBox();
    return performance.now() - begin;
  };
  const steps = (act) => Array.from({ length: 10 }, (_, i) => step(() => act(i)));
  const zoom = steps((i) => frame.dispatchEvent(new WheelEvent("wheel", { bubbles: true, cancelable: true, deltaY: i % 2 ? 120 : -120, clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 })));
  const size = document.querySelector("[data-size]");
  const what_if = size ? steps((i) => { size.value = 2 + i; size.dispatchEvent(new Event("input", { bubbles: true })); }) : [];
  const tabs = {};
  for (const tab of document.querySelectorAll("#tab-bar button:not([hidden])")) tabs[tab.textContent] = step(() => tab.click());
  const out = document.createElement("pre");
  out.id = "results";
  out.textContent = JSON.stringify({ ready, zoom, what_if, tabs });
  document.body.append(out);
})();
