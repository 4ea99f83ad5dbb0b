import type { Cell, KubeObject, Row, Schema } from "watchglass";

/** Returns random numbers that are the same in every run. */
export function random(seed: number): () => number {
  let s = seed;
  return () => {
    s = (s * 1664525 + 1013904223) >>> 0;
    return s / 2 ** 32;
  };
}

const column = (name: string, kind: Schema["columns"][number]["kind"], path: string, priority = 0) => ({ name, kind, path, priority, printer: "", default: "" });

export const PODS: Schema = {
  group: "", version: "v1", resource: "pods", kind: "Pod", namespaced: true,
  fields: ["metadata.name", "metadata.namespace", "spec.nodeName", "status.phase", "status.podIP"],
  columns: [
    column("Phase", "string", ".status.phase"),
    column("Restarts", "integer", ".status.containerStatuses[*].restartCount"),
    column("Node", "string", ".spec.nodeName"),
    column("Age", "date", ".metadata.creationTimestamp"),
    column("IP", "string", ".status.podIP", 1),
    column("Images", "string", ".spec.containers[*].image", 1),
  ],
};

export const NODES: Schema = {
  group: "", version: "v1", resource: "nodes", kind: "Node", namespaced: false,
  fields: ["metadata.name"],
  columns: [column("Version", "string", ".status.nodeInfo.kubeletVersion"), column("Age", "date", ".metadata.creationTimestamp")],
};

/** An object of the fake cluster: its row, and the data to build the complete object. */
export interface Item {
  row: Row;
  note: string;
}

const APPS = ["api", "auth", "billing", "cart", "checkout", "frontend", "ingest", "ledger", "mailer", "orders", "search", "web"];
const TIERS = ["backend", "frontend", "data"];
const NAMESPACES = ["default", "kube-system", "monitoring", "payments", "staging", "team-alpha", "team-beta", "web"];
const PHASES = ["Running", "Running", "Running", "Running", "Running", "Running", "Running", "Pending", "Succeeded", "Failed"];

export function makePod(i: number, next: () => number): Item {
  const pick = <T>(list: readonly T[]) => list[Math.floor(next() * list.length)]!;
  const app = pick(APPS);
  const namespace = pick(NAMESPACES);
  const name = `${app}-${(i * 2654435761 >>> 0).toString(36)}-${i.toString(36).padStart(5, "0")}`;
  const phase = pick(PHASES);
  const node = phase === "Pending" ? "" : `node-${Math.floor(next() * 120)}`;
  const ip = node ? `10.${i >> 16 & 255}.${i >> 8 & 255}.${i & 255}` : "";
  const labels = { app, "pod-template-hash": (i * 40503 >>> 0).toString(36), tier: pick(TIERS), ...(next() < 0.2 ? { track: "canary" } : {}) };
  const created = Math.floor((Date.now() - next() ** 4 * 30 * 86_400_000) / 1000) * 1000;
  return item(namespace, name, i, labels, [name, namespace, node, phase, ip],
    [phase, next() < 0.8 ? 0 : Math.floor(next() * 20), node, created, ip, `registry.example.com/${app}:1.${i % 40}.0`]);
}

export function makeNode(i: number): Item {
  const name = `node-${i}`;
  return item("", name, 1_000_000 + i, { "kubernetes.io/os": "linux", zone: `zone-${i % 3}` }, [name], ["v1.36.3", Date.now() - i * 3_600_000]);
}

function item(namespace: string, name: string, uid: number, labels: Record<string, string>, fields: string[], columns: Cell[]): Item {
  const key = namespace ? `${namespace}/${name}` : name;
  return { row: { key, namespace, name, uid: `uid-${uid}`, resourceVersion: "1", labels, fields, columns, times: {}, cells: {} }, note: "" };
}

/** The complete object of a row. */
export function objectOf({ row, note }: Item, schema: Schema): KubeObject {
  const at = (name: string) => row.columns[schema.columns.findIndex((c) => c.name === name)] ?? undefined;
  return {
    apiVersion: "v1",
    kind: schema.kind,
    metadata: {
      name: row.name,
      ...(row.namespace ? { namespace: row.namespace } : {}),
      uid: row.uid,
      resourceVersion: row.resourceVersion,
      creationTimestamp: new Date(Number(at("Age"))).toISOString().replace(".000", ""),
      labels: { ...row.labels },
      annotations: { "example.com/note": note || "none", "example.com/script": "#!/bin/sh\nset -e\nexec serve --port 8080\n" },
    },
    spec: {
      nodeName: at("Node"),
      containers: [{ name: "main", image: at("Images"), args: ["--port", "8080", "--verbose=true"], resources: { requests: { cpu: "100m", memory: "128Mi" } } }],
      tolerations: [],
    },
    status: {
      phase: at("Phase"),
      podIP: at("IP"),
      conditions: [{ type: "Ready", status: at("Phase") === "Running" ? "True" : "False", lastTransitionTime: "2026-01-05T10:00:00Z" }],
      containerStatuses: [{ name: "main", ready: at("Phase") === "Running", restartCount: at("Restarts") }],
    },
  };
}
