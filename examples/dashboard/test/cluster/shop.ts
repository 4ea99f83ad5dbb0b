import type { ObjectInput } from "watchglass/testing";

/** The namespace of the shop's objects. */
const namespace = "shop";

/**
 * Returns a namespace with workloads, their owners and a service, for tests of the overview and of
 * the relations between objects.
 */
export function shop(): ObjectInput[] {
  const labels = { app: "checkout" };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace }, status: { phase: "Active" } },
    deployment("checkout", 2, 2),
    deployment("ledger", 3, 1),
    { ...workload("ReplicaSet", "checkout-7d9", 2, 2, labels), metadata: { ...meta("checkout-7d9", labels), uid: uid("ReplicaSet", "checkout-7d9"), ownerReferences: [owner("apps/v1", "Deployment", "checkout")] } },
    pod("checkout-7d9-a", labels, [owner("apps/v1", "ReplicaSet", "checkout-7d9")]),
    pod("alone", {}, []),
    { apiVersion: "v1", kind: "Service", metadata: meta("checkout", {}), spec: { type: "ClusterIP", clusterIP: "10.0.0.1", selector: labels } },
  ];
}

const uid = (kind: string, name: string) => `uid-${kind}-${name}`;

const meta = (name: string, labels: Record<string, string>) => ({ name, namespace, labels });

const owner = (apiVersion: string, kind: string, name: string) => ({ apiVersion, kind, name, uid: uid(kind, name), controller: true });

function workload(kind: string, name: string, replicas: number, readyReplicas: number, labels: Record<string, string>): ObjectInput {
  return {
    apiVersion: "apps/v1", kind, metadata: { ...meta(name, labels), uid: uid(kind, name) },
    spec: { replicas, selector: { matchLabels: labels } }, status: { replicas, readyReplicas, updatedReplicas: replicas, availableReplicas: readyReplicas },
  };
}

const deployment = (name: string, replicas: number, ready: number) => workload("Deployment", name, replicas, ready, { app: name });

function pod(name: string, labels: Record<string, string>, ownerReferences: object[]): ObjectInput {
  return {
    apiVersion: "v1", kind: "Pod", metadata: { ...meta(name, labels), uid: uid("Pod", name), ownerReferences },
    spec: { nodeName: "node-1", containers: [{ name: "main" }] },
    status: { phase: "Running", containerStatuses: [{ name: "main", ready: true, state: { running: {} }, restartCount: 0 }] },
  };
}

/** Returns an event about a pod of the shop that happened `minutesAgo`. */
export function podEvent(i: number, name: string, minutesAgo: number, type: string, reason: string, message: string): ObjectInput {
  const time = new Date(Date.now() - minutesAgo * 60_000).toISOString().replace(/\.\d+/, "");
  return {
    apiVersion: "v1", kind: "Event", metadata: { name: `${name}.${i}`, namespace },
    involvedObject: { apiVersion: "v1", kind: "Pod", namespace, name, uid: uid("Pod", name) },
    type, reason, message, firstTimestamp: time, lastTimestamp: time, count: i + 1, source: { component: "kubelet" },
  };
}
