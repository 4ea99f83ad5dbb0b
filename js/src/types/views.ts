/// <reference lib="esnext.disposable" preserve="true" />
/** Views: their queries, their rows and their state. */
import type { CallOptions, Cell, ResourceVersion, Selectors, Status } from "./objects.js";

/** A row of a view. Frozen. The same object as long as the row is unchanged. */
export interface Row {
  /** "namespace/name", or "name" for a cluster-scoped object. */
  key: string;
  namespace: string;
  name: string;
  uid: string;
  /** The UID of the owner, if any: of the controller, or else of the first owner reference. */
  owner: string | undefined;
  /** The owner with its kind and name. Undefined if there is none, or if the connector does not have them. */
  ownerReference: Readonly<OwnerReference> | undefined;
  /** The time of creation, in milliseconds since the epoch. */
  creationTime: number | undefined;
  /** The time of the deletion of an object that still exists, such as a pod that terminates. */
  deletionTime: number | undefined;
  resourceVersion: ResourceVersion;
  labels: Readonly<Record<string, string>>;
  /** In the order of {@link Schema.fields}. */
  fields: readonly string[];
  /** In the order of {@link Schema.columns}. */
  columns: readonly Cell[];
  /**
   * The time of the last event of each column that counts events, such as the restarts
   * of a pod. It is in milliseconds since the epoch, by the number of the column.
   */
  times: Readonly<Record<number, number>>;
  /**
   * The columns by name, such as `cells.Restarts`. Frozen. A row always returns the same object.
   */
  readonly cells: Readonly<Record<string, Cell>>;
}

/** Identifies the owner of an object. */
export interface OwnerReference {
  /** Such as "ReplicaSet". */
  kind: string;
  name: string;
  uid: string;
}

/** The number of rows of a view by value. Frozen. */
export interface Facet {
  /** The most frequent values, sorted by value. */
  values: ReadonlyArray<readonly [value: string, rows: number]>;
  /** The number of further values, and of the rows with them. */
  otherValues: number;
  otherRows: number;
}

/** The groups of a view with the most rows, at most 1000. Frozen. */
export interface Groups {
  /** Sorted by their values. */
  values: readonly Group[];
  /** The number of further groups, and of their rows. */
  otherValues: number;
  otherRows: number;
}

/** The rows of a view that have the same values. */
export interface Group {
  /**
   * In the order of {@link ViewOptions.groupBy}, as texts: "" for no value, milliseconds for
   * times. The second value is "" if rows are grouped by one name.
   */
  values: readonly [string, string];
  rows: number;
  /** In the order of {@link ViewOptions.aggregates}. */
  aggregates: readonly Aggregate[];
}

/** Summarizes the numbers of the rows of a group. All members are 0 if no row has a number. */
export interface Aggregate {
  /** The number of rows that have a number. The average is `sum / count`. */
  count: number;
  sum: number;
  min: number;
  max: number;
}

/** The window of a view at one point in time. Frozen. Every change creates a new one. */
export interface ViewSnapshot {
  rows: readonly Row[];
  /** The number of matching rows, inside and outside of the window. */
  total: number;
  /** The position of the first row of the window. */
  offset: number;
  /** The counts of {@link ViewOptions.facets}, by name. */
  facets: Readonly<Record<string, Facet>>;
  /** The groups of {@link ViewOptions.groupBy}. */
  groups?: Groups | undefined;
  /**
   * The version of the newest change in the window. The collection's progress has the
   * version of the newest change in the collection.
   */
  resourceVersion: ResourceVersion;
}

/** A sort key of a view. */
export interface SortKey {
  /** A column, a field, `"name"`, `"namespace"`, `"owner"` (a UID), or a label such as `"labels[app]"`. */
  by: string;
  /** Default: ascending. Dates ascend by age, youngest first. */
  descending?: boolean;
  /** Where rows without a value are placed. Default: first in ascending order, last in descending order, and the reverse for dates. */
  nulls?: "first" | "last";
  /** Compare texts by bytes. By default numbers in texts compare by value, so that node-2 precedes node-10. */
  lexical?: boolean;
}

/** A value in a {@link Condition}. A Date is compared with times. */
export type ConditionValue = string | number | boolean | Date;

/**
 * A condition on rows, as text or as an object. Names are as in {@link SortKey.by}.
 *
 *     "restarts > 3 and (status ~ Crash or not ready)"
 *     { and: [["restarts", ">", 3], { or: [["status", "~", "Crash"], { not: ["ready"] }] }] }
 *
 * `~` means: contains, ignoring case. `===` compares with the text of a value as in
 * {@link Group.values}, and `==` is `=`. A name alone is true for `true`, for numbers other
 * than 0, and for complete ratios such as 2/2. Dates are compared with times (`2026-11-23`)
 * or with ages (`5m`, `2d`): `age < 1h`.
 */
export type Condition =
  | string
  | readonly [name: string, operator?: "exists"]
  | readonly [name: string, operator: "=" | "==" | "!=" | "~" | "!~" | "<" | "<=" | ">" | ">=", value: ConditionValue]
  | readonly [name: string, operator: "===", text: string]
  | readonly [name: string, operator: "in" | "notin", values: readonly ConditionValue[]]
  | { readonly and: readonly Condition[] }
  | { readonly or: readonly Condition[] }
  | { readonly not: Condition };

/** The object at whose position the window of a view stays. */
export interface Anchor {
  /** The key of an object. */
  key: string;
  /** The number of rows of the window above the object. Default 0. */
  before?: number;
}

export interface ViewOptions extends Selectors {
  /** Several namespaces instead of one. Empty for all. */
  namespaces?: readonly string[];
  /**
   * Words that a row contains in its name, namespace, labels (as `key=value`) and text
   * columns, ignoring case. `-word` excludes rows, and double quotes keep spaces. To show
   * the matches, see `highlighter` of `watchglass/search`.
   */
  search?: string;
  /** A condition on columns, fields and labels. */
  where?: Condition;
  /**
   * The UID of the owner that rows have: their controller, or else the first of their
   * owner references. The owner need not exist.
   */
  ownedBy?: string;
  /**
   * Also includes the objects whose owner is below {@link ownedBy}, at any depth. Owners are
   * found in the collections that this client has open: the pods of a deployment need the
   * collections of pods and of replica sets. Default: false.
   */
  recursive?: boolean;
  /**
   * The order of the rows: one sort key or several, as text such as `"-restarts, name"` or
   * as an array. Rows with equal values are in the order of the next key, and finally of
   * their object keys. Default: by object key.
   */
  sort?: string | readonly (string | SortKey)[];
  /** The position of the first row of the window. Default 0. */
  offset?: number;
  /** Default 100. */
  limit?: number;
  /**
   * An object at whose position in the order the window stays. It replaces {@link offset}. Rows
   * that are inserted or deleted above it change {@link ViewSnapshot.offset} and not the window. If
   * the object changes or is deleted later, the window does not follow. If the collection does not
   * have the object, the window is at `offset`.
   */
  anchor?: Anchor | undefined;
  /**
   * The names whose values are counted, as in {@link SortKey.by}, at most 16. A facet
   * reports the `limit` most frequent values, by default 100 and at most 1000. It includes
   * the rows that are excluded only by parts of {@link where} that concern just this name.
   * With a `width`, it is a histogram: it counts numbers by intervals of this width, named
   * after their start. The width is a whole number, for times in milliseconds.
   */
  facets?: readonly (string | { by: string; limit?: number; width?: number })[];
  /**
   * Groups the rows by one name or two, as in {@link SortKey.by}. To show the rows of a
   * group, open another view with the query that `groupQuery` of `watchglass/groups` returns.
   */
  groupBy?: readonly string[];
  /**
   * The names whose numbers are summed up by group, at most 8. A text is used if it is a
   * quantity such as 512Mi, and a time is used in milliseconds. Numbers beyond 2^62 are
   * ignored.
   */
  aggregates?: readonly string[];
}

/**
 * The state of a view:
 *
 * - `loading`: {@link View.snapshot} does not match the current query yet. It is empty, or belongs to the previous query.
 * - `ready`: the snapshot matches the current query. A snapshot without rows means that no object matches.
 * - `error`: the query was refused, see {@link View.error}. The last snapshot stays. After a 400, 413 or 422 the view
 *   waits for another {@link View.query}. After any other error it sends the query again when the collection recovers.
 * - `closed`: the view or its collection was closed.
 */
export type ViewState = "loading" | "ready" | "error" | "closed";

/**
 * A live window over a collection. It survives reconnects and replacements of the engine,
 * as its collection does.
 */
export interface View {
  readonly state: ViewState;
  /**
   * Why the latest query was refused or the view ended; undefined once a query is
   * accepted.
   */
  readonly error: Status | undefined;
  readonly snapshot: ViewSnapshot;
  /** Calls a listener after every change of {@link snapshot}, {@link state} or {@link error}, at most once per animation frame. Returns a function that unsubscribes. Bound to the view. */
  readonly subscribe: (listener: () => void) => () => void;
  /** Moves the window. An anchor is as in {@link ViewOptions.anchor}; without one, the window stays at the offset. */
  move(offset: number, limit: number, anchor?: Anchor): void;
  /**
   * Replaces the query. The rows of the old query stay until the new ones arrive. Rejects
   * with a {@link WatchglassError} if a selector or column is invalid. The old query then
   * stays. A signal ends the wait, and the view keeps the new query.
   */
  query(options: ViewOptions, call?: CallOptions): Promise<void>;
  /**
   * Resolves with the first snapshot of the current query. Rejects if the query was
   * refused.
   */
  readonly ready: Promise<void>;
  close(): void;
  [Symbol.dispose](): void;
}
