/** The rows of the groups of a view. The entry `watchglass/groups`. */
import type { Condition, Group, ViewOptions } from "./types.js";

/**
 * Returns the query of the rows of one group, for a view that expands it. `query` is that of
 * the view with the groups. The result has its conditions and its order, and no groups and
 * facets. It starts at the first row, with the default limit.
 */
export function groupQuery({ where = "", groupBy = [], aggregates, facets, offset, limit, anchor, ...query }: ViewOptions, { values }: Pick<Group, "values">): ViewOptions {
  return { ...query, where: { and: [where, ...groupBy.map((name, i) => valueIs(name, values[i]!))] } };
}

/** The condition on a value as groups report it. The operator `=` would select 1024Mi with 1Gi. */
const valueIs = (name: string, value: string): Condition => `${quoted(name)} === ${quoted(value)}`;

const quoted = (text: string): string => `"${text.replace(/[\\"]/g, "\\$&")}"`;
