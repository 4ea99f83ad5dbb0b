import type { Collection, Opened } from "../types.js";
import { create, setText, Table, type Cell } from "./dom.js";
import type { ErrorLog } from "./errors.js";
import { age, alarm, bytes, failure, options, state, windowOf } from "./format.js";
import type { Metrics } from "./metrics.js";
import { Tail } from "./tail.js";

/** The data that the panels show. */
export interface Shown {
  now: number;
  opened: readonly Opened[];
  metrics: Metrics;
}

/** The contents of one tab. */
export interface Panel {
  readonly name: string;
  readonly element: HTMLElement;
  /** Returns the number to show in the tab's label; the label omits 0. */
  count(shown: Shown): number;
  /** Updates the element. Called only while the panel is selected. */
  draw(shown: Shown): void;
  stop?(): void;
}

type OpenedOf<Type extends Opened["type"]> = Opened & { type: Type };

const only = <Type extends Opened["type"]>(opened: readonly Opened[], type: Type): OpenedOf<Type>[] => opened.filter((one): one is OpenedOf<Type> => one.type === type);

/** Returns the resource of the collection with the given ID. */
function nameOf({ opened }: Shown, id: number): string {
  return only(opened, "collection").find((one) => one.id === id)?.resource ?? `collection ${id}`;
}

const number = (title: string) => ({ title, number: true });

export class CollectionsPanel implements Panel {
  readonly name = "Collections";
  readonly #table = new Table(
    "Collections",
    [
      { title: "Resource" }, { title: "Scope" }, { title: "State" }, number("Objects"), number("Version"), number("Lag"), number("Memory"),
      number("Events"), number("Resumes"), number("Relists"), number("410s"), number("Stalls"), number("Shared by"), { title: "Error" },
    ],
    "No collection is open.",
  );
  readonly element = this.#table.element;

  count({ metrics, opened }: Shown): number {
    return Math.max(metrics.collections.size, only(opened, "collection").length);
  }

  draw(shown: Shown): void {
    const own = only(shown.opened, "collection");
    const ids = new Set(own.map(({ id }) => id));
    const others = [...shown.metrics.collections.keys()].filter((id) => !ids.has(id));
    this.#table.draw([...own.map((one) => this.#own(shown, one)), ...others.map((id) => this.#other(shown, id))]);
  }

  #own(shown: Shown, { id, resource, options: scope, collection }: OpenedOf<"collection">): Cell[] {
    const { status, progress } = collection;
    return [
      resource, options(scope), state(status.state), progress.objects, progress.resourceVersion, age(progress.lastProgress, shown.now),
      ...this.#counters(shown, id), failure(status.error),
    ];
  }

  #other(shown: Shown, id: number): Cell[] {
    return ["another page", "", "", shown.metrics.collections.get(id)?.["objects"] ?? 0, "", "", ...this.#counters(shown, id), ""];
  }

  #counters({ metrics }: Shown, id: number): Cell[] {
    const one = metrics.collections.get(id) ?? {};
    const { usedBytes = 0, events = 0, resumes = 0, relists = 0, expired = 0, stalls = 0, sharedBy = 0 } = one;
    return [bytes(usedBytes), events, alarm(resumes), relists, alarm(expired), alarm(stalls), sharedBy];
  }
}

export class ViewsPanel implements Panel {
  readonly name = "Views";
  readonly #table = new Table("Views", [{ title: "Collection" }, { title: "Query" }, { title: "Window" }, number("Rows")], "No view is open.");
  readonly element = this.#table.element;

  count({ opened }: Shown): number {
    return only(opened, "view").length;
  }

  draw(shown: Shown): void {
    this.#table.draw(only(shown.opened, "view").map((view) => [nameOf(shown, view.of), options({ ...view.options, offset: "" }), windowOf(view), view.rows]));
  }
}

export class WatchesPanel implements Panel {
  readonly name = "Watches";
  readonly #table = new Table("Watches", [{ title: "Collection" }, { title: "Options" }, number("Queued")], "No watch is open.");
  readonly element = this.#table.element;

  count({ opened }: Shown): number {
    return only(opened, "watch").length;
  }

  draw(shown: Shown): void {
    this.#table.draw(only(shown.opened, "watch").map((watch) => [nameOf(shown, watch.of), options(watch.options), watch.queued]));
  }
}

export class ObjectsPanel implements Panel {
  readonly name = "Objects";
  readonly #table = new Table("Objects", [{ title: "Resource" }, { title: "Key" }, { title: "Owner" }, { title: "State" }, { title: "Error" }], "No object is open.");
  readonly element = this.#table.element;

  count({ opened }: Shown): number {
    return only(opened, "object").length;
  }

  draw(shown: Shown): void {
    this.#table.draw(only(shown.opened, "object").map((one) => [one.resource, one.key, one.owner || "–", state(one.state), failure(one.error)]));
  }
}

const time = (millis: number): string => new Date(millis).toLocaleTimeString("en-GB");

export class ErrorsPanel implements Panel {
  readonly name = "Errors";
  readonly #log: ErrorLog;
  readonly #table = new Table("Errors", [{ title: "Time" }, { title: "Source" }, { title: "Error" }], "No error since the inspector was opened.");
  readonly element = this.#table.element;

  constructor(log: ErrorLog) {
    this.#log = log;
  }

  count(): number {
    return this.#log.errors.length;
  }

  draw(): void {
    this.#table.draw(this.#log.errors.map(({ time: at, source, status }) => [time(at), source, failure(status)]));
  }
}

export class EventsPanel implements Panel {
  readonly name = "Events";
  readonly #select = create("select", { "aria-label": "Collection" });
  readonly #pause = create("button", { type: "button", "aria-pressed": "false" }, "Pause");
  readonly #clear = create("button", { type: "button" }, "Clear");
  readonly #count = create("span");
  readonly #table = new Table("Events", [{ title: "Time" }, { title: "Type" }, { title: "Object" }, number("Version")], "No event yet.");
  readonly element = create("div", {}, create("div", { class: "tools" }, this.#select, this.#pause, this.#clear, this.#count), this.#table.element);
  readonly #tail: Tail;
  #collections = new Map<string, Collection>();

  /** The function `changed` requests a call of {@link draw}. */
  constructor(changed: () => void) {
    this.#tail = new Tail(changed);
    this.#select.addEventListener("change", () => this.#follow());
    this.#clear.addEventListener("click", () => this.#tail.clear());
    this.#pause.addEventListener("click", () => {
      this.#tail.paused = !this.#tail.paused;
      this.#pause.setAttribute("aria-pressed", String(this.#tail.paused));
    });
  }

  count(): number {
    return this.#tail.count;
  }

  /**
   * Draws the latest events of the selected collection. The first call starts the watch, so that
   * the panel uses no resources before it is selected.
   */
  draw({ opened }: Shown): void {
    this.#offer(only(opened, "collection"));
    this.#follow();
    setText(this.#count, `${this.#tail.count.toLocaleString("en-US")} events`);
    this.#table.draw(this.#tail.lines.map(({ time: at, type, key, resourceVersion }) => [time(at), { text: type, tone: tones[type] ?? "" }, key, resourceVersion]));
  }

  stop(): void {
    this.#tail.follow(undefined);
  }

  #follow(): void {
    this.#tail.follow(this.#collections.get(this.#select.value));
  }

  #offer(collections: OpenedOf<"collection">[]): void {
    this.#collections = new Map(collections.map(({ id, collection }) => [String(id), collection]));
    const labels = collections.map(({ id, resource, options: scope }): [string, string] => [String(id), [resource, options(scope)].filter(Boolean).join(", ")]);
    const { options: offered } = this.#select;
    if (labels.length === offered.length && labels.every(([value, text], i) => offered[i]!.value === value && offered[i]!.text === text)) return;
    const { value: selected } = this.#select;
    this.#select.replaceChildren(...labels.map(([value, text]) => create("option", { value }, text)));
    if (this.#collections.has(selected)) this.#select.value = selected;
  }
}

const tones: Record<string, "good" | "warn" | "bad"> = { ADDED: "good", MODIFIED: "warn", DELETED: "bad", ERROR: "bad" };
