import type { Collection, CollectionOptions, Schema } from "watchglass";
import { ownedResources } from "./owned.ts";
import type { PageState } from "./state.ts";

/** The resources in the menu, by group. Other resources can be opened with a link. */
export const RESOURCES: Readonly<Record<string, readonly string[]>> = {
  Workloads: [
    "v1/pods", "apps/v1/deployments", "apps/v1/replicasets", "apps/v1/statefulsets", "apps/v1/daemonsets",
    "batch/v1/jobs", "batch/v1/cronjobs",
  ],
  Cluster: ["v1/nodes", "v1/namespaces", "v1/events"],
  Network: ["v1/services", "networking.k8s.io/v1/ingresses"],
  Configuration: ["v1/configmaps", "v1/secrets", "v1/persistentvolumeclaims", "v1/serviceaccounts"],
};

/** The cluster-scoped resources that the page links to. */
export const CLUSTER_SCOPED: ReadonlySet<string> = new Set(["v1/nodes", "v1/namespaces"]);

type JoinedColumns = NonNullable<CollectionOptions["columns"]>;

/** Returns the columns that a metrics server provides. Only pods and nodes have such columns. */
export function metricsColumns(resource: string): JoinedColumns {
  if (resource !== "v1/pods" && resource !== "v1/nodes") return [];
  const metrics = resource.replace("v1", "metrics.k8s.io/v1beta1");
  return ["CPU", "Memory"].map((name) => ({ name, kind: "string", printer: "join", path: `${metrics} ${name}` }));
}

/** Returns the columns about the pods below an object of a built-in workload. */
export function childColumns(resource: string): JoinedColumns {
  const owned = RESOURCES["Workloads"]!.includes(resource) ? ownedResources(resource) : [];
  const path = owned.join(",");
  return owned.length === 0 ? [] : [
    { name: "Pods", kind: "integer", printer: "children", path, priority: 1 },
    { name: "Pod states", kind: "string", printer: "children", path: `${path} Status`, priority: 1 },
  ];
}

/** The parts of the state that may name a column. */
type Named = Pick<PageState, "resource" | "wide" | "columns" | "sort" | "where" | "groupBy" | "facets">;

/**
 * Returns the columns with data of other resources that the page opens together with its resource.
 * Columns about children need a subscription to all pods, so they are opened only if the state
 * names one of them or shows wide columns.
 */
export function joinedColumns(state: Named): JoinedColumns {
  const names = [...state.columns, state.sort, state.where, ...state.groupBy, ...Object.keys(state.facets)].join(" ");
  return state.wide || /pods|pod states/i.test(names) ? [...metricsColumns(state.resource), ...childColumns(state.resource)] : metricsColumns(state.resource);
}

/** Returns the schema with the columns about children, even if they are not open. */
export function withOffered(schema: Schema, resource: string): Schema {
  const offered = childColumns(resource).filter(({ name }) => !schema.columns.some((column) => column.name === name));
  return { ...schema, columns: [...schema.columns, ...offered.map((column) => ({ default: "", printer: "", priority: 0, ...column }))] };
}

/**
 * Returns the resource of a kind, such as "apps/v1/deployments" for Deployment. It guesses the
 * plural by the rules of Kubernetes.
 */
export function resourceOf(apiVersion: string, kind: string): string {
  const name = kind.toLowerCase();
  const plural = name === "endpoints" ? name
    : /(?:s|x|ch|sh)$/.test(name) ? `${name}es`
    : /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}s`;
  return `${apiVersion}/${plural}`;
}

/**
 * Reports whether to list a resource in one namespace only, because the user may not list it in all
 * namespaces.
 */
export function mayNarrow({ status: { error }, progress }: Collection, resource: string, namespace: string): boolean {
  return namespace !== "" && error?.code === 403 && progress.lastProgress === 0 && !CLUSTER_SCOPED.has(resource);
}
