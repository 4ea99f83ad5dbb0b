import type { Collection, Schema, Watchglass } from "watchglass";
import { highlighter } from "watchglass/search";
import { ColumnChooser } from "./chooser.ts";
import { facetNames, firstSort, hasWideColumns, nextSort, type TableColumn, tableColumns, UNIQUE, withoutJoined } from "./columns.ts";
import { ConnectionState } from "./connection.ts";
import { Detail } from "./detail.ts";
import { byId, setAttribute, setText } from "./dom.ts";
import { Exporter, type Shown } from "./exporter.ts";
import { Facets } from "./facets.ts";
import { Filters } from "./filters.ts";
import { count, resourceName, words } from "./format.ts";
import { schedule } from "./frame.ts";
import { GroupChooser } from "./groupchooser.ts";
import { Grouping } from "./grouping.ts";
import { aggregateColumns, groupFormat, groupNames } from "./grouprow.ts";
import { toggleInspector } from "./inspector.ts";
import { Notices } from "./notices.ts";
import { type Message, Overlay } from "./overlay.ts";
import { Overview } from "./overview.ts";
import { NamespacePicker, ResourcePicker } from "./pickers.ts";
import { LiveView, rowsQuery } from "./query.ts";
import { CLUSTER_SCOPED, joinedColumns, mayNarrow, withOffered } from "./resources.ts";
import { SavedViews } from "./saved.ts";
import { withLabel } from "./selectors.ts";
import { DEFAULT_RESOURCE, OVERVIEW, type PageState, formatHash, freshState, parseHash, withValue, withoutValue } from "./state.ts";
import { Table } from "./table.ts";
import { signIn, storedToken } from "./token.ts";

function signInMessage(why: string): Message {
  const refused = storedToken() !== "";
  return {
    title: refused ? "This server does not accept the token" : "This server asks for a token",
    text: `${refused ? `It says: ${why}. A token` : "It"} is kept until the tab is closed.`,
    ask: { label: "Bearer token", text: "Sign in", secret: true, submit: signIn },
  };
}

/**
 * The live views of one resource: one with its rows or groups and their facets, and one with its
 * namespaces.
 */
interface Views {
  rows: LiveView;
  namespaces: LiveView;
}

/**
 * The controller of the page. It keeps the URL, the inputs, the open collection and the table
 * consistent.
 */
export class Dashboard {
  readonly connection: Watchglass;
  readonly #draw = () => this.#render();
  readonly #table: Table;
  readonly #facets = new Facets(
    (name, value, chosen) => this.#change({ facets: (chosen ? withValue : withoutValue)(this.#state.facets, name, value) }),
    () => this.#change({ facets: {} }),
  );
  readonly #filters = new Filters((query) => this.#change(query), () => this.#clearFilters());
  readonly #resources = new ResourcePicker((resource) => this.#pick(resource));
  readonly #namespaces = new NamespacePicker((namespace) => this.#change({ namespace }));
  readonly #pill: ConnectionState;
  readonly #detail: Detail;
  readonly #overlay = new Overlay();
  readonly #overview: Overview;
  readonly #notices = new Notices();
  readonly #chooser = new ColumnChooser((columns) => this.#change(columns));
  readonly #groups = new GroupChooser((groupBy) => this.#change({ groupBy, expanded: [] }));
  readonly #exporter: Exporter;
  #state: PageState = freshState("");
  #collection: Collection | undefined;
  /** The namespace that the collection is limited to; empty for all. */
  #scope = "";
  #schema: Schema | undefined;
  #hasJoined = false;
  #views: Views | undefined;
  #grouping: Grouping | undefined;
  /**
   * Whether a query is being applied. While this is true, the snapshot may belong to the new query
   * or to the previous one.
   */
  #applying = false;
  #refusal: string | undefined;

  constructor(connection: Watchglass) {
    this.connection = connection;
    this.#pill = new ConnectionState(() => this.#reconnect());
    this.#detail = new Detail(connection, () => this.#change({ object: "" }));
    this.#overview = new Overview(connection, () => schedule(this.#draw));
    this.#table = new Table({
      onSort: (column, add) => this.#change({ sort: nextSort(column, this.#state.sort, add) }),
      onOpen: (object) => this.#change({ object }),
      onLabel: (key, value) => this.#change({ labelSelector: withLabel(this.#filters.query.labelSelector, key, value) }),
      onWindow: (window, anchor) => this.#isGrouped ? this.#grouping?.move(window, anchor) : this.#views?.rows.move(window, anchor),
      onRange: (first, last, total) => this.#drawRange(first, last, total),
      onExpand: (id, expand) => this.#expand(id, expand),
      parentOf: (index) => this.#grouping?.parentOf(index) ?? -1,
    });
    new SavedViews();
    this.#exporter = new Exporter(() => this.#shown);
    byId("wide").addEventListener("click", () => this.#change({ wide: !this.#state.wide, columns: [] }));
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

  get #shown(): Shown | undefined {
    const [collection, query] = [this.#collection, this.#views?.rows.accepted];
    if (!collection || !query || !this.#schema) return undefined;
    return { collection, resource: this.#state.resource, query: { ...query, groupBy: [], aggregates: [] }, columns: this.#columns(this.#schema) };
  }

  get state(): PageState {
    return this.#state;
  }

  /**
   * Applies a change by the user and updates the URL. A change of the resource adds an entry to the
   * browser's history. The new state includes text that the user is still typing.
   */
  #change(part: Partial<PageState>): void {
    const state = { ...this.#state, ...this.#filters.query, ...part };
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
    this.#facets.setNames(this.#facetNames());
    this.#groups.draw(this.#schema ? groupNames(this.#schema, UNIQUE) : [], state.groupBy);
    setAttribute(byId("wide"), "aria-pressed", String(state.wide));
    if (state.resource === OVERVIEW) this.#showOverview();
    else if (state.resource !== old.resource || (this.#scope && state.namespace !== this.#scope)) this.#openCollection();
    else if (this.#isNarrower(state)) this.#openCollection(state.namespace);
    else if (joinedColumns(state).length !== joinedColumns(old).length) this.#openCollection(this.#scope, true);
    else {
      if (columnsText(state) !== columnsText(old)) this.#showColumns();
      if (queryText(state) !== queryText(old)) this.#applyQuery();
      else if (state.expanded.join("\n") !== old.expanded.join("\n")) this.#onRows();
    }
    this.#showObject();
    schedule(this.#draw);
  }

  #pick(resource: string): void {
    // The search stays, because its words may occur in any resource. The other filters are cleared,
    // because they name columns, labels or fields that the resource may lack.
    const { search } = this.#filters.query;
    this.#change({ ...freshState(resource), namespace: this.#state.namespace, search, sort: firstSort(resource) });
  }

  #showOverview(): void {
    if (this.#collection) this.#closeCollection();
    this.#setPage("overview");
    this.#overview.show(this.#state.namespace);
  }

  /** Switches between the overview with counts and the table of one resource. */
  #setPage(page: "overview" | "table"): void {
    if (page === "table") this.#overview.close();
    setAttribute(document.documentElement, "data-page", page);
    byId("overview").hidden = page === "table";
    this.#exporter.hidden = page === "overview";
    setText(byId("title"), resourceName(this.#state.resource));
    document.title = `${resourceName(this.#state.resource)} · watchglass`;
    setAttribute(byId("grid"), "aria-label", resourceName(this.#state.resource));
  }

  /**
   * Opens the collection of the chosen resource. `again` is true if the collection was open with
   * other columns.
   */
  #openCollection(namespace = "", again = false): void {
    this.#closeCollection(again);
    this.#setPage("table");
    this.#scope = namespace;
    const collection = this.connection.collection(this.#state.resource, { rowsFirst: true, namespace, columns: joinedColumns(this.#state) });
    this.#collection = collection;
    collection.subscribe(() => this.#onCollection(collection));
    collection.subscribeProgress(() => schedule(this.#draw));
    collection.onObjectError((key, status) => this.#notices.add(key, status));
    collection.synced.catch(() => {}); // the status contains the reason
    this.#onCollection(collection);
  }

  /**
   * Reports whether to open only the chosen namespace, because the user may not list all
   * namespaces.
   */
  #isNarrower({ resource, namespace }: PageState): boolean {
    return this.#collection !== undefined && !this.#scope && mayNarrow(this.#collection, resource, namespace);
  }

  #closeCollection(again = false): void {
    for (const view of Object.values(this.#views ?? {})) view.close();
    this.#grouping?.close();
    this.#collection?.close();
    this.#collection = this.#schema = this.#views = this.#grouping = undefined;
    this.#hasJoined = false;
    this.#groups.draw([], []);
    this.#table.setGroups(undefined);
    this.#notices.clear();
    this.#exporter.cancel();
    if (!again) this.#chooser.draw(undefined, this.#state); // the menu stays open, because the user may choose another column
    this.#facets.setNames([]);
    this.#table.setColumns([]);
    this.#table.setSort("");
    this.#table.setSearch(undefined);
    this.#table.setSnapshot(undefined);
    this.#setRefusal(undefined);
  }

  /**
   * Reconnects at the user's request. If the server has rejected the token, this method reloads the
   * page, so that the user can sign in again. The rows stay visible until the reload. A closed
   * collection is opened again.
   */
  #reconnect(): void {
    const { error } = this.#collection?.status ?? this.#overview.condition ?? {};
    if (error?.code === 401) location.reload();
    else if (this.status?.state === "closed") this.#openCollection();
    else this.connection.reconnect();
  }

  /**
   * Handles a changed status or schema. Queries depend on the schema, so the page opens new views
   * when the schema changes.
   */
  #onCollection(collection: Collection): void {
    if (collection !== this.#collection) return;
    if (this.#isNarrower(this.#state)) return this.#openCollection(this.#state.namespace);
    schedule(this.#draw);
    const { state, error } = collection.status;
    const hasJoined = !lacksJoined(collection);
    if (state === "live" && this.#hasJoined !== hasJoined) {
      this.#hasJoined = hasJoined;
      this.#showColumns();
    }
    if (this.#refusal !== undefined && (state === "live" || !error)) this.#applyQuery(); // the query may have been refused only because of the collection's error
    if (!collection.schema || collection.schema === this.#schema) return;
    this.#schema = collection.schema;
    this.#filters.setSchema(collection.schema);
    this.#facets.setNames(this.#facetNames());
    this.#groups.draw(groupNames(this.#schema, UNIQUE), this.#state.groupBy);
    this.#showColumns();
    this.#openViews(collection);
    this.#showObject();
  }

  #openViews(collection: Collection): void {
    for (const view of Object.values(this.#views ?? {})) view.close();
    this.#grouping?.close();
    this.#grouping = new Grouping(collection, () => this.#onRows());
    this.#views = {
      rows: new LiveView(collection, () => this.#onRows()),
      namespaces: new LiveView(collection, () => schedule(this.#draw)),
    };
    if (this.#schema?.namespaced) quietly(this.#views.namespaces.apply({ facets: [{ by: "namespace", limit: 1000 }], limit: 1 }));
    this.#applyQuery();
  }

  get #isGrouped(): boolean {
    return this.snapshot?.groups !== undefined;
  }

  #onRows(): void {
    schedule(this.#draw);
    const [snapshot, query] = [this.snapshot, this.#views?.rows.accepted];
    if (!snapshot?.groups) return this.#table.setSnapshot(snapshot);
    if (this.#applying || !query?.groupBy?.length) return;
    const { expanded } = this.#state;
    const existing = this.#grouping!.show(query, snapshot.groups, expanded);
    this.#table.setSnapshot(this.#grouping!.lines);
    if (existing.length < expanded.length) this.#change({ expanded: existing }); // a group has lost its last row
  }

  #expand(id: string, expand: boolean): void {
    const others = this.#state.expanded.filter((other) => other !== id);
    this.#change({ expanded: expand ? [...others, id] : others });
  }

  /** Returns the names of the resource's facets, and further names that the URL contains. */
  #facetNames(): string[] {
    return this.#schema ? [...new Set([...facetNames(this.#schema), ...Object.keys(this.#state.facets)])] : [];
  }

  async #applyQuery(): Promise<void> {
    if (!this.#views || !this.#schema) return;
    const { rows } = this.#views;
    const state = this.#state;
    const grouped = state.groupBy.length > 0;
    const window = { offset: 0, limit: this.#table.limit };
    const typed = Object.keys(state.facets).length ? state.where : "";
    try {
      const query = rowsQuery(state, this.#facetNames(), this.#schema, aggregateColumns(this.#schema).map(({ name }) => name));
      this.#applying = true;
      if (!(await rows.apply({ ...query, ...(grouped ? { offset: 0, limit: 0 } : window) }, typed)) || rows !== this.#views?.rows) return;
      this.#applying = false;
      this.#table.setGroups(grouped ? groupFormat(this.#schema, state.groupBy) : undefined);
      this.#table.setSort(state.sort);
      this.#table.setSearch(state.search ? highlighter(state.search) : undefined);
      this.#table.toTop(window);
      this.#setRefusal(undefined);
      this.#grouping?.move(window);
    } catch (error) {
      if (rows !== this.#views?.rows) return;
      this.#applying = false;
      this.#setRefusal((error as Error).message);
      this.#onRows();
    }
  }

  /**
   * Shows the engine's error for a rejected query. Undefined removes the error. The rows of the
   * last accepted query stay visible.
   */
  #setRefusal(message: string | undefined): void {
    this.#refusal = message;
    this.#filters.setError(message, this.#state);
    schedule(this.#draw);
  }

  #showColumns(): void {
    if (!this.#schema) return;
    const schema = this.#hasJoined ? withOffered(this.#schema, this.#state.resource) : this.#visible(this.#schema);
    this.#table.setColumns(this.#columns(this.#schema));
    this.#chooser.draw(schema, this.#state);
    byId("wide").hidden = !hasWideColumns(schema);
  }

  #columns(schema: Schema): TableColumn[] {
    return tableColumns(this.#visible(schema), this.#state.wide, this.#state.columns);
  }

  /** Returns the schema, without joined columns as long as they have no values. */
  #visible(schema: Schema): Schema {
    return this.#hasJoined ? schema : withoutJoined(schema);
  }

  #showObject(): void {
    const { object } = this.#state;
    this.#table.setOpened(object);
    if (object && this.#collection && this.#schema) this.#detail.open(this.#collection, this.#state.resource, object);
    else if (!object && this.#detail.key) {
      this.#detail.close();
      this.#table.focus();
    }
  }

  #isFiltered(): boolean {
    const { labelSelector, fieldSelector, search, where, facets } = this.#state;
    return Boolean(labelSelector || fieldSelector || search || where || Object.keys(facets).length);
  }

  /**
   * Clears the filters, so that all objects are shown. If the query was refused, it also resets the
   * sort order and the groups, because they may be the reason.
   */
  #clearFilters(): void {
    const sort = this.#refusal === undefined ? this.#state.sort : firstSort(this.#state.resource);
    this.#change({ namespace: "", labelSelector: "", fieldSelector: "", search: "", where: "", facets: {}, sort, ...(this.#refusal === undefined ? {} : { groupBy: [], expanded: [] }) });
  }

  #onKey(event: KeyboardEvent): void {
    const [target] = event.composedPath(); // may be the document or the window
    const typing = target instanceof Element && target.matches("input, select, textarea");
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
    this.#detail.tick();
    schedule(this.#draw);
  }

  #render(): void {
    const collection = this.#collection;
    if (this.#state.resource === OVERVIEW) this.#renderOverview();
    if (!collection) return;
    this.#pill.draw({ ...collection.status, ...collection.progress }, Date.now(), this.snapshot !== undefined);
    this.#facets.draw(this.snapshot?.facets ?? {}, this.#state.facets);
    const namespaces = this.#views?.namespaces.snapshot?.facets["namespace"]?.values.map(([name]) => name) ?? [];
    this.#namespaces.draw(namespaces, this.#state.namespace, this.#schema?.namespaced ?? true);
    this.#drawOverlay(collection);
  }

  #renderOverview(): void {
    const { condition } = this.#overview;
    if (!condition) return;
    this.#pill.draw(condition, Date.now(), this.#overview.hasCounts);
    this.#overview.draw();
    this.#namespaces.draw(this.#overview.namespaces, this.#state.namespace, true);
    if (condition.error?.code === 401 && !this.#overview.hasCounts) this.#overlay.showMessage(signInMessage(condition.error.message));
    else this.#overlay.hide();
  }

  #drawOverlay(collection: Collection): void {
    const { state } = collection.status;
    const error = lacksJoined(collection) ? undefined : collection.status.error;
    const { loaded, total } = collection.progress;
    const rows = this.snapshot;
    const loading = state === "connecting" || state === "syncing";
    setAttribute(byId("grid"), "aria-busy", String(loading && !rows && !error));
    if (rows && rows.total > 0) this.#overlay.hide();
    else if (!rows && error?.code === 401) this.#overlay.showMessage(signInMessage(error.message));
    else if (!rows && error) this.#overlay.showMessage({ title: words(error.reason), text: error.message, action: this.#wayOut(), ...this.#askNamespace(error.code) });
    else if (!rows && this.#refusal) this.#overlay.showMessage({ title: "This query was not accepted", text: "The error is shown above.", action: this.#clearAction() });
    else if (!rows || loading) this.#overlay.showLoading(total ? `Loading ${count(loaded)} of ${count(total)}` : "Loading");
    else this.#overlay.showMessage(this.#emptyMessage());
  }

  #emptyMessage(): Message {
    const name = resourceName(this.#state.resource);
    const narrowed = this.#isFiltered() || (this.#state.namespace && this.#schema?.namespaced);
    if (!narrowed) return { title: `No ${name}`, text: "New ones appear here by themselves." };
    return { title: `No ${name} match`, action: this.#clearAction() };
  }

  /**
   * Returns an input for a namespace if listing is forbidden, because a user who may not list all
   * namespaces may be allowed to list one.
   */
  #askNamespace(code: number): Pick<Message, "ask"> {
    if (code !== 403 || CLUSTER_SCOPED.has(this.#state.resource)) return {};
    return { ask: { label: "Namespace", text: "Show it", secret: false, submit: (namespace) => this.#change({ namespace }) } };
  }

  #clearAction() {
    return { text: "Clear filters", run: () => this.#clearFilters() };
  }

  #wayOut() {
    if (this.#state.resource === DEFAULT_RESOURCE) return { text: "Try again", run: () => this.#reconnect() };
    return { text: "Show pods", run: () => this.#pick(DEFAULT_RESOURCE) };
  }

  #drawRange(first: number, last: number, total: number): void {
    const range = byId("range");
    if (!this.#isGrouped) setAttribute(range, "data-total", String(total));
    if (!this.#collection) return setText(range, "");
    const name = resourceName(this.#state.resource);
    const { groups, total: rows = 0 } = this.snapshot ?? {};
    if (groups) {
      setAttribute(range, "data-total", String(rows));
      const more = groups.otherValues ? `, and ${count(groups.otherRows)} in ${count(groups.otherValues)} smaller groups` : "";
      const grouped = groups.values.length;
      return setText(range, `${count(rows - groups.otherRows)} ${name} in ${count(grouped)} ${grouped === 1 ? "group" : "groups"}${more}`);
    }
    setText(range, total ? `Showing ${count(first + 1)}–${count(last)} of ${count(total)} ${name}` : this.snapshot ? `0 ${name}` : "");
  }
}

/** Returns the part of the state that determines the rows. */
function queryText({ resource, wide, columns, object, expanded, ...query }: PageState): string {
  return JSON.stringify(query);
}

const columnsText = ({ wide, columns }: PageState): string => JSON.stringify([wide, columns]);

/**
 * Reports whether the only error of a collection is that columns of another resource cannot be
 * read.
 */
const lacksJoined = ({ status }: Collection): boolean => status.error?.cause === "JoinUnavailable";

/** Ignores the rejection of a query, because the view of the rows reports the same error. */
function quietly(applied: Promise<boolean>): void {
  applied.catch(() => {});
}
