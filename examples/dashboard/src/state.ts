/**
 * The state of the page. The URL contains all of it, so a reload or a shared link shows
 * the same.
 */
export interface PageState {
  resource: string;
  namespace: string;
  labelSelector: string;
  fieldSelector: string;
  sort: string;
  /** Also show the columns of kubectl's -o wide. */
  wide: boolean;
  /** The key of the object in the detail panel. */
  object: string;
}

export const DEFAULT_RESOURCE = "v1/pods";

const TEXTS = ["namespace", "labelSelector", "fieldSelector", "sort", "object"] as const;

/** The initial state of a resource. */
export function freshState(resource: string): PageState {
  return { resource, namespace: "", labelSelector: "", fieldSelector: "", sort: "", wide: false, object: "" };
}

/** Parses "#/apps/v1/deployments?namespace=web&sort=-Age". Missing parts are empty. */
export function parseHash(hash: string): PageState {
  const [path = "", query = ""] = split(hash.replace(/^#\/?/, ""), "?");
  const params = new URLSearchParams(query);
  const state = freshState(path || DEFAULT_RESOURCE);
  for (const name of TEXTS) state[name] = params.get(name) ?? "";
  state.wide = params.has("wide");
  return state;
}

export function formatHash(state: PageState): string {
  const params = new URLSearchParams();
  for (const name of TEXTS) if (state[name]) params.set(name, state[name]);
  if (state.wide) params.set("wide", "");
  const query = params.toString();
  return `#/${state.resource}${query ? `?${query}` : ""}`;
}

function split(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
