// node tasks.js MODULE DATA DIST measures P29, the longest task of the main thread of a page that
// opens all pods with their bodies, in the headless Chromium at $CHROMIUM. The page is blocked
// during a task. A trace of the browser has the tasks. A task counts if it begins after the page's
// scripts have loaded, and before the table of all pods is exact and drawn.
import { browser, close, exact, objects, open, rounds } from "./recorded.mjs";
import { median, report } from "./rounds.mjs";

/** Returns the durations of the tasks of all main threads of pages, in milliseconds. */
function tasks(trace) {
  const { traceEvents } = JSON.parse(trace);
  const thread = ({ pid, tid }) => `${pid} ${tid}`;
  const main = new Set(traceEvents.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain").map(thread));
  return traceEvents.filter((event) => event.name === "RunTask" && event.dur && main.has(thread(event))).map(({ dur }) => dur / 1000);
}

try {
  const [longest, counts] = [[], []];
  for (let round = 0; round < rounds; round++) {
    const context = await browser.newContext();
    const page = await open(context);
    await browser.startTracing(page, { categories: ["toplevel", "disabled-by-default-devtools.timeline", "devtools.timeline"] });
    await exact(page, {});
    await page.evaluate((objects) => {
      document.body.textContent = `${wg.collection("v1/pods").progress.objects} of ${objects}`;
      return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    }, objects);
    const durations = tasks(String(await browser.stopTracing()));
    if (durations.length < 10) throw new Error(`the trace has ${durations.length} tasks of main threads`);
    longest.push(Math.max(...durations));
    counts.push(durations.length);
    await context.close();
  }
  const value = median(longest);
  report({ figure: "P29", unit: "ms", ratio: value, sides: [{ name: "longest", value, unit: "ms" }, { name: "tasks", value: median(counts), unit: "" }] });
} finally {
  await close();
}
