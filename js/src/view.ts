import { abortable } from "./abort.js";
import { text, textOptions, uint32, wrongType } from "./check.js";
import { Deferred } from "./deferred.js";
import { statusError, unexpected, type Open, type OpenCollection } from "./engine-client.js";
import { badRequest, closedError, protocolError, type WatchglassError } from "./errors.js";
import { Listeners, offNextFrame, onNextFrame } from "./listeners.js";
import { frozen, sameRow, toRow } from "./object.js";
import { sortText, whereText } from "./query.js";
import type { Anchor, CallOptions, Facet, Groups, Opened, Row, Status, View, ViewOptions, ViewSnapshot, ViewState } from "./types.js";
import type { CountedFacet } from "./wire/commands.js";
import type { Item } from "./wire/item.js";
import type { Delivery, Edit } from "./wire/outputs.js";

const defaultLimit = 100;

/** The maximum number of rows of a window. */
const maxLimit = 10_000;

/**
 * Returns the window of a view as the fields of OpenView and MoveView commands. Throws a 400 for
 * invalid options.
 */
function windowOf({ offset = 0, limit = defaultLimit, anchor: { key, before = 0 } = { key: "" } }: ViewOptions) {
  return { offset: uint32("offset", offset), limit: uint32("limit", limit, maxLimit), anchor: text("the key of anchor", key), before: uint32("before of anchor", before) };
}

const empty: ViewSnapshot = frozen({
  rows: [],
  total: 0,
  offset: 0,
  facets: {},
  resourceVersion: "0",
});

/**
 * Status codes of invalid queries. After any other refusal, the same query is sent again
 * when the collection recovers.
 */
const queryErrors = [400, 413, 422];

/**
 * A live view. Each query opens its own window in the engine. The old window stays open until the
 * first patch of the new window arrives. The new window then replaces it. If the engine refuses a
 * query, the view drops the window of that query. A view without a window waits for its collection
 * to recover or for another query.
 */
export class ViewHandle implements View {
  readonly #collection: OpenCollection;
  readonly #listeners = new Listeners();
  readonly #notify = (): void => this.#listeners.call();
  #current: Window | undefined;
  #next: Window | undefined;
  #settled = new Deferred();
  #snapshot = empty;
  #options: ViewOptions;
  #error: WatchglassError | undefined;
  #ended: WatchglassError | undefined;
  readonly #siblings: Set<ViewHandle>;

  /**
   * `siblings` contains the open views of the collection. The view adds itself, and
   * removes itself when it ends.
   */
  constructor(collection: OpenCollection, options: ViewOptions, siblings: Set<ViewHandle>) {
    this.#collection = collection;
    this.#siblings = siblings;
    this.#options = options;
    this.#open(options);
    siblings.add(this);
  }

  get state(): ViewState {
    if (this.#ended) return "closed";
    if (this.#next) return "loading";
    return this.#current ? "ready" : "error";
  }

  get error(): Status | undefined {
    return this.#error?.status;
  }

  get snapshot(): ViewSnapshot {
    return this.#snapshot;
  }

  get ready(): Promise<void> {
    return this.#settled.promise;
  }

  // An arrow function, so that it can be passed without its view, for example to
  // useSyncExternalStore.
  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.add(listener);

  move(offset: number, limit: number, anchor?: Anchor): void {
    const window = { offset, limit, anchor };
    windowOf(window);
    this.#options = { ...this.#options, ...window };
    this.#current?.move(window);
    this.#next?.move(window);
  }

  query(options: ViewOptions, { signal }: CallOptions = {}): Promise<void> {
    return abortable(() => this.#query(options), signal);
  }

  #query(options: ViewOptions): Promise<void> {
    if (this.#ended) return Promise.reject(this.#ended);
    // The promise of a replaced query settles with the new query.
    if (this.#next) this.#next.close();
    else this.#settled = new Deferred();
    this.#next = undefined;
    try {
      this.#open(options);
    } catch (error) {
      this.#settled.reject(error);
    }
    return this.#settled.promise;
  }

  /** Sends the query again if the engine refused it for a temporary reason. */
  recover(): void {
    if (this.#ended || this.#current || this.#next || !this.#error || queryErrors.includes(this.#error.code)) return;
    this.#settled = new Deferred();
    this.#open(this.#options);
  }

  close(): void {
    this.#current?.close();
    this.#next?.close();
    this.#current = this.#next = undefined;
    this.#end(closedError("the view"));
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #open(options: ViewOptions): void {
    const window: Window = new Window(this.#collection, options, {
      changed: (snapshot) => this.#changed(window, snapshot),
      refused: (error) => this.#refused(window, error),
      ended: (error) => this.#end(error),
      previous: () => this.#snapshot.rows,
    });
    this.#next = window;
    this.#options = options;
    onNextFrame(this.#notify);
  }

  #changed(window: Window, snapshot: ViewSnapshot): void {
    if (window === this.#next) {
      this.#current?.close();
      this.#current = window;
      this.#next = this.#error = undefined;
      this.#settled.resolve();
    }
    this.#snapshot = snapshot;
    onNextFrame(this.#notify);
  }

  #refused(window: Window, error: WatchglassError): void {
    this.#error = error;
    if (window === this.#next) {
      this.#next = undefined;
      this.#settled.reject(error);
    } else {
      this.#current = undefined;
    }
    onNextFrame(this.#notify);
  }

  #end(error: WatchglassError): void {
    if (this.#ended) return;
    this.#ended = this.#error = error;
    this.#siblings.delete(this);
    this.#settled.reject(error);
    offNextFrame(this.#notify);
    this.#listeners.call();
    this.#listeners.clear();
  }
}

interface WindowEvents {
  changed(snapshot: ViewSnapshot): void;
  /** Called when the engine has refused the query. The window is closed. */
  refused(error: WatchglassError): void;
  /** Called when the collection has ended, which also ends the window. */
  ended(error: WatchglassError): void;
  /** Returns the displayed rows, so that unchanged rows are reused. */
  previous(): readonly Row[];
}

/**
 * Returns the fields of an OpenView command that describe the query of a view. Throws a 400 for
 * invalid options.
 */
function queryOf({ namespaces = [], where, recursive, sort, facets = [], groupBy = [], aggregates = [], ...options }: ViewOptions) {
  const { namespace } = options;
  if (!Array.isArray(facets)) throw wrongType("facets", facets, "an array of names and { by, limit, width }");
  const [by, then, third] = texts("groupBy", groupBy);
  if (third) throw badRequest("groupBy has more than 2 names");
  if (namespace && namespaces.length) throw badRequest("namespace and namespaces exclude each other");
  return {
    ...textOptions(options, "namespace", "labelSelector", "fieldSelector", "search", "ownedBy"),
    namespaces: texts("namespaces", namespace ? [namespace] : namespaces),
    where: whereText(where),
    recursive: !!recursive,
    sort: sortText(sort),
    // The engine computes the groups as an additional facet.
    facets: [...facets, ...(by ? [{ by, then, limit: 1000, rowsOnly: true, aggregates: texts("aggregates", aggregates) }] : [])].map(facetOf),
  };
}

/** Returns the value if it is an array of strings. Throws a 400 otherwise. */
function texts(what: string, list: readonly string[]): readonly string[] {
  if (!Array.isArray(list)) throw wrongType(what, list, "an array of strings");
  return list.map((one: string) => text(`a member of ${what}`, one));
}

function facetOf(facet: string | Partial<CountedFacet>): CountedFacet {
  const { by, then = "", limit = 0, width = 0, rowsOnly = false, aggregates = [] } = typeof facet === "string" ? { by: facet } : (facet ?? {});
  return { by: text("the name of a facet", by!), then, limit: uint32(`limit of facet ${by}`, limit), width: uint32(`width of facet ${by}`, width), rowsOnly, aggregates };
}

/** Returns the facets of a patch by name, and its groups, frozen. */
function countsOf(query: readonly CountedFacet[], counts: readonly Groups[]): Pick<ViewSnapshot, "facets" | "groups"> {
  const facets: Record<string, Facet> = {};
  let groups: Groups | undefined;
  counts.forEach(({ values, ...others }, i) => {
    const { by, rowsOnly } = query[i]!;
    if (rowsOnly) groups = { values, ...others };
    else facets[by] = { values: values.map(({ values: [value], rows }) => [value, rows] as const), ...others };
  });
  return frozen({ facets, groups });
}

/** A window that is open in the engine, and a copy of its rows. */
class Window implements Open {
  readonly #collection: OpenCollection;
  readonly #events: WindowEvents;
  readonly #id: number;
  readonly #query: ReturnType<typeof queryOf>;
  #options: ViewOptions;
  #rows: readonly Row[] = empty.rows;
  // The engine sends one patch per grant. After each patch, the window sends a grant in the next
  // frame. A page therefore applies at most one patch per frame. While the page draws no frames, at
  // most one patch is pending.
  readonly #grant = (): void => this.#collection.client.send({ type: "GrantView", view: this.#id });

  constructor(collection: OpenCollection, options: ViewOptions, events: WindowEvents) {
    if (typeof options !== "object" || !options) throw wrongType("options", options, "an object");
    windowOf(options);
    this.#collection = collection;
    this.#query = queryOf(options);
    this.#options = { ...options };
    this.#events = events;
    this.#id = collection.client.register(this);
    collection.adopt(this);
    this.#open();
  }

  move(window: ViewOptions): void {
    this.#options = { ...this.#options, ...window };
    this.#collection.client.send({ type: "MoveView", view: this.#id, ...windowOf(window) });
  }

  close(): void {
    this.#collection.client.send({ type: "CloseView", view: this.#id });
    this.#release();
  }

  receive(output: Delivery): void {
    switch (output.type) {
      case "ViewPatch":
        return this.#events.changed(this.#patch(output));
      case "Rejected":
        this.#release();
        return this.#events.refused(statusError(output.status));
    }
    throw unexpected(output);
  }

  describe(): Opened {
    return { type: "view", id: this.#id, of: this.#collection.id, options: this.#options, rows: this.#rows.length };
  }

  restarted(): void {
    offNextFrame(this.#grant);
    this.#open();
  }

  closed(error: WatchglassError): void {
    this.#release();
    this.#events.ended(error);
  }

  #open(): void {
    this.#collection.client.send({ type: "OpenView", view: this.#id, collection: this.#collection.id, ...this.#query, ...windowOf(this.#options) });
  }

  #release(): void {
    offNextFrame(this.#grant);
    this.#collection.client.release(this.#id);
    this.#collection.disown(this);
  }

  #patch(patch: Delivery & { type: "ViewPatch" }): ViewSnapshot {
    const { schema } = this.#collection;
    if (this.#options.anchor) this.#options.offset = patch.offset;
    if (patch.reset) {
      const shown = new Map(this.#events.previous().map((row) => [row.key, row]));
      this.#rows = edited([], patch.edits, (item) => {
        const row = toRow(item, schema);
        const old = shown.get(row.key);
        return old && sameRow(old, row) ? old : row;
      });
    } else if (patch.edits.length > 0) {
      this.#rows = edited(this.#rows, patch.edits, (item) => toRow(item, schema));
    }
    onNextFrame(this.#grant);
    return Object.freeze({
      rows: this.#rows,
      total: patch.total,
      offset: patch.offset,
      ...countsOf(this.#query.facets, patch.facets),
      resourceVersion: patch.resourceVersion,
    });
  }
}

/**
 * Applies edits to a copy of the rows. The function `shown` returns the row for an inserted item.
 * Most patches only replace rows in place. Copying the array and replacing rows takes a fifth of
 * the time of building a new array row by row.
 */
function edited(rows: readonly Row[], edits: Edit[], shown: (item: Item) => Row): readonly Row[] {
  const replacements = edits.every(({ remove, insert }) => remove === insert.length);
  const next = replacements ? rows.slice() : [];
  let at = 0; // position in rows
  const copy = (end: number): void => {
    if (replacements) at = end;
    else while (at < end) next.push(rows[at++]!);
  };
  for (const { keep, remove, insert } of edits) {
    const end = at + keep + remove;
    if (end > rows.length) throw protocolError(`a patch edits ${end} of ${rows.length} rows`);
    copy(at + keep);
    for (const [i, item] of insert.entries()) {
      if (replacements) next[at + i] = shown(item);
      else next.push(shown(item));
    }
    at = end;
  }
  copy(rows.length);
  return Object.freeze(next);
}
