import type { Cell, Collection, Row } from "watchglass";
import type { TreeNode } from "watchglass/tree";
import { count } from "./format.ts";

const [PODS, REPLICA_SETS, JOBS] = ["v1/pods", "apps/v1/replicasets", "batch/v1/jobs"];

/** Maps each built-in resource whose objects own others to the resources of the owned objects. */
const OWNED: Readonly<Record<string, readonly string[]>> = {
  "apps/v1/deployments": [REPLICA_SETS, PODS],
  "apps/v1/replicasets": [PODS],
  "apps/v1/statefulsets": [PODS],
  "apps/v1/daemonsets": [PODS],
  "batch/v1/jobs": [PODS],
  "batch/v1/cronjobs": [JOBS, PODS],
  "v1/replicationcontrollers": [PODS],
  "v1/services": ["discovery.k8s.io/v1/endpointslices"],
};

/** The resources that objects of custom resources usually own. */
const WORKLOADS = [
  "apps/v1/deployments", "apps/v1/statefulsets", "apps/v1/daemonsets", REPLICA_SETS, "batch/v1/cronjobs", JOBS, PODS,
  "v1/services", "v1/configmaps",
];

/**
 * Returns the resources of the objects that an object of `resource` may own, directly or
 * indirectly. The result is empty if objects of this resource own no others.
 */
export function ownedResources(resource: string): readonly string[] {
  if (Object.hasOwn(OWNED, resource)) return OWNED[resource]!;
  const [group = "", ...rest] = resource.split("/");
  const custom = rest.length > 1 && group.includes(".") && !group.endsWith(".k8s.io");
  return custom ? WORKLOADS : [];
}

/** The number of children above which a node is collapsed until the user expands it. */
export const MANY = 50;

/** One visible node of a tree. */
export interface Line {
  node: TreeNode;
  /** The depth in the tree, starting at 1 for the root. */
  level: number;
  /** The position among the children of the parent, starting at 1. */
  position: number;
  siblings: number;
  /** Undefined if the node has no children. */
  expanded: boolean | undefined;
}

/**
 * Returns the visible nodes from top to bottom. `toggled` contains the nodes that the user expanded
 * or collapsed, by UID.
 */
export function visibleLines(root: TreeNode, toggled: ReadonlyMap<string, boolean>): Line[] {
  const lines: Line[] = [];
  const add = (node: TreeNode, level: number, position: number, siblings: number): void => {
    const { children } = node;
    const expanded = children.length ? (toggled.get(node.uid) ?? children.length <= MANY) : undefined;
    lines.push({ node, level, position, siblings, expanded });
    if (expanded) inOrder(children).forEach((child, i) => add(child, level + 1, i + 1, children.length));
  };
  add(root, 1, 1, 1);
  return lines;
}

/**
 * Sorts nodes with children first, so that the old replica sets of a deployment, which have no
 * pods, come last.
 */
function inOrder(nodes: readonly TreeNode[]): TreeNode[] {
  return [...nodes].sort((a, b) => Number(b.children.length > 0) - Number(a.children.length > 0));
}

/** Returns the number of objects below a node. */
export function descendants({ children }: TreeNode): number {
  return children.reduce((sum, child) => sum + 1 + descendants(child), 0);
}

/** Returns the number of pods below a node by status, the most frequent status first. */
export function podStates(node: TreeNode, pods: Collection): [status: string, pods: number][] {
  const counts = new Map<string, number>();
  const add = ({ children }: TreeNode): void => {
    for (const child of children) {
      if (child.row && child.collection === pods) {
        const status = String(child.row.cells["Status"] ?? "");
        counts.set(status, (counts.get(status) ?? 0) + 1);
      }
      add(child);
    }
  };
  add(node);
  return [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
}

/** The condition of an object, as text, and the status that determines its color. */
export interface Condition {
  text: string;
  status: string;
}

/**
 * Summarizes the columns about the condition of an object, such as its status, its ready replicas
 * and its restarts.
 */
export function conditionOf({ cells }: Row): Condition {
  const status = typeof cells["Status"] === "string" ? cells["Status"] : "";
  const ready = readiness(cells["Ready"], cells["Desired"]);
  const parts = [
    status,
    ready && `${ready} ready`,
    cells["Completions"] ? `${cells["Completions"]} completions` : "",
    Number(cells["Restarts"]) > 0 ? `${count(Number(cells["Restarts"]))} ${cells["Restarts"] === 1 ? "restart" : "restarts"}` : "",
    cells["Suspend"] === true || cells["Suspend"] === "True" ? "suspended" : "",
    Number(cells["Active"]) > 0 ? `${cells["Active"]} active` : "",
  ];
  return { text: parts.filter(Boolean).join(" · "), status: status || readyStatus(ready) };
}

/**
 * Returns a ratio such as "1/2". The argument `ready` is either the complete ratio, or a number to
 * combine with `desired`.
 */
function readiness(ready: Cell | undefined, desired: Cell | undefined): string {
  if (typeof ready === "string") return ready;
  return typeof ready === "number" && typeof desired === "number" ? `${ready}/${desired}` : "";
}

/** Returns the status for a ratio. The status is empty if no replicas are desired. */
function readyStatus(ready: string): string {
  const [have, want] = ready.split("/").map(Number);
  if (!want) return "";
  return have === want ? "ready" : "not ready";
}
