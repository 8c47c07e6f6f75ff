// Runs inside a chart page: how long it took to be ready, and zoom and what-if steps, each until the browser has painted.
(async () => {
  const ready = performance.now(), { promise, resolve } = Promise.withResolvers();
  if (document.readyState === "complete") resolve();
  else addEventListener("load", resolve);
  await promise;
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  await painted();
  const frame = document.querySelector(".frame"), box = frame.getBoundingClientRect();
  const step = async (act) => {
    await painted();
    const begin = performance.now();
    act();
    document.getElementById("roofline").getBBox();
    const script = performance.now() - begin;
    await painted();
    return [script, performance.now() - begin];
  };
  const times = async (count, act) => {
    const all = [];
    for (let i = 0; i < count; ++i) all.push(await step(() => act(i)));
    return all;
  };
  const zoom = await times(10, (i) => frame.dispatchEvent(new WheelEvent("wheel", { bubbles: true, cancelable: true, deltaY: i % 2 ? 120 : -120, clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 })));
  const size = document.querySelector("[data-size]");
  const what_if = size ? await times(10, (i) => { size.value = 2 + i; size.dispatchEvent(new Event("input", { bubbles: true })); }) : [];
  const tabs = {};
  for (const tab of document.querySelectorAll("#tab-bar button:not([hidden])")) tabs[tab.textContent] = (await step(() => tab.click()))[1];
  const out = document.createElement("pre");
  out.id = "results";
  out.textContent = JSON.stringify({ ready, zoom, what_if, tabs });
  document.body.append(out);
})();
