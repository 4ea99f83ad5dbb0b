import type { Anchor, Collection, Group, Row, ViewOptions, ViewSnapshot } from "watchglass";
import { groupQuery } from "watchglass/groups";
import { LiveView } from "./query.ts";
import type { Window } from "./window.ts";

/** The line of a group. The lines of its rows follow if the group is expanded. */
export interface GroupLine {
  key: string;
  group: Group;
  expanded: boolean;
}

/**
 * A line of text that replaces a row that is not loaded, or the rows of a group that cannot be
 * read.
 */
export interface NoteLine {
  key: string;
  note: string;
}

export type Line = Row | GroupLine | NoteLine;

/**
 * The lines of a table, starting at an offset. A snapshot of a view without groups has
 * this form.
 */
export interface Lines {
  rows: readonly Line[];
  offset: number;
  /** The total number of lines. */
  total: number;
  /** Whether the rows are grouped. */
  groups?: unknown;
  /** False if the rows are grouped and the window has no anchor. */
  anchored?: boolean;
}

/** Returns the ID of a group in links, which is the JSON of its values. */
export const groupId = ({ values }: Group, groupBy: readonly string[]): string => JSON.stringify(values.slice(0, groupBy.length));

/**
 * Returns the key of a group's line. The key contains a space, so it differs from the key of any
 * object.
 */
const groupKey = (id: string): string => `group ${id}`;

/** Returns the ID of a group from the key of its line. */
export const idOfKey = (key: string): string => key.slice("group ".length);

/** Compares numbers in strings by value, so that node-2 precedes node-10. */
const natural = new Intl.Collator("en", { numeric: true });

/** An expanded group, with a live window of its rows. */
interface Expanded {
  view: LiveView;
  window: Window;
  /** The row to which the view's window is anchored. */
  anchor: (Required<Anchor> & { row: Row }) | undefined;
  error: string;
}

const NO_ROWS: Window = { offset: 0, limit: 0 };

/**
 * The lines of grouped rows. The lines outside of the window are not computed. Each expanded group
 * has a view, whose window contains those rows of the group that are in the window of lines. When a
 * group loses its last row, its line disappears and its view is closed.
 */
export class Grouping {
  readonly #collection: Collection;
  readonly #onChange: () => void;
  readonly #expanded = new Map<string, Expanded>();
  #query: ViewOptions | undefined;
  #counted: ViewSnapshot["groups"];
  #groups: { id: string; group: Group }[] = [];
  #window: Window = NO_ROWS;
  /**
   * The line to which the window is anchored, and the group of this line. `row` is undefined for
   * the line of the group itself.
   */
  #anchor: { id: string; row: Row | undefined; before: number } | undefined;

  /** `onChange` is called when the lines may have changed. */
  constructor(collection: Collection, onChange: () => void) {
    this.#collection = collection;
    this.#onChange = onChange;
  }

  /**
   * Shows the groups of a snapshot of `query`. `expanded` contains the IDs of expanded groups.
   * Returns the IDs of the expanded groups that still exist.
   */
  show(query: ViewOptions, counted: NonNullable<ViewSnapshot["groups"]>, expanded: readonly string[]): string[] {
    if (counted !== this.#counted || query !== this.#query) this.#setGroups(query, counted);
    const existing = this.#groups.filter(({ id }) => expanded.includes(id));
    for (const [id, { view }] of this.#expanded) {
      if (existing.some((group) => group.id === id)) continue;
      view.close();
      this.#expanded.delete(id);
    }
    for (const { id, group } of existing) if (!this.#expanded.has(id) || query !== this.#query) this.#expand(id, group, query);
    this.#query = query;
    this.#place();
    return existing.map(({ id }) => id);
  }

  /**
   * Moves the window of lines. With an anchor, the window moves with the anchor's line. If the
   * anchor's row changes or disappears, the row at its former position becomes the anchor.
   */
  move(window: Window, anchor?: Anchor): void {
    this.#window = window;
    this.#anchor = undefined;
    if (anchor) {
      const { key, before = 0 } = anchor;
      const index = window.offset + before;
      this.#each((id, _, start, size) => {
        const row = this.#expanded.get(id)?.view.snapshot?.rows.find((row) => row.key === key);
        const isHere = index >= start - 1 && index < start + size; // while a row moves to another group, it may be in two groups
        if ((row || key === groupKey(id)) && (isHere || !this.#anchor)) this.#anchor = { id, row, before };
      });
    }
    this.#place();
    this.#onChange();
  }

  /** The lines of the window. */
  get lines(): Lines {
    const rows: Line[] = [];
    const keys = new Set<string>(); // while a row moves to another group, it is in two groups until both views have changed
    const { offset, limit } = this.#window;
    const put = (at: number, line: () => Line) => {
      if (at >= offset && at < offset + limit) rows.push(line());
    };
    const total = this.#each((id, group, start, size) => {
      put(start - 1, () => ({ key: groupKey(id), group, expanded: this.#expanded.has(id) }));
      for (let i = Math.max(0, offset - start); i < Math.min(size, offset + limit - start); i++) {
        put(start + i, () => {
          const line = this.#rowOf(id, i);
          if (keys.has(line.key)) return { key: `note ${id} ${i}`, note: "" };
          keys.add(line.key);
          return line;
        });
      }
    });
    return { rows, offset: Math.min(offset, total), total, groups: true, anchored: this.#anchor !== undefined };
  }

  /** Returns the index of the last group line at or above `index`, or -1 if there is none. */
  parentOf(index: number): number {
    let parent = -1;
    this.#each((_, __, start) => {
      if (start - 1 <= index) parent = start - 1;
    });
    return parent;
  }

  close(): void {
    for (const { view } of this.#expanded.values()) view.close();
    this.#expanded.clear();
  }

  #setGroups(query: ViewOptions, counted: NonNullable<ViewSnapshot["groups"]>): void {
    this.#counted = counted;
    this.#groups = counted.values.map((group) => ({ id: groupId(group, query.groupBy!), group }));
    this.#groups.sort(({ group: { values: a } }, { group: { values: b } }) => natural.compare(a[0], b[0]) || natural.compare(a[1], b[1]));
  }

  #expand(id: string, group: Group, query: ViewOptions): void {
    let expanded = this.#expanded.get(id);
    if (!expanded) {
      expanded = { view: new LiveView(this.#collection, this.#onChange), window: NO_ROWS, anchor: undefined, error: "" };
      this.#expanded.set(id, expanded);
    }
    expanded.error = "";
    const { view, window } = expanded;
    view.apply({ ...groupQuery(query, group), ...window }).then(() => this.#restart(id), (error: Error) => {
      expanded.error = error.message;
      this.#onChange();
    });
  }

  /**
   * Moves the view of a group to its window again, because a view ignores moves while it opens or
   * changes its query.
   */
  #restart(id: string): void {
    const expanded = this.#expanded.get(id);
    if (expanded) expanded.view.move(expanded.window, expanded.anchor);
    this.#onChange();
  }

  /**
   * Moves the window with its anchor. The window of each expanded group then contains the group's
   * rows that are in the window of lines. The engine moves the window of the anchor's group in the
   * same patch in which the row moves, so the row stays loaded.
   */
  #place(): void {
    this.#follow();
    const { offset, limit } = this.#window;
    this.#each((id, _, start, size) => {
      const expanded = this.#expanded.get(id);
      if (!expanded) return;
      const from = Math.max(0, offset - start);
      // The window extends beyond the last row, so that it contains a new row immediately.
      const count = start < offset + limit && start + size > offset ? offset + limit - start - from : 0;
      const window = count > 0 ? { offset: from, limit: count } : NO_ROWS;
      const at = this.#anchor?.id === id ? this.#anchor : undefined;
      const anchor = at?.row && { key: at.row.key, row: at.row, before: offset + at.before - start - from };
      const { window: last, anchor: sent } = expanded;
      Object.assign(expanded, { window, anchor });
      // The engine itself moves an anchored window. The anchor is sent again only when its row or
      // position has changed.
      const stays = anchor ? anchor.row === sent?.row && anchor.before === sent.before : !sent && window.offset === last.offset;
      if (!stays || window.limit !== last.limit) expanded.view.move(window, anchor);
    });
  }

  /**
   * Moves the window with its anchor. If the group of the anchor no longer exists, the anchor is
   * removed.
   */
  #follow(): void {
    const anchor = this.#anchor;
    if (!anchor) return;
    let index = -1;
    this.#each((id, _, start) => {
      if (id !== anchor.id) return;
      if (!anchor.row) index = start - 1;
      const { view, anchor: sent } = this.#expanded.get(id) ?? {};
      const { rows, offset } = view?.snapshot ?? { rows: [], offset: 0 };
      let at = rows.findIndex((row) => row === anchor.row);
      if (at < 0 && anchor.row && sent && rows.length > 0) {
        // The row has changed or is gone. The anchor is now the row at its former position in the
        // view's window.
        at = Math.min(sent.before, rows.length - 1);
        this.#anchor = { ...anchor, row: rows[at] };
      }
      if (at >= 0) index = start + offset + at;
    });
    if (index < 0) this.#anchor = undefined;
    else this.#window = { ...this.#window, offset: Math.max(0, index - anchor.before) };
  }

  /**
   * Calls `visit` for each group, with the index of the line after the group's own line, and the
   * number of lines of its rows. Returns the total number of lines.
   */
  #each(visit: (id: string, group: Group, start: number, size: number) => void): number {
    let at = 0;
    for (const { id, group } of this.#groups) {
      const expanded = this.#expanded.get(id);
      const size = !expanded ? 0 : expanded.error ? 1 : (expanded.view.snapshot?.total ?? group.rows);
      visit(id, group, at + 1, size);
      at += 1 + size;
    }
    return at;
  }

  #rowOf(id: string, i: number): Line {
    const { view, error } = this.#expanded.get(id)!;
    const { rows, offset } = view.snapshot ?? { rows: [], offset: 0 };
    return (error ? undefined : rows[i - offset]) ?? { key: `note ${id} ${i}`, note: error || "Loading" };
  }
}
