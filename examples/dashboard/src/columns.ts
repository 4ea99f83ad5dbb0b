import type { Cell, Column, Row, Schema } from "watchglass";

export type ColumnKind = "name" | "text" | "number" | "bool" | "age" | "status" | "labels";

export interface Width {
  min: number;
  grow: number;
}

/** A column of the table. */
export interface TableColumn {
  title: string;
  kind: ColumnKind;
  /** The name for ViewOptions.sort, or empty if the column is not sortable. */
  sort: string;
  /**
   * The minimum width in pixels, and the share of the remaining width. Each row is a separate grid,
   * so widths cannot depend on contents.
   */
  width: Width;
  value(row: Row): Cell;
  /**
   * The column of the schema that supplies the values, and its index. Undefined for the name, the
   * namespace and the labels.
   */
  own?: { column: Column; index: number };
}

const WIDTHS: Record<ColumnKind, Width> = {
  name: { min: 210, grow: 2.4 },
  text: { min: 106, grow: 1.2 },
  number: { min: 113, grow: 0.4 },
  bool: { min: 96, grow: 0.4 },
  age: { min: 72, grow: 0.3 },
  status: { min: 156, grow: 0.6 },
  labels: { min: 240, grow: 3.4 },
};

const KINDS: Record<Column["kind"], ColumnKind> = {
  null: "text",
  bool: "bool",
  integer: "number",
  number: "number",
  date: "age",
  string: "text",
  duration: "text",
};

/**
 * Reports whether the table colors the values of a column. The table colors kubectl's Status
 * columns, the phase, and the type of events.
 */
const isStatus = (c: Column): boolean => c.path === ".status.phase" || c.path === ".type" || c.name === "Status";

/**
 * Returns the columns of a resource: name, namespace, the columns of its schema with the age last,
 * and labels. If `chosen` contains titles, it returns only the name and the columns with these
 * titles.
 */
export function tableColumns(schema: Schema, wide: boolean, chosen: readonly string[] = []): TableColumn[] {
  const columns = allColumns(schema, wide || chosen.length > 0);
  return chosen.length ? columns.filter(({ title }, i) => i === 0 || chosen.includes(title)) : columns;
}

function allColumns(schema: Schema, wide: boolean): TableColumn[] {
  const columns = [column("Name", "name", "name", (row) => row.name)];
  if (schema.namespaced) columns.push(column("Namespace", "text", "namespace", (row) => row.namespace));
  for (const index of ownColumns(schema, wide)) columns.push(ownColumn(schema.columns[index]!, index));
  if (schema.resource !== "events") columns.push(column("Labels", "labels", "", labelsText)); // events have no labels
  return columns;
}

/** Returns the columns as tracks of a CSS grid, and the width below which the table scrolls sideways. */
export function layout(columns: readonly TableColumn[]): { tracks: string; width: number } {
  return {
    tracks: columns.map(({ width }) => `minmax(${width.min}px, ${width.grow}fr)`).join(" "),
    width: columns.reduce((sum, { width }) => sum + width.min, 0),
  };
}

/** Splits a sort order into its keys, at the commas outside of quotes. */
export function sortKeys(sort: string): string[] {
  const keys = sort.match(/(?:"[^"]*"?|[^",])+/g) ?? [];
  return keys.map((key) => key.trim()).filter(Boolean);
}

/** How a column sorts the rows. */
export interface Order {
  /** The position among the sort keys. */
  index: number;
  descending: boolean;
}

/** Returns how a column sorts the rows, or undefined if the column is not a sort key. */
export function orderOf({ sort: name }: TableColumn, sort: string): Order | undefined {
  const keys = sortKeys(sort);
  const index = keys.findIndex((key) => key.replace(/^-/, "").toLowerCase() === name.toLowerCase());
  if (!name || index < 0) return undefined;
  return { index, descending: keys[index]!.startsWith("-") };
}

/**
 * Returns the sort order after a click on a column. Successive clicks sort by the column ascending,
 * then descending, and then remove it from the order. With `add`, the other sort keys stay.
 */
export function nextSort(column: TableColumn, sort: string, add: boolean): string {
  const order = orderOf(column, sort);
  const next = !order ? column.sort : order.descending ? "" : `-${column.sort}`;
  if (!add) return next;
  const keys = sortKeys(sort);
  keys[order?.index ?? keys.length] = next;
  return keys.filter(Boolean).join(", ");
}

/** Returns the initial sort order of a resource. Events are sorted by age, the newest first. */
export function firstSort(resource: string): string {
  return resource === "v1/events" ? "Last Seen" : ""; // dates are sorted by age, so the newest is first
}

/**
 * Names of columns whose values differ in almost every object, so that counts by value are useless.
 */
export const UNIQUE: ReadonlySet<string> = new Set([
  "name", "ip", "cluster-ip", "external-ip", "internal-ip", "port(s)", "ports", "selector", "message", "object", "subobject",
  "containers", "images", "hosts", "address", "volume", "claim", "nominated node", "readiness gates", "kernel-version",
]);

/**
 * The maximum number of columns that have facets. Every change updates each facet, which takes
 * time.
 */
const MAX_FACETS = 4;

/**
 * Returns the names of the facets: some columns with few distinct values, the status first, and
 * then the namespace.
 */
export function facetNames(schema: Schema): string[] {
  const columns = schema.columns.filter((c) => !isJoined(c) && (c.kind === "string" || c.kind === "bool") && !UNIQUE.has(c.name.toLowerCase()));
  columns.sort((a, b) => Number(isStatus(b)) - Number(isStatus(a)) || a.priority - b.priority);
  const names = columns.slice(0, MAX_FACETS).map(({ name }) => name);
  return schema.namespaced ? [...names, "namespace"] : names;
}

/** Reports whether a column contains data of another resource. */
const isJoined = ({ printer }: Column): boolean => printer === "join" || printer === "children";

/** Returns the schema without the columns that contain data of another resource. */
export function withoutJoined(schema: Schema): Schema {
  return { ...schema, columns: schema.columns.filter((c) => !isJoined(c)) };
}

/** Reports whether the resource has more columns than kubectl get shows without -o wide. */
export function hasWideColumns(schema: Schema): boolean {
  return schema.columns.some((column) => column.priority !== 0 && column.priority < 255);
}

function ownColumns(schema: Schema, wide: boolean): number[] {
  const last = (index: number) => Number(schema.columns[index]!.name === "Age");
  return schema.columns
    .map((_, index) => index)
    .filter((index) => schema.columns[index]!.priority < (wide ? 255 : 1) && !isName(schema.columns[index]!))
    .sort((a, b) => last(a) - last(b) || a - b);
}

/**
 * Reports whether a column contains the name of the object, which the first column of the table
 * shows already.
 */
const isName = (c: Column): boolean => c.name === "Name" && c.printer !== "";

function ownColumn(c: Column, index: number): TableColumn {
  const kind = isStatus(c) ? "status" : KINDS[c.kind];
  const made = column(c.name, kind, c.name, (row) => row.columns[index] ?? null);
  made.own = { column: c, index };
  if (c.name === "Message") made.width = { min: 280, grow: 5 };
  return made;
}

function column(title: string, kind: ColumnKind, sort: string, value: (row: Row) => Cell): TableColumn {
  const { min, grow } = WIDTHS[kind];
  return { title, kind, sort, value, width: { min: Math.max(min, title.length * 8 + 36), grow } };
}

function labelsText(row: Row): string {
  return Object.entries(row.labels).map(([key, value]) => `${key}=${value}`).join(",");
}
