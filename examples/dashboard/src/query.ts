import type { Anchor, Collection, Schema, View, ViewOptions, ViewSnapshot } from "watchglass";
import type { PageState } from "./state.ts";
import type { Window } from "./window.ts";

/**
 * Returns the query for the rows or groups of the page. Its facets are those in `names` and those
 * with chosen values.
 */
export function rowsQuery(state: PageState, names: readonly string[], { namespaced }: Schema, aggregates: readonly string[]): ViewOptions {
  const { labelSelector, fieldSelector, search, where, sort, facets, groupBy } = state;
  const chosen = Object.entries(facets);
  return {
    namespace: namespaced ? state.namespace : "",
    labelSelector, fieldSelector, search, sort,
    where: { and: [where, ...chosen.map(([name, values]) => [name, "in", values] as const)] },
    groupBy, aggregates: groupBy.length ? aggregates : [],
    facets: [...new Set([...names, ...chosen.map(([name]) => name)])],
  };
}

/**
 * A view whose query can be replaced. If a query is rejected, the view keeps the last accepted
 * query.
 */
export class LiveView {
  readonly #collection: Collection;
  readonly #onChange: () => void;
  #view: View | undefined;
  #accepted: ViewOptions | undefined;
  #newest = 0;
  #closed = false;

  constructor(collection: Collection, onChange: () => void) {
    this.#collection = collection;
    this.#onChange = onChange;
  }

  get snapshot(): ViewSnapshot | undefined {
    return this.#view?.snapshot;
  }

  /** The last query that the engine accepted. */
  get accepted(): ViewOptions | undefined {
    return this.#accepted;
  }

  /**
   * Applies a query. Resolves to true if the view now shows the matching rows, and to false if a
   * newer query replaced this one. Rejects if the engine rejects the query.
   *
   * `typed` is the condition that the user typed, if `options` combines it with others. The engine
   * checks this condition alone first. The position in an error is then a position in the typed
   * text. Unbalanced parentheses in that text cannot change the meaning of the other conditions.
   */
  async apply(options: ViewOptions, typed = ""): Promise<boolean> {
    const asked = ++this.#newest;
    try {
      if (typed) await this.#check(typed);
      if (!this.#isNewest(asked)) return false;
      if (this.#view) await this.#view.query(options);
      else await this.#open(options, asked);
    } catch (error) {
      if (this.#isNewest(asked)) throw error;
    }
    if (!this.#isNewest(asked)) return false;
    this.#accepted = options;
    return true;
  }

  move(window: Window, anchor?: Anchor): void {
    this.#view?.move(window.offset, window.limit, anchor);
  }

  close(): void {
    this.#closed = true;
    this.#view?.close();
  }

  async #check(where: string): Promise<void> {
    const view = this.#collection.view({ where, limit: 1 });
    try {
      await view.ready;
    } finally {
      view.close();
    }
  }

  async #open(options: ViewOptions, asked: number): Promise<void> {
    const view = this.#collection.view(options);
    try {
      await view.ready;
    } catch (error) {
      view.close();
      throw error;
    }
    if (!this.#isNewest(asked)) return view.close();
    this.#view = view;
    view.subscribe(this.#onChange);
    this.#onChange();
  }

  #isNewest(asked: number): boolean {
    return !this.#closed && asked === this.#newest;
  }
}
