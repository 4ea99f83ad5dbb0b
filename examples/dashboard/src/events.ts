import type { Collection, Row, Watchglass } from "watchglass";
import { byId, create, setText } from "./dom.ts";
import { age, count, words } from "./format.ts";
import { LiveView } from "./query.ts";
import { escapeValue } from "./selectors.ts";
import { formatHash, freshState } from "./state.ts";

const RESOURCE = "v1/events";

/**
 * The maximum number of events that are shown for an object. A link leads to the table of all
 * events of the object.
 */
const SHOWN = 50;

/** The events about one object, newest first. */
export class ObjectEvents {
  readonly #box = byId("detail-events");
  readonly #list = byId("events-list");
  readonly #note = byId("events-note");
  readonly #count = byId("events-count");
  readonly #all = byId<HTMLAnchorElement>("events-all");
  readonly #connection: Watchglass;
  readonly #onChange: () => void;
  #collection: Collection | undefined;
  #view: LiveView | undefined;
  #isAsked = false;
  #about = "";
  #drawn: readonly Row[] = [];
  #times: { element: HTMLElement; row: Row }[] = [];

  constructor(connection: Watchglass, onChange: () => void) {
    this.#connection = connection;
    this.#onChange = onChange;
  }

  /** Shows the events about an object, unless they are already shown. */
  open(kind: string, row: Row): void {
    const fieldSelector = aboutObject(kind, row);
    if (this.#about === fieldSelector) return;
    this.close();
    this.#about = fieldSelector;
    this.#box.hidden = kind === "Event";
    if (kind === "Event") return;
    this.#all.href = formatHash({ ...freshState(RESOURCE), namespace: row.namespace, fieldSelector, sort: "Last Seen" });
    // The collection is limited to this namespace, because the user may lack the right to list the
    // events of other namespaces.
    const collection = this.#connection.collection(RESOURCE, { namespace: row.namespace, fieldSelector, metadataOnly: true });
    this.#collection = collection;
    this.#view = new LiveView(collection, this.#onChange);
    collection.synced.catch(() => {}); // the status contains the reason
    collection.subscribe(() => this.#onCollection(collection));
    this.#onCollection(collection);
  }

  close(): void {
    this.#view?.close();
    this.#collection?.close();
    this.#collection = this.#view = undefined;
    this.#isAsked = false;
    this.#about = "";
    this.#box.hidden = true;
    this.#drawRows([]);
  }

  draw(now: number): void {
    if (!this.#collection) return;
    const { total = 0, rows = [] } = this.#view?.snapshot ?? {};
    if (rows !== this.#drawn) this.#drawRows(rows);
    for (const { element, row } of this.#times) setText(element, timeText(row, now));
    setText(this.#count, total ? count(total) : "");
    setText(this.#note, this.#noteText(total));
    this.#note.hidden = !this.#note.textContent;
    this.#list.hidden = total === 0;
    this.#all.hidden = total <= SHOWN;
  }

  /** Sends the query as soon as the schema is known and the collection has no error. */
  #onCollection(collection: Collection): void {
    if (collection !== this.#collection) return;
    this.#onChange();
    if (this.#isAsked || !collection.schema || collection.status.error) return;
    this.#isAsked = true;
    this.#view!.apply({ sort: "Last Seen", limit: SHOWN }).catch(() => { this.#isAsked = false; });
  }

  #noteText(total: number): string {
    const { status: { state, error }, progress } = this.#collection!;
    if (error?.code === 403) return `You may not list events. ${error.message}`;
    if (error) return `${words(error.reason)}: ${error.message}`;
    if (!this.#view?.snapshot) return "Loading";
    if (state !== "live" && progress.lastProgress) return `As of ${new Date(progress.lastProgress).toLocaleTimeString()}`;
    return total ? "" : "None. By default, Kubernetes keeps events for an hour.";
  }

  #drawRows(rows: readonly Row[]): void {
    this.#drawn = rows;
    this.#times = [];
    this.#list.replaceChildren(...rows.map((row) => {
      const item = create("li", "event");
      const time = create("span", "muted");
      this.#times.push({ element: time, row });
      item.dataset.status = String(row.cells["Type"] ?? "");
      const type = item.dataset.status === "Normal" ? "" : `${item.dataset.status} `;
      item.append(create("strong", "", `${type}${row.cells["Reason"] ?? ""}`), " ", time, create("p", "", String(row.cells["Message"] ?? "")));
      return item;
    }));
  }
}

/**
 * Formats the age of the last occurrence, the number of occurrences, and the component that reports
 * the event.
 */
function timeText({ cells }: Row, now: number): string {
  const [seen, times, source] = [cells["Last Seen"], cells["Count"], cells["Source"]];
  const parts = [
    typeof seen === "number" ? `${age(now - seen)} ago` : "",
    typeof times === "number" && times > 1 ? `${count(times)} times` : "",
    source ? `by ${source}` : "",
  ];
  return parts.filter(Boolean).join(", ");
}

/**
 * Returns the field selector for the events about an object. The kubelet reports the name of a node
 * as its UID, so only namespaced objects are selected by UID.
 */
function aboutObject(kind: string, { namespace, name, uid }: Row): string {
  if (namespace) return `involvedObject.uid=${escapeValue(uid)}`;
  return `involvedObject.kind=${escapeValue(kind)},involvedObject.name=${escapeValue(name)}`;
}
