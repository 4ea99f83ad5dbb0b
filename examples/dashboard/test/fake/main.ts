import { start } from "../../src/start.ts";
import { FakeWatchglass } from "./client.ts";

declare global {
  var fake: FakeWatchglass;
}

/**
 * ?pods=10000&step=300 sets the number of pods and how slowly they load. With ?broken,
 * connecting fails.
 */
const params = new URLSearchParams(location.search);
globalThis.fake = new FakeWatchglass(Number(params.get("pods") ?? 3000));

void start(async () => {
  if (params.has("broken")) throw new Error("no module today");
  return globalThis.fake;
});
if (params.get("step") !== "never") void globalThis.fake.sync(Number(params.get("step") ?? 0));
