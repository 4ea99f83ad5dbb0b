/**
 * A custom element that shows a client's open resources and their state. This is the
 * entry `watchglass/inspector`; importing it defines `<watchglass-inspector>`.
 */
import { create, setText } from "./inspector/dom.js";
import { ErrorLog } from "./inspector/errors.js";
import { age, bytes } from "./inspector/format.js";
import { group, noMetrics, total, type Metrics } from "./inspector/metrics.js";
import { CollectionsPanel, ErrorsPanel, EventsPanel, ObjectsPanel, ViewsPanel, WatchesPanel, type Panel, type Shown } from "./inspector/panels.js";
import { PersistencePanel } from "./inspector/persistence.js";
import { css } from "./inspector/style.js";
import type { WatchglassClient } from "./lazy.js";
import type { Watchglass } from "./types.js";

/** The interval at which the statistics of the engine are read, in milliseconds. */
const period = 1000;

/** The time after which an engine that does not respond is reported, in milliseconds. */
const patience = 3000;

// A server has no HTMLElement. The module can be imported there, but it does not define the
// element.
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement;

/**
 * The element `<watchglass-inspector>`. The element reads from {@link client} while it is part of
 * the document and the page is visible. The close button and the Escape key dispatch a `close`
 * event and remove the element, unless a listener calls `preventDefault`.
 */
export class WatchglassInspector extends Base {
  #source: Watchglass | WatchglassClient | undefined;
  #client: Watchglass | undefined;
  #generation = 0;
  #timer: ReturnType<typeof setInterval> | undefined;
  #frame = 0;
  #metrics: Metrics = noMetrics;
  #requestedAt = 0;
  #failure = "";
  readonly #errors = new ErrorLog();
  #parts: Parts | undefined;

  /**
   * The connection to show, or a client that the element connects when it is added to the document.
   */
  get client(): Watchglass | WatchglassClient | undefined {
    return this.#source;
  }

  set client(client: Watchglass | WatchglassClient | undefined) {
    if (client === this.#source) return;
    this.#source = client;
    if (this.isConnected) this.#start();
  }

  connectedCallback(): void {
    this.#parts ??= new Parts(this, this.#errors, () => this.#drawSoon());
    this.#start();
  }

  disconnectedCallback(): void {
    this.#stop();
  }

  #start(): void {
    this.#stop();
    const generation = this.#generation;
    const source = this.#source;
    this.#metrics = noMetrics;
    this.#failure = source ? "" : "no client is set";
    this.#draw();
    if (!source) return;
    const use = (client: Watchglass): void => {
      if (generation !== this.#generation) return;
      this.#client = client;
      this.#timer = setInterval(() => this.#refresh(), period);
      this.#refresh();
    };
    if (!("connect" in source)) return use(source);
    source.connect().then(use).catch((error: unknown) => {
      if (generation === this.#generation) this.#fail(error);
    });
  }

  #stop(): void {
    this.#generation++;
    clearInterval(this.#timer);
    cancelAnimationFrame(this.#frame);
    this.#frame = this.#requestedAt = 0;
    this.#client = undefined;
    this.#errors.stop();
    this.#parts?.stop();
  }

  /**
   * Draws the state of the page, and requests statistics from the engine unless a request is
   * pending.
   */
  #refresh(): void {
    if (document.hidden) return;
    this.#drawSoon();
    const client = this.#client;
    if (!client) return;
    if (this.#requestedAt > 0) {
      const waiting = Date.now() - this.#requestedAt;
      if (waiting >= patience) this.#failure = `the engine has not responded for ${Math.round(waiting / 1000)} s`;
      return;
    }
    this.#requestedAt = Date.now();
    const generation = this.#generation;
    client.inspect().then(
      (inspected) => {
        if (generation !== this.#generation) return;
        this.#requestedAt = 0;
        this.#failure = "";
        this.#metrics = group(inspected);
        this.#drawSoon();
      },
      (error: unknown) => {
        if (generation !== this.#generation) return;
        this.#requestedAt = 0;
        this.#fail(error);
      },
    );
  }

  #fail(error: unknown): void {
    this.#failure = error instanceof Error ? error.message : String(error);
    this.#drawSoon();
  }

  #drawSoon(): void {
    this.#frame ||= requestAnimationFrame(() => this.#draw());
  }

  #draw(): void {
    this.#frame = 0;
    const opened = this.#client?.opened() ?? [];
    this.#errors.update(opened);
    this.#parts?.draw({ now: Date.now(), opened, metrics: this.#metrics }, this.#failure);
  }
}

/** The contents of the element: statistics, and tabs with panels. */
class Parts {
  readonly #failure = create("p", { role: "status" });
  readonly #figures = new Map<string, HTMLElement>();
  readonly #panels: Panel[];
  readonly #tabs: HTMLButtonElement[];
  readonly #bodies: HTMLElement[];
  readonly #changed: () => void;
  #selected = 0;

  constructor(host: HTMLElement, errors: ErrorLog, changed: () => void) {
    this.#changed = changed;
    this.#panels = [new CollectionsPanel(), new ViewsPanel(), new WatchesPanel(), new ObjectsPanel(), new ErrorsPanel(errors), new PersistencePanel(changed), new EventsPanel(changed)];
    this.#tabs = this.#panels.map(({ name }, i) => create("button", { type: "button", role: "tab", id: `tab-${i}`, "aria-controls": `panel-${i}` }, name));
    this.#bodies = this.#panels.map(({ element }, i) => create("div", { role: "tabpanel", id: `panel-${i}`, "aria-labelledby": `tab-${i}`, tabindex: "0" }, element));
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    root.adoptedStyleSheets = [sheet];
    const close = create("button", { type: "button" }, "Close");
    const tabs = create("div", { role: "tablist", "aria-label": "Inspector" }, ...this.#tabs);
    root.append(create("header", {}, create("h2", {}, "watchglass"), this.#failure, close), this.#list(), tabs, ...this.#bodies);
    const leave = (): void => void (host.dispatchEvent(new Event("close", { cancelable: true })) && host.remove());
    close.addEventListener("click", leave);
    host.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation(); // the page may handle the Escape key itself
      leave();
    });
    for (const [i, tab] of this.#tabs.entries()) tab.addEventListener("click", () => this.#select(i));
    tabs.addEventListener("keydown", (event) => this.#move(event));
    this.#show(0);
  }

  draw(shown: Shown, failure: string): void {
    setText(this.#failure, failure);
    for (const [name, value] of Object.entries(figures(shown))) setText(this.#figures.get(name)!, value);
    for (const [i, panel] of this.#panels.entries()) {
      if (i === this.#selected) panel.draw(shown);
      const count = panel.count(shown);
      setText(this.#tabs[i]!, count > 0 ? `${panel.name} ${count.toLocaleString("en-US")}` : panel.name);
    }
  }

  stop(): void {
    for (const panel of this.#panels) panel.stop?.();
  }

  #list(): HTMLElement {
    const list = create("dl");
    for (const name of Object.keys(figures({ now: 0, opened: [], metrics: noMetrics }))) {
      const value = create("dd");
      this.#figures.set(name, value);
      list.append(create("div", {}, create("dt", {}, name), value));
    }
    return list;
  }

  /** Moves between the tabs with the keys of the ARIA tabs pattern. */
  #move(event: KeyboardEvent): void {
    const last = this.#tabs.length - 1;
    const steps: Record<string, number> = { ArrowLeft: this.#selected - 1, ArrowRight: this.#selected + 1, Home: 0, End: last };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    this.#select(next < 0 ? last : next > last ? 0 : next);
    this.#tabs[this.#selected]!.focus();
  }

  #select(selected: number): void {
    if (selected !== this.#selected) this.#panels[this.#selected]!.stop?.();
    this.#show(selected);
    this.#changed();
  }

  #show(selected: number): void {
    this.#selected = selected;
    for (const [i, tab] of this.#tabs.entries()) {
      tab.setAttribute("aria-selected", String(i === selected));
      tab.tabIndex = i === selected ? 0 : -1;
      this.#bodies[i]!.hidden = i !== selected;
    }
  }
}

/** Returns the formatted statistics that are shown above the tabs, by name. */
function figures({ now, opened, metrics }: Shown): Record<string, string> {
  const { engine } = metrics;
  const n = (name: string): string => (engine[name] ?? 0).toLocaleString("en-US");
  const progress = opened.flatMap((one) => (one.type === "collection" && one.collection.progress.lastProgress > 0 ? [one.collection.progress.lastProgress] : []));
  return {
    Collections: n("collections"),
    Subscriptions: n("subscriptions"),
    Watches: n("watches"),
    Views: n("views"),
    Objects: total(metrics, "objects").toLocaleString("en-US"),
    References: n("objects.references"),
    Memory: bytes(total(metrics, "usedBytes")),
    Lag: progress.length > 0 ? age(Math.min(...progress), now) : "–",
    Reconnects: n("reconnects"),
    Refusals: n("refusals"),
    "410s": total(metrics, "expired").toLocaleString("en-US"),
    Stalls: total(metrics, "stalls").toLocaleString("en-US"),
  };
}

declare global {
  interface HTMLElementTagNameMap {
    "watchglass-inspector": WatchglassInspector;
  }
}

// If a page loads two releases of the package, only the first one defines the element.
if (typeof customElements === "object" && !customElements.get("watchglass-inspector")) customElements.define("watchglass-inspector", WatchglassInspector);
