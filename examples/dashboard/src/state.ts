/**
 * The state of the page. The URL contains the complete state, so a reload or a shared
 * link restores it.
 */
export interface PageState {
  resource: string;
  namespace: string;
  labelSelector: string;
  fieldSelector: string;
  search: string;
  where: string;
  /** The chosen values of facets, by the name of the facet. */
  facets: Readonly<Record<string, readonly string[]>>;
  /** Sort keys such as "-Restarts, name". */
  sort: string;
  /** Whether the columns of kubectl's -o wide are shown as well. */
  wide: boolean;
  /** The titles of the chosen columns. Empty for the columns that kubectl shows. */
  columns: readonly string[];
  /** The names that rows are grouped by, at most two. */
  groupBy: readonly string[];
  /** The expanded groups, each with its values as JSON. */
  expanded: readonly string[];
  /** The key of the object in the detail panel. */
  object: string;
}

export const DEFAULT_RESOURCE = "v1/pods";

/** The value of {@link PageState.resource} for the page with the counts of all resources. */
export const OVERVIEW = "overview";

const TEXTS = ["namespace", "labelSelector", "fieldSelector", "search", "where", "sort", "object"] as const;

/** The prefix of the URL parameters of facets, such as facet.Status=Failed. */
const FACET = "facet.";

/** Returns the initial state of a resource. */
export function freshState(resource: string): PageState {
  return { resource, namespace: "", labelSelector: "", fieldSelector: "", search: "", where: "", facets: {}, sort: "", wide: false, columns: [], groupBy: [], expanded: [], object: "" };
}

/**
 * Parses "#/apps/v1/deployments?namespace=web&sort=-Age". Missing parts of the state are empty. The
 * default resource is v1/pods.
 */
export function parseHash(hash: string): PageState {
  const [path = "", query = ""] = split(hash.replace(/^#\/?/, ""), "?");
  const params = new URLSearchParams(query);
  const state = freshState(path || DEFAULT_RESOURCE);
  for (const name of TEXTS) state[name] = params.get(name) ?? "";
  state.wide = params.has("wide");
  state.columns = params.getAll("column");
  state.groupBy = params.getAll("group");
  state.expanded = params.getAll("expand");
  for (const [name, value] of params) {
    if (name.length > FACET.length && name.startsWith(FACET)) state.facets = withValue(state.facets, name.slice(FACET.length), value);
  }
  return state;
}

export function formatHash(state: PageState): string {
  const params = new URLSearchParams();
  for (const name of TEXTS) if (state[name]) params.set(name, state[name]);
  for (const [name, values] of Object.entries(state.facets)) for (const value of values) params.append(FACET + name, value);
  if (state.wide) params.set("wide", "");
  for (const title of state.columns) params.append("column", title);
  for (const name of state.groupBy) params.append("group", name);
  for (const id of state.expanded) params.append("expand", id);
  const query = params.toString();
  return `#/${state.resource}${query ? `?${query}` : ""}`;
}

/** Returns `facets` with one more chosen value. */
export function withValue(facets: PageState["facets"], name: string, value: string): PageState["facets"] {
  const values = Object.hasOwn(facets, name) ? facets[name]! : [];
  return values.includes(value) ? facets : { ...facets, [name]: [...values, value] };
}

/** Returns `facets` without one of the chosen values. */
export function withoutValue(facets: PageState["facets"], name: string, value: string): PageState["facets"] {
  const { [name]: values = [], ...rest } = facets;
  const others = values.filter((other) => other !== value);
  return others.length ? { ...rest, [name]: others } : rest;
}

function split(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
