import type { Collection, Schema, ViewOptions, Watchglass } from "watchglass";
import { facetField, firstSort, hasWideColumns, nextSort, tableColumns } from "./columns.ts";
import { ConnectionState } from "./connection.ts";
import { Detail } from "./detail.ts";
import { byId, setAttribute, setText } from "./dom.ts";
import { Facets } from "./facets.ts";
import { Filters } from "./filters.ts";
import { count, resourceName, words } from "./format.ts";
import { schedule } from "./frame.ts";
import { toggleInspector } from "./inspector.ts";
import { Notices } from "./notices.ts";
import { type Message, Overlay } from "./overlay.ts";
import { NamespacePicker, ResourcePicker } from "./pickers.ts";
import { LiveView } from "./query.ts";
import { demandedValue, withField, withLabel, withoutField } from "./selectors.ts";
import { DEFAULT_RESOURCE, type PageState, formatHash, freshState, parseHash } from "./state.ts";
import { Table } from "./table.ts";
import { signIn, storedToken } from "./token.ts";

function signInMessage(why: string): Message {
  const refused = storedToken() !== "";
  return {
    title: refused ? "This server does not accept the token" : "This server asks for a token",
    text: `${refused ? `It says: ${why}. A token` : "It"} is kept until the tab is closed.`,
    ask: { label: "Bearer token", text: "Sign in", submit: signIn },
  };
}

/** The live views of one resource: its rows, its count by phase, and its namespaces. */
interface Views {
  rows: LiveView;
  facets: LiveView;
  namespaces: LiveView;
}

/** Synchronizes the state of the page with the collection that it shows. */
export class Dashboard {
  readonly connection: Watchglass;
  readonly #draw = () => this.#render();
  readonly #table: Table;
  readonly #facets = new Facets((value) => this.#toggleFacet(value));
  readonly #filters = new Filters((selection) => this.#change(selection));
  readonly #resources = new ResourcePicker((resource) => this.#pick(resource));
  readonly #namespaces = new NamespacePicker((namespace) => this.#change({ namespace }));
  readonly #pill: ConnectionState;
  readonly #detail = new Detail(() => this.#change({ object: "" }));
  readonly #overlay = new Overlay();
  readonly #notices = new Notices();
  #state: PageState = freshState("");
  #collection: Collection | undefined;
  #schema: Schema | undefined;
  #views: Views | undefined;
  #refusal: string | undefined;

  constructor(connection: Watchglass) {
    this.connection = connection;
    this.#pill = new ConnectionState(() => this.#reconnect());
    this.#table = new Table({
      onSort: (column) => this.#change({ sort: nextSort(column, this.#state.sort) }),
      onOpen: (object) => this.#change({ object }),
      onLabel: (key, value) => this.#change({ labelSelector: withLabel(this.#state.labelSelector, key, value) }),
      onWindow: (window) => this.#views?.rows.move(window),
      onRange: (first, last, total) => this.#drawRange(first, last, total),
    });
    byId("wide").addEventListener("click", () => this.#change({ wide: !this.#state.wide }));
    addEventListener("keydown", (event) => this.#onKey(event));
    addEventListener("hashchange", () => this.#show(parseHash(location.hash)));
    setInterval(() => this.#tick(), 1000);
    this.#show(parseHash(location.hash));
  }

  get collection(): Collection | undefined {
    return this.#collection;
  }

  get status() {
    return this.#collection?.status;
  }

  get progress() {
    return this.#collection?.progress;
  }

  get snapshot() {
    return this.#views?.rows.snapshot;
  }

  get state(): PageState {
    return this.#state;
  }

  /**
   * A change by the user. It updates the URL, and another resource adds an entry to the
   * history.
   */
  #change(part: Partial<PageState>): void {
    const state = { ...this.#state, ...part };
    const hash = formatHash(state);
    if (state.resource !== this.#state.resource) history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
    this.#show(state);
  }

  #show(state: PageState): void {
    const old = this.#state;
    this.#state = state;
    this.#resources.set(state.resource);
    this.#filters.set(state, this.#isFiltered());
    setAttribute(byId("wide"), "aria-pressed", String(state.wide));
    if (state.resource !== old.resource) this.#openCollection();
    else {
      if (state.wide !== old.wide) this.#showColumns();
      if (queryText(state) !== queryText(old)) this.#applyQuery();
    }
    this.#showObject();
    schedule(this.#draw);
  }

  #pick(resource: string): void {
    this.#change({ ...freshState(resource), namespace: this.#state.namespace, sort: firstSort(resource) });
  }

  #openCollection(): void {
    this.#closeCollection();
    document.title = `${resourceName(this.#state.resource)} · watchglass`;
    setAttribute(byId("grid"), "aria-label", resourceName(this.#state.resource));
    const collection = this.connection.collection(this.#state.resource);
    this.#collection = collection;
    collection.subscribe(() => this.#onCollection(collection));
    collection.subscribeProgress(() => schedule(this.#draw));
    collection.onObjectError((key, status) => this.#notices.add(key, status));
    collection.synced.catch(() => {}); // the status contains the reason
    this.#onCollection(collection);
  }

  #closeCollection(): void {
    for (const view of Object.values(this.#views ?? {})) view.close();
    this.#collection?.close();
    this.#collection = this.#schema = this.#views = undefined;
    this.#notices.clear();
    this.#facets.clear();
    this.#table.setColumns([]);
    this.#table.setSort("");
    this.#table.setSnapshot(undefined);
    this.#setRefusal(undefined);
  }

  /** A closed collection does not reopen by itself. */
  /**
   * A user whose token has expired signs in on a new page. The rows stay until the user
   * asks for that.
   */
  #reconnect(): void {
    if (this.status?.error?.code === 401) location.reload();
    else if (this.status?.state === "closed") this.#openCollection();
    else this.connection.reconnect();
  }

  /** The status changed or the schema arrived. The query can only be built with both. */
  #onCollection(collection: Collection): void {
    if (collection !== this.#collection) return;
    schedule(this.#draw);
    if (!collection.schema || collection.schema === this.#schema) return;
    this.#schema = collection.schema;
    this.#filters.setFields(collection.schema.fields);
    this.#showColumns();
    this.#openViews(collection);
    this.#showObject();
  }

  #openViews(collection: Collection): void {
    for (const view of Object.values(this.#views ?? {})) view.close();
    this.#views = {
      rows: new LiveView(collection, () => this.#table.setSnapshot(this.snapshot)),
      facets: new LiveView(collection, () => schedule(this.#draw)),
      namespaces: new LiveView(collection, () => schedule(this.#draw)),
    };
    if (this.#schema?.namespaced) quietly(this.#views.namespaces.apply({ facets: [{ by: "metadata.namespace", limit: 1000 }], limit: 1 }));
    this.#applyQuery();
  }

  #applyQuery(): void {
    if (!this.#views || !this.#schema) return;
    const { labelSelector, fieldSelector, sort } = this.#state;
    const namespace = this.#schema.namespaced ? this.#state.namespace : "";
    this.#applyRows({ namespace, labelSelector, fieldSelector, sort, offset: 0, limit: this.#table.limit });
    const facet = facetField(this.#schema);
    if (!facet) return;
    const others = withoutField(fieldSelector, facet);
    quietly(this.#views.facets.apply({ namespace, labelSelector, fieldSelector: others, facets: [facet], limit: 1 }));
  }

  async #applyRows(options: ViewOptions & { offset: number; limit: number; sort: string }): Promise<void> {
    const { rows } = this.#views!;
    try {
      if (!(await rows.apply(options)) || rows !== this.#views?.rows) return;
      this.#table.setSort(options.sort);
      this.#table.toTop(options);
      this.#setRefusal(undefined);
    } catch (error) {
      if (rows === this.#views?.rows) this.#setRefusal((error as Error).message);
    }
  }

  /** The engine's error for a rejected query. The rows of the last accepted query stay. */
  #setRefusal(message: string | undefined): void {
    this.#refusal = message;
    this.#filters.setError(message, this.#state);
    schedule(this.#draw);
  }

  #showColumns(): void {
    if (!this.#schema) return;
    this.#table.setColumns(tableColumns(this.#schema, this.#state.wide));
    byId("wide").hidden = !hasWideColumns(this.#schema);
  }

  #showObject(): void {
    const { object } = this.#state;
    this.#table.setOpened(object);
    if (object && this.#collection && this.#schema) this.#detail.open(this.#collection, object);
    else if (!object && this.#detail.key) {
      this.#detail.close();
      this.#table.focus();
    }
  }

  #toggleFacet(value: string): void {
    const field = facetField(this.#schema!);
    const { fieldSelector } = this.#state;
    const chosen = demandedValue(fieldSelector, field) === value;
    this.#change({ fieldSelector: chosen ? withoutField(fieldSelector, field) : withField(fieldSelector, field, value) });
  }

  #isFiltered(): boolean {
    return Boolean(this.#state.labelSelector || this.#state.fieldSelector);
  }

  #clearFilters(): void {
    this.#change({ namespace: "", labelSelector: "", fieldSelector: "" });
  }

  #onKey(event: KeyboardEvent): void {
    const typing = (event.composedPath()[0] as HTMLElement).matches("input, select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      this.#filters.focus();
    } else if (event.key === "i" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      toggleInspector(this.connection, () => this.#table.focus());
    } else if (event.key === "Escape") {
      if (typing) this.#table.focus();
      else if (this.#state.object) this.#change({ object: "" });
    }
  }

  #tick(): void {
    if (document.hidden) return;
    this.#table.updateAges();
    schedule(this.#draw);
  }

  #render(): void {
    const collection = this.#collection;
    if (!collection) return;
    this.#pill.draw({ ...collection.status, ...collection.progress }, Date.now(), this.snapshot !== undefined);
    const facet = this.#schema && facetField(this.#schema);
    const counts = facet && this.#views?.facets.snapshot?.facets[facet]?.values;
    if (facet && counts) this.#facets.draw(counts, demandedValue(this.#state.fieldSelector, facet));
    const namespaces = this.#views?.namespaces.snapshot?.facets["metadata.namespace"]?.values.map(([name]) => name) ?? [];
    this.#namespaces.draw(namespaces, this.#state.namespace, this.#schema?.namespaced ?? true);
    this.#drawOverlay(collection);
  }

  #drawOverlay(collection: Collection): void {
    const { state, error } = collection.status;
    const { loaded, total } = collection.progress;
    const rows = this.snapshot;
    const loading = state === "connecting" || state === "syncing";
    setAttribute(byId("grid"), "aria-busy", String(loading && !rows));
    if (rows && rows.total > 0) this.#overlay.hide();
    else if (!rows && error?.code === 401) this.#overlay.showMessage(signInMessage(error.message));
    else if (!rows && error) this.#overlay.showMessage({ title: words(error.reason), text: error.message, action: this.#wayOut() });
    else if (!rows && this.#refusal) this.#overlay.showMessage({ title: "This query was not accepted", text: "Its error is above." });
    else if (!rows || loading) this.#overlay.showLoading(total ? `Loading ${count(loaded)} of ${count(total)}` : "Loading");
    else this.#overlay.showMessage(this.#emptyMessage());
  }

  #emptyMessage(): Message {
    const name = resourceName(this.#state.resource);
    const narrowed = this.#isFiltered() || (this.#state.namespace && this.#schema?.namespaced);
    if (!narrowed) return { title: `No ${name}`, text: "New ones appear here by themselves." };
    return { title: `No ${name} match`, action: { text: "Clear filters", run: () => this.#clearFilters() } };
  }

  #wayOut() {
    if (this.#state.resource === DEFAULT_RESOURCE) return { text: "Try again", run: () => this.#reconnect() };
    return { text: "Show pods", run: () => this.#pick(DEFAULT_RESOURCE) };
  }

  #drawRange(first: number, last: number, total: number): void {
    const range = byId("range");
    const name = resourceName(this.#state.resource);
    setAttribute(range, "data-total", String(total));
    setText(range, total ? `Showing ${count(first + 1)}–${count(last)} of ${count(total)} ${name}` : this.snapshot ? `0 ${name}` : "");
  }
}

/** The part of the state that determines the rows. */
function queryText(s: PageState): string {
  return [s.namespace, s.labelSelector, s.fieldSelector, s.sort].join("\n");
}

/** For views whose rejection the rows' view already reports. */
function quietly(applied: Promise<boolean>): void {
  applied.catch(() => {});
}
