/** The entry `watchglass/groups`, which queries the rows of a view's groups. */
import type { Condition, Group, ViewOptions } from "./types.js";

/**
 * Returns the query for the rows of one group, for use in a second view. The query has the
 * conditions and the order of the grouped view, but neither groups nor facets. Its window starts at
 * the first row and has the default limit.
 */
export function groupQuery({ where = "", groupBy = [], aggregates, facets, offset, limit, anchor, ...query }: ViewOptions, { values }: Pick<Group, "values">): ViewOptions {
  // The operator "=" compares quantities by value: for 1Gi, it would also select 1024Mi.
  return { ...query, where: { and: [where, ...groupBy.map((name, i): Condition => [name, "===", values[i]!])] } };
}
