// This module translates the queries of TanStack DB subsets into queries of views and watches.

import type { Schema, Selectors } from "./types.js";

/** The properties of an expression of @tanstack/db that this module reads. */
export interface Expression {
  type: string;
  name?: string;
  args?: readonly Expression[];
  path?: readonly string[];
  value?: unknown;
}

export interface Ordering {
  expression: Expression;
  compareOptions: { direction: "asc" | "desc"; stringSort?: string | undefined };
}

/** The query of a subset, with the options of `loadSubset` that this module reads. */
export interface Subset {
  where?: Expression | undefined;
  orderBy?: readonly Ordering[] | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
}

/** The part of a subset's query that the engine evaluates. */
export interface Pushdown {
  selectors: Required<Selectors>;
  /**
   * The requested window of the matching objects. If undefined, all matching objects are loaded,
   * which may be more than the query requests.
   */
  window?: { sort: string; offset: number; limit: number };
}

/**
 * Returns the part of a query that the engine can evaluate. TanStack DB checks every condition
 * again, so conditions without an equivalent selector are omitted. If a condition is omitted, the
 * limit is omitted too.
 */
export function pushDown({ where, orderBy = [], limit, offset = 0 }: Subset, fields: readonly string[], columns: Schema["columns"]): Pushdown {
  const terms = where ? conjunction(where).map((term) => translate(term, fields)) : [];
  const known = terms.filter((term) => term !== undefined);
  const namespaces = known.flatMap(({ namespace }) => namespace ?? []);
  const selectors = {
    namespace: namespaces[0] ?? "",
    labelSelector: known.flatMap(({ label }) => label ?? []).join(","),
    fieldSelector: [...known.flatMap(({ field }) => field ?? []), ...namespaces.slice(1).map((name) => `metadata.namespace=${name}`)].join(","),
  };
  const sort = sortOf(orderBy, columns);
  const exact = known.length === terms.length && sort !== undefined && limit !== undefined;
  return exact ? { selectors, window: { sort, offset, limit } } : { selectors };
}

interface Term {
  namespace?: string;
  label?: string;
  field?: string;
}

function conjunction({ name, args = [], ...rest }: Expression): Expression[] {
  return name === "and" ? args.flatMap(conjunction) : [{ ...rest, args, ...(name !== undefined && { name }) }];
}

/**
 * The values that selectors can contain. Selectors have no quoting, so conditions on other values
 * are not translated.
 */
const labelValue = /^[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/;
const fieldValue = /^[^,=!\\]+$/;

function translate({ name, args: [ref, constant] = [] }: Expression, fields: readonly string[]): Term | undefined {
  if (ref?.type !== "ref" || constant?.type !== "val" || !ref.path) return undefined;
  const values = name === "eq" ? [constant.value] : name === "in" && Array.isArray(constant.value) ? constant.value : [];
  if (values.length === 0 || !values.every((value): value is string => typeof value === "string")) return undefined;
  const { path } = ref;
  if (path[0] === "metadata" && path[1] === "labels" && path.length === 3 && values.every((value) => labelValue.test(value))) {
    return { label: values.length === 1 ? `${path[2]}=${values[0]}` : `${path[2]} in (${values.join(",")})` };
  }
  const [value, ...more] = values;
  const field = path.join(".");
  if (more.length > 0 || value === undefined || !fieldValue.test(value)) return undefined;
  if (field === "metadata.namespace") return { namespace: value };
  return fields.includes(field) ? { field: `${field}=${value}` } : undefined;
}

/**
 * Returns the `sort` option of a view for the order of a query, or undefined if there is none. Only
 * an order by a single property that every object has is supported, because the engine and TanStack
 * DB order missing values differently.
 */
function sortOf(orderBy: readonly Ordering[], columns: Schema["columns"]): string | undefined {
  const [first, ...more] = orderBy;
  if (!first || more.length > 0 || first.expression.type !== "ref") return undefined;
  const path = first.expression.path?.join(".");
  const { direction, stringSort } = first.compareOptions;
  const created = columns.find((column) => column.path === ".metadata.creationTimestamp")?.name;
  const name = path === "metadata.creationTimestamp" ? created : path === "metadata.name" && stringSort === "lexical" ? "name lexical" : undefined;
  return name && (direction === "desc" ? `-${name}` : name);
}
