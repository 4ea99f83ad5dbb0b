/// <reference lib="esnext.disposable" preserve="true" />
/** The types of views: queries, rows, snapshots and states. */
import type { CallOptions, Cell, ResourceVersion, Selectors, Status } from "./objects.js";

/**
 * A row of a view: an object without its body. Rows are frozen. An unchanged row remains the same
 * JavaScript object.
 */
export interface Row {
  /** The key of the object: "namespace/name", or "name" for a cluster-scoped object. */
  key: string;
  namespace: string;
  name: string;
  uid: string;
  /** The UID of the owner, if any: of the controller, or else of the first owner reference. */
  owner: string | undefined;
  /**
   * The owner with its kind and name. Undefined if the object has no owner, or if the connector
   * does not send the kind and name of owners.
   */
  ownerReference: Readonly<OwnerReference> | undefined;
  /** The time of creation, in milliseconds since the epoch. */
  creationTime: number | undefined;
  /**
   * The `deletionTimestamp` of an object that is being deleted, such as a terminating pod, in
   * milliseconds since the epoch.
   */
  deletionTime: number | undefined;
  resourceVersion: ResourceVersion;
  labels: Readonly<Record<string, string>>;
  /** The values of the fields, in the order of {@link Schema.fields}. */
  fields: readonly string[];
  /** The cells, in the order of {@link Schema.columns}. */
  columns: readonly Cell[];
  /**
   * The time of the last event for each column that counts events, such as the restarts of a pod,
   * and the time of each text that has one, such as the start of a responder of an Eviction. The text
   * of a cell that only shows a time is empty. The keys are indices of {@link columns}, and the values
   * are milliseconds since the epoch.
   */
  times: Readonly<Record<number, number>>;
  /** The cells by column name, such as `cells.Restarts`. The object is frozen. */
  readonly cells: Readonly<Record<string, Cell>>;
}

/** The kind, name and UID of an object's owner. */
export interface OwnerReference {
  /** The kind of the owner, such as "ReplicaSet". */
  kind: string;
  name: string;
  uid: string;
}

/** The number of rows of a view for each value of a column, field or label. Frozen. */
export interface Facet {
  /** The most frequent values with their row counts, sorted by value. */
  values: ReadonlyArray<readonly [value: string, rows: number]>;
  /**
   * The number of values that are not in {@link values}. {@link otherRows} is the number of rows
   * with these values.
   */
  otherValues: number;
  otherRows: number;
}

/** The groups of a view with the most rows, at most 1000. Frozen. */
export interface Groups {
  /** The groups, sorted by their values. */
  values: readonly Group[];
  /**
   * The number of groups that are not in {@link values}. {@link otherRows} is the number of rows in
   * these groups.
   */
  otherValues: number;
  otherRows: number;
}

/** The rows of a view that have equal values of {@link ViewOptions.groupBy}. */
export interface Group {
  /**
   * The values as strings, in the order of {@link ViewOptions.groupBy}: "" if a row has no value,
   * and milliseconds since the epoch for times. The second value is "" if rows are grouped by only
   * one name.
   */
  values: readonly [string, string];
  rows: number;
  /** The aggregates, in the order of {@link ViewOptions.aggregates}. */
  aggregates: readonly Aggregate[];
}

/**
 * A summary of one column, field or label over the rows of a group. All properties are 0 if no row
 * has a numeric value.
 */
export interface Aggregate {
  /** The number of rows with a numeric value. The average is `sum / count`. */
  count: number;
  sum: number;
  min: number;
  max: number;
}

/** The window of a view at one point in time. The object is frozen. Every change replaces it. */
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
  /**
   * The name to sort by: a column, a field, `"name"`, `"namespace"`, `"owner"` (a UID), or a label
   * such as `"labels[app]"`.
   */
  by: string;
  /**
   * Whether the order is descending. Default false. Dates are ordered by age, so the most recent
   * date comes first in ascending order.
   */
  descending?: boolean;
  /** Where rows without a value are placed. Default: first in ascending order, last in descending order, and the reverse for dates. */
  nulls?: "first" | "last";
  /**
   * Whether strings are compared byte by byte. By default, numbers in strings are compared by
   * value, so that node-2 precedes node-10.
   */
  lexical?: boolean;
}

/** A value in a {@link Condition}. A Date is compared with times. */
export type ConditionValue = string | number | boolean | Date;

/**
 * A condition on rows, as text or as an object. See {@link SortKey.by} for names.
 *
 *     "restarts > 3 and (status ~ Crash or not ready)"
 *     { and: [["restarts", ">", 3], { or: [["status", "~", "Crash"], { not: ["ready"] }] }] }
 *
 * `~` tests whether a string contains another, ignoring case. `===` compares the text of a value,
 * as in {@link Group.values}, and `==` means the same as `=`. A name without an operator matches
 * `true`, numbers other than 0, and complete ratios such as 2/2. Dates are compared with times
 * (`2026-11-23`) or with ages (`5m`, `2d`): `age < 1h`.
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

/** The object to which the window of a view is anchored. */
export interface Anchor {
  /** The key of an object. */
  key: string;
  /** The number of rows of the window above the object. Default 0. */
  before?: number;
}

export interface ViewOptions extends Selectors {
  /**
   * The namespaces of the rows; empty for all. This option cannot be combined with
   * {@link namespace}.
   */
  namespaces?: readonly string[];
  /**
   * Words that a row must contain in its name, namespace, labels (as `key=value`) or text columns,
   * ignoring case. `-word` excludes rows that contain the word. Double quotes enclose a phrase with
   * spaces. To show the matches, see `highlighter` of `watchglass/search`.
   */
  search?: string;
  /** A condition on columns, fields and labels. */
  where?: Condition;
  /**
   * The UID of an owner. The view contains only the objects of this owner. The owner of an object
   * is its controller, or else its first owner reference. The owner need not exist.
   */
  ownedBy?: string;
  /**
   * Whether to include objects at any depth below {@link ownedBy}, not only those that it owns
   * directly. Intermediate owners are found only in collections that this client has open. The pods
   * of a Deployment, for example, require the collections of pods and of ReplicaSets. Default
   * false.
   */
  recursive?: boolean;
  /**
   * The order of the rows: one sort key or several, as text such as `"-restarts, name"` or as an
   * array. Rows with equal values are ordered by the next sort key, and finally by their object
   * keys. Default: by object key.
   */
  sort?: string | readonly (string | SortKey)[];
  /** The position of the first row of the window. Default 0. */
  offset?: number;
  /** The maximum number of rows in the window. Default 100, at most 10,000. */
  limit?: number;
  /**
   * Keeps the window at the position of an object, instead of at {@link offset}. Rows that are
   * inserted or deleted above the object change {@link ViewSnapshot.offset}, but not the rows of
   * the window. If the object itself later changes or is deleted, the window does not move. If the
   * collection does not contain the object, the window starts at `offset`.
   */
  anchor?: Anchor | undefined;
  /**
   * The names whose values are counted, at most 16. See {@link SortKey.by} for names. A facet
   * reports the `limit` most frequent values, by default 100 and at most 1000. It ignores the
   * conditions of {@link where} that concern only its own name, so that unselected values keep
   * their counts. With a `width`, the facet is a histogram: it counts numbers in intervals of this
   * width, each named by its lower bound. The width is a whole number; for times, it is in
   * milliseconds.
   */
  facets?: readonly (string | { by: string; limit?: number; width?: number })[];
  /**
   * Groups the rows by one name or two, as in {@link SortKey.by}. To show the rows of a
   * group, open another view with the query that `groupQuery` of `watchglass/groups` returns.
   */
  groupBy?: readonly string[];
  /**
   * The names whose numeric values are summarized for each group, at most 8. Strings are included
   * if they are quantities such as 512Mi. Times are included in milliseconds. Numbers beyond 2^62
   * are ignored.
   */
  aggregates?: readonly string[];
}

/**
 * The state of a view:
 *
 * - `loading`: {@link View.snapshot} does not match the current query yet. It is empty, or belongs to the previous query.
 * - `ready`: the snapshot matches the current query. A snapshot without rows means that no object matches.
 * - `error`: the query was refused, see {@link View.error}. The view keeps its last snapshot. After
 *   a 400, 413 or 422, the view waits for another {@link View.query}. After any other error, the
 *   view sends the query again when the collection recovers.
 * - `closed`: the view or its collection was closed.
 */
export type ViewState = "loading" | "ready" | "error" | "closed";

/**
 * A live window over a collection. A view survives reconnects and replacements of the engine, as
 * its collection does.
 */
export interface View {
  readonly state: ViewState;
  /**
   * Why the latest query was refused or the view ended; undefined once a query is
   * accepted.
   */
  readonly error: Status | undefined;
  readonly snapshot: ViewSnapshot;
  /**
   * Calls a listener after every change of {@link snapshot}, {@link state} or {@link error}, at
   * most once per animation frame. Returns a function that unsubscribes. `subscribe` does not use
   * `this`, so it can be passed on its own.
   */
  readonly subscribe: (listener: () => void) => () => void;
  /**
   * Moves the window, and keeps the query. Without an anchor (see {@link ViewOptions.anchor}), the
   * window stays at the offset.
   */
  move(offset: number, limit: number, anchor?: Anchor): void;
  /**
   * Replaces the query, and resolves when its first rows arrive. The view keeps the rows of the old
   * query until then. If the new query is invalid, the promise rejects with a `WatchglassError`,
   * and the view keeps the old query. Aborting the signal ends only the wait; the view keeps the
   * new query.
   */
  query(options: ViewOptions, call?: CallOptions): Promise<void>;
  /**
   * Resolves when the first snapshot of the current query has arrived. Rejects if the query was
   * refused.
   */
  readonly ready: Promise<void>;
  close(): void;
  [Symbol.dispose](): void;
}
