/** The entry `watchglass/groups`, for the rows of a view's groups. */
import type { Condition, Group, ViewOptions } from "./types.js";

/**
 * Returns the query for the rows of one group, for a view that expands it. The query has the
 * conditions and the order of the view with the groups, but no groups and facets. It starts
 * at the first row, with the default limit.
 */
export function groupQuery({ where = "", groupBy = [], aggregates, facets, offset, limit, anchor, ...query }: ViewOptions, { values }: Pick<Group, "values">): ViewOptions {
  return { ...query, where: { and: [where, ...groupBy.map((name, i) => valueIs(name, values[i]!))] } };
}

/**
 * Returns the condition that selects a value as groups report it. For 1Gi, the operator `=`
 * would also select 1024Mi.
 */
const valueIs = (name: string, value: string): Condition => `${quoted(name)} === ${quoted(value)}`;

const quoted = (text: string): string => `"${text.replace(/[\\"]/g, "\\$&")}"`;
