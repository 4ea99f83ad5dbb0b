/** The entry `watchglass/groups`, for the rows of a view's groups. */
import type { Condition, Group, ViewOptions } from "./types.js";

/**
 * Returns the query for the rows of one group, for a view that expands it. The query has the
 * conditions and the order of the view with the groups, but no groups and facets. It starts
 * at the first row, with the default limit.
 */
export function groupQuery({ where = "", groupBy = [], aggregates, facets, offset, limit, anchor, ...query }: ViewOptions, { values }: Pick<Group, "values">): ViewOptions {
  // For 1Gi, the operator "=" would also select 1024Mi.
  return { ...query, where: { and: [where, ...groupBy.map((name, i): Condition => [name, "===", values[i]!])] } };
}
