import type { KubeObject } from "watchglass";
import { CLUSTER_SCOPED, resourceOf } from "./resources.ts";
import { escapeValue } from "./selectors.ts";
import { formatHash, freshState } from "./state.ts";

/** A reference to an owner, from metadata.ownerReferences. */
export interface Owner {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
}

/** Returns the owner that controls an object, or undefined. */
export function controllerOf({ metadata }: KubeObject): Owner | undefined {
  const owners = metadata["ownerReferences"] as readonly Owner[] | undefined;
  return owners?.find(({ controller }) => controller);
}

/** Returns the link that opens an object beside the table of its resource. */
export function objectLink(resource: string, key: string): string {
  return formatHash({ ...freshState(resource), object: key });
}

export interface Link {
  text: string;
  href: string;
}

/** The LabelSelector of the Kubernetes API, which workloads use. */
interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: readonly { key: string; operator: string; values?: readonly string[] }[];
}

/** The fields of a spec that refer to other objects. */
interface Spec {
  nodeName?: string;
  selector?: LabelSelector & Record<string, unknown>;
}

/**
 * Returns the links of an object: to tables of the objects that belong to it, and to the objects
 * that it refers to.
 */
export function relatedLinks(resource: string, object: KubeObject): Link[] {
  const { name, namespace = "" } = object.metadata;
  const spec = (object["spec"] ?? {}) as Spec;
  const table = (text: string, of: string, part: object): Link => ({ text, href: formatHash({ ...freshState(of), ...part }) });
  if (resource === "v1/nodes") return [table("Pods on this node", "v1/pods", { fieldSelector: `spec.nodeName=${escapeValue(name)}` })];
  if (resource === "v1/namespaces") return [table("Overview of this namespace", "overview", { namespace: name }), table("Its pods", "v1/pods", { namespace: name })];
  if (resource === "v1/events") return involved(object["involvedObject"] as Involved | undefined);
  if (resource === "v1/pods") return spec.nodeName ? [{ text: `Node ${spec.nodeName}`, href: objectLink("v1/nodes", spec.nodeName) }] : [];
  const labelSelector = selectorText(resource, spec);
  if (!labelSelector) return [];
  const links = [table("Its pods", "v1/pods", { namespace, labelSelector })];
  if (resource === "apps/v1/deployments") links.push(table("Its replica sets", "apps/v1/replicasets", { namespace, labelSelector }));
  return links;
}

/** Resources whose selector is a plain map of labels. */
const PLAIN = new Set(["v1/services", "v1/replicationcontrollers"]);

/** Resources whose selector is a LabelSelector for pods. */
const SELECTING = new Set([
  "apps/v1/deployments", "apps/v1/replicasets", "apps/v1/statefulsets", "apps/v1/daemonsets", "batch/v1/jobs", "policy/v1/poddisruptionbudgets",
]);

/**
 * Returns the selector of an object's pods in the syntax of kubectl's -l, or an empty string if the
 * object selects no pods.
 */
function selectorText(resource: string, { selector }: Spec): string {
  if (!selector) return "";
  if (PLAIN.has(resource)) return terms(selector as Record<string, string>).join(",");
  if (!SELECTING.has(resource)) return "";
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const conditions = matchExpressions.map(({ key, operator, values = [] }) => {
    if (operator === "Exists") return key;
    if (operator === "DoesNotExist") return `!${key}`;
    return `${key} ${operator.toLowerCase()} (${values.join(",")})`;
  });
  return [...terms(matchLabels), ...conditions].join(",");
}

const terms = (labels: Record<string, string>): string[] => Object.entries(labels).map(([key, value]) => `${key}=${value}`);

interface Involved {
  apiVersion?: string;
  kind?: string;
  namespace?: string;
  name?: string;
}

/** Returns the link from an event to the object that it is about. */
function involved({ apiVersion = "v1", kind, namespace, name }: Involved = {}): Link[] {
  if (!kind || !name) return [];
  const resource = resourceOf(apiVersion, kind);
  const key = namespace && !CLUSTER_SCOPED.has(resource) ? `${namespace}/${name}` : name;
  return [{ text: `${kind} ${name}`, href: objectLink(resource, key) }];
}
