import { connect } from "watchglass";
import { TestCluster } from "watchglass/testing";
import { start } from "../../src/start.ts";
import { makeConfigMap, makeNode, makePod, random } from "./objects.ts";
import { podEvent, shop } from "./shop.ts";
import { Shown } from "./shown.ts";

/** The simulated cluster that the page reads from, for tests. */
class Cluster extends TestCluster {
  readonly shown = new Shown();
  readonly pods: string[];
  #load = () => {};
  readonly #loaded: Promise<void>;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(pods: number, loaded: boolean) {
    super();
    const next = random(7);
    this.pods = Array.from({ length: pods }, (_, i) => keyOf(this.apply(makePod(i, next))));
    for (let i = 0; i < 120; i++) this.apply(makeNode(i));
    for (let i = 0; i < 30; i++) this.apply(makeConfigMap(i));
    this.#loaded = loaded ? Promise.resolve() : new Promise((resolve) => { this.#load = resolve; });
  }

  /** Releases the requests that ?wait or ?hold delays. */
  load(): void {
    this.shown.reset();
    this.#load();
  }

  async connect() {
    const { fetch, ...options } = this.options;
    const delayed: typeof globalThis.fetch = async (...args) => {
      const { pathname } = new URL(String(args[0]));
      if (!held || pathname.endsWith(`/${held}`)) await this.#loaded;
      return refusal(pathname) ?? fetch!(...args);
    };
    return this.shown.connection(await connect(this.url, { ...options, fetch: delayed, wasm: new URL("watchglass.wasm", location.href) }));
  }

  /** Increments a pod's restart count, changes its annotation, and sets its phase if given. */
  touch(key: string, phase?: string): void {
    this.update("v1/pods", key, ({ metadata, status }) => {
      metadata.annotations["example.com/note"] = `touched at ${this.resourceVersion}`;
      status.containerStatuses[0].restartCount++;
      if (phase) status.phase = phase;
    });
  }

  /** Adds a namespace with workloads and events. */
  addShop(): void {
    for (const object of shop()) this.apply(object);
    this.addEvent(1, "checkout-7d9-a", 30, "Normal", "Scheduled", "assigned shop/checkout-7d9-a to node-1");
    this.addEvent(2, "checkout-7d9-a", 5, "Warning", "BackOff", "back-off restarting the container");
    this.addEvent(3, "alone", 1, "Normal", "Pulled", "the image is present");
  }

  /** Adds an event about a pod of the shop. */
  addEvent(...event: Parameters<typeof podEvent>): void {
    this.apply(podEvent(...event));
  }

  /** Changes `perSecond` random pods per second, evenly spread over time. 0 stops the changes. */
  churn(perSecond: number): void {
    clearInterval(this.#timer);
    if (!perSecond) return;
    const next = random(1);
    const tick = 20;
    this.#timer = setInterval(() => {
      for (let i = 0; i < (perSecond * tick) / 1000; i++) {
        this.touch(this.pods[Math.floor(next() * this.pods.length)]!, next() < 0.1 ? "Running" : undefined);
      }
    }, tick);
  }
}

function keyOf({ metadata: { namespace, name } }: { metadata: { namespace?: string; name: string } }): string {
  return `${namespace}/${name}`;
}

/**
 * Returns a 403 if ?only=NAME is set and the request is not limited to that namespace. Returns
 * undefined if the request is allowed.
 */
function refusal(path: string): Response | undefined {
  const only = params.get("only");
  if (!only || !/\/v\d\/./.test(path) || path.includes(`/namespaces/${only}/`) || path.endsWith("/namespaces/kube-system")) return undefined;
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", code: 403, reason: "Forbidden", message: `you may only read ${only}` };
  return new Response(JSON.stringify(status), { status: 403 });
}

declare global {
  var cluster: Cluster;
}

/**
 * ?pods=10000 sets the number of pods, and ?shop adds workloads. With ?wait, nothing loads until
 * the test calls cluster.load(). With ?hold=pods, only the requests for pods wait for this call.
 * With ?broken, connecting fails. With ?only=shop, the user may read only that namespace.
 */
const params = new URLSearchParams(location.search);
const held = params.get("hold");
globalThis.cluster = new Cluster(Number(params.get("pods") ?? 3000), !params.has("wait") && !held);
if (params.has("shop")) globalThis.cluster.addShop();

void start(async () => {
  if (params.has("broken")) throw new Error("no module today");
  return globalThis.cluster.connect();
});
