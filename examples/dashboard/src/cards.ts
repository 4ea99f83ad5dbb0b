import type { Collection, Condition as Where, Facet, Watchglass } from "watchglass";
import { type Bar, BarChart } from "./chart.ts";
import { firstSort } from "./columns.ts";
import type { Condition } from "./connection.ts";
import { create, setAttribute, setText } from "./dom.ts";
import { count, resourceName, words } from "./format.ts";
import { LiveView } from "./query.ts";
import { CLUSTER_SCOPED, mayNarrow } from "./resources.ts";
import { type PageState, formatHash, freshState } from "./state.ts";

/** A chart on a card. Its bars count the objects by the values of a column, or by conditions. */
export interface Chart {
  title: string;
  /** A column whose values are counted. */
  by?: string;
  /** Conditions with one bar each, which counts the matching rows. */
  where?: readonly string[];
}

/** The maximum number of bars of a chart. The remaining values share one more bar. */
const MAX_BARS = 8;

/**
 * The maximum number of values of a facet. The values of the namespace facet are also the options
 * of the namespace picker.
 */
const MAX_VALUES = 1000;

/**
 * A card with the live counts of one resource. Each count is a link to the table of the counted
 * objects.
 */
export class Card {
  readonly element = create("li", "card");
  readonly resource: string;
  readonly #link = create("a", "card-title");
  readonly #total = create("span", "card-total");
  readonly #note = create("p", "muted card-note");
  readonly #connection: Watchglass;
  readonly #onChange: () => void;
  readonly #charts: { chart: Chart; bars: BarChart; conditions: LiveView[] }[];
  #collection!: Collection;
  #all!: LiveView;
  /** The namespace that the collection is limited to; empty for all. */
  #scope = "";
  #namespace = "";
  /** The namespace in the last queries that were sent. Undefined if the queries must be sent. */
  #applied: string | undefined;
  #refusal = "";

  constructor(connection: Watchglass, resource: string, charts: readonly Chart[], onChange: () => void) {
    this.resource = resource;
    this.#connection = connection;
    this.#onChange = onChange;
    this.#charts = charts.map((chart) => ({ chart, bars: new BarChart(`${resourceName(resource)} by ${chart.title}`), conditions: [] }));
    this.#build();
    this.#open("");
  }

  /**
   * Returns the values of a counted column, and the number of rows with each. Undefined until the
   * engine has counted them.
   */
  facet(by: string): Facet | undefined {
    return this.#all.snapshot?.facets[by];
  }

  get condition(): Condition {
    return { ...this.#collection.status, ...this.#collection.progress };
  }

  /** Counts only the objects of a namespace, or all objects if `namespace` is empty. */
  show(namespace: string): void {
    if (this.#scope && namespace !== this.#scope) this.#open("");
    this.#namespace = CLUSTER_SCOPED.has(this.resource) ? "" : namespace;
    this.#onCollection(this.#collection);
  }

  /** Sends the queries when the schema is known and the namespace has changed. */
  #query(): void {
    const own = this.#namespace;
    if (!this.#collection.schema || this.#collection.status.error || own === this.#applied) return;
    this.#applied = own;
    this.#refusal = "";
    const facets = this.#charts.flatMap(({ chart }) => (chart.by ? [{ by: chart.by, limit: MAX_VALUES }] : []));
    this.#apply(this.#all, { where: within(own), facets, limit: 1 });
    for (const { chart, conditions } of this.#charts) {
      conditions.forEach((view, i) => this.#apply(view, { where: { and: [within(own), chart.where![i]!] }, limit: 1 }));
    }
  }

  draw(): void {
    const { state, error } = this.#collection.status;
    const snapshot = this.#all.snapshot;
    const loading = !snapshot && !error && !this.#refusal;
    setAttribute(this.element, "data-state", snapshot ? state : error ? "error" : "loading");
    setAttribute(this.element, "aria-busy", String(loading));
    setAttribute(this.#link, "href", this.#hash({}));
    setText(this.#total, snapshot ? count(snapshot.total) : "");
    setText(this.#note, this.#noteText(loading));
    this.#note.hidden = !this.#note.textContent;
    for (const { chart, bars, conditions } of this.#charts) {
      bars.draw(chart.by ? this.#valueBars(chart.by) : this.#conditionBars(chart, conditions), snapshot?.total ?? 0);
    }
  }

  close(): void {
    for (const view of [this.#all, ...this.#charts.flatMap(({ conditions }) => conditions)]) view.close();
    this.#collection.close();
  }

  #open(namespace: string): void {
    if (this.#collection) this.close();
    this.#scope = namespace;
    this.#applied = undefined;
    // The counts need only rows, so the bodies of the objects are not loaded.
    const collection = (this.#collection = this.#connection.collection(this.resource, { metadataOnly: true, namespace }));
    collection.subscribe(() => this.#onCollection(collection));
    collection.subscribeProgress(this.#onChange);
    collection.synced.catch(() => {}); // the status contains the reason
    const view = () => new LiveView(collection, this.#onChange);
    this.#all = view();
    for (const chart of this.#charts) chart.conditions = (chart.chart.where ?? []).map(view);
  }

  #onCollection(collection: Collection): void {
    if (collection !== this.#collection) return;
    if (!this.#scope && mayNarrow(collection, this.resource, this.#namespace)) this.#open(this.#namespace);
    this.#query();
    this.#onChange();
  }

  #build(): void {
    const heading = create("h3", "");
    this.#link.append(resourceName(this.resource), " ", this.#total);
    heading.append(this.#link);
    this.element.dataset.card = this.resource;
    this.element.append(heading, this.#note, ...this.#charts.map(({ bars }) => bars.element));
  }

  #apply(view: LiveView, query: Parameters<LiveView["apply"]>[0]): void {
    view.apply(query).catch((error: Error) => {
      this.#refusal = error.message;
      this.#applied = undefined;
    });
  }

  #noteText(loading: boolean): string {
    const { status: { state, error }, progress } = this.#collection;
    const snapshot = this.#all.snapshot;
    if (!snapshot && error?.code === 403) return `You may not list ${resourceName(this.resource)}. ${error.message}`;
    if (!snapshot && error) return `${words(error.reason)}: ${error.message}`;
    if (!snapshot && this.#refusal) return this.#refusal;
    if (loading) return progress.total ? `Loading ${count(progress.loaded)} of ${count(progress.total)}` : "Loading";
    if (state === "forbidden") return `You may no longer list ${resourceName(this.resource)}. ${asOf(progress.lastProgress)}`;
    if (state !== "live") return asOf(progress.lastProgress);
    return snapshot!.total ? "" : "None";
  }

  #valueBars(by: string): Bar[] {
    const facet = this.facet(by);
    if (!facet) return [];
    // The namespace facet contains all namespaces, because a facet ignores conditions on its own
    // column.
    const own = by === "namespace" && this.#namespace ? facet.values.filter(([value]) => value === this.#namespace) : facet.values;
    const frequent = [...own].sort((a, b) => b[1] - a[1]).slice(0, own.length > MAX_BARS + 1 ? MAX_BARS : undefined); // with exactly nine values, the ninth has a bar in place of "more"
    const shown = own.filter((value) => frequent.includes(value));
    const bars = shown.map(([value, rows]): Bar => ({
      id: value, label: value || "none", value: rows, status: by === "namespace" ? undefined : value,
      href: this.#hash(by === "namespace" ? { namespace: value } : { facets: { [by]: [value] } }),
    }));
    const others = own.length - shown.length + facet.otherValues;
    if (others) {
      const rows = own.reduce((sum, value) => (frequent.includes(value) ? sum : sum + value[1]), facet.otherRows);
      bars.push({ id: "others", label: `${count(others)} more`, value: rows });
    }
    return bars;
  }

  #conditionBars({ where = [] }: Chart, views: readonly LiveView[]): Bar[] {
    if (!this.#all.snapshot?.total) return [];
    return where.map((condition, i) => ({
      id: condition, label: condition, value: views[i]!.snapshot?.total ?? 0, status: condition, href: this.#hash({ where: condition }),
    }));
  }

  #hash(part: Partial<PageState>): string {
    return formatHash({ ...freshState(this.resource), namespace: this.#namespace, sort: firstSort(this.resource), ...part });
  }
}

/**
 * Returns the condition that selects a namespace. The query contains this condition instead of the
 * option `namespace`, because the namespace facet ignores conditions on its own column and thus
 * counts all namespaces.
 */
const within = (namespace: string): Where => (namespace ? ["namespace", "=", namespace] : "");

function asOf(lastProgress: number): string {
  return lastProgress ? `As of ${new Date(lastProgress).toLocaleTimeString()}` : "";
}
