import type { ObjectInput } from "watchglass/testing";

/** Returns a generator of pseudorandom numbers from 0 to 1 that are the same in every run. */
export function random(seed: number): () => number {
  let s = seed;
  return () => {
    s = (s * 1664525 + 1013904223) >>> 0;
    return s / 2 ** 32;
  };
}

const APPS = ["api", "auth", "billing", "cart", "checkout", "frontend", "ingest", "ledger", "mailer", "orders", "search", "web"];
const TIERS = ["backend", "frontend", "data"];
const NAMESPACES = ["default", "kube-system", "monitoring", "payments", "staging", "team-alpha", "team-beta", "web"];
const PHASES = ["Running", "Running", "Running", "Running", "Running", "Running", "Running", "Pending", "Succeeded", "Failed"];

/** Formats a time as Kubernetes does, without fractions of a second. */
const timestamp = (millis: number): string => new Date(millis).toISOString().replace(/\.\d+/, "");

export function makePod(i: number, next: () => number): ObjectInput {
  const pick = <T>(list: readonly T[]) => list[Math.floor(next() * list.length)]!;
  const app = pick(APPS);
  const namespace = pick(NAMESPACES);
  const name = `${app}-${(i * 2654435761 >>> 0).toString(36)}-${i.toString(36).padStart(5, "0")}`;
  const phase = pick(PHASES);
  const node = phase === "Pending" ? undefined : `node-${Math.floor(next() * 120)}`;
  const labels = { app, "pod-template-hash": (i * 40503 >>> 0).toString(36), tier: pick(TIERS), ...(next() < 0.2 ? { track: "canary" } : {}) };
  const image = `registry.example.com/${app}:1.${i % 40}.0`;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name, namespace, labels,
      uid: `uid-${i}`,
      creationTimestamp: timestamp(Date.now() - next() ** 4 * 30 * 86_400_000),
      annotations: { "example.com/note": "none", "example.com/script": "#!/bin/sh\nset -e\nexec serve --port 8080\n" },
    },
    spec: {
      nodeName: node,
      containers: [{ name: "main", image, args: ["--port", "8080", "--verbose=true"], resources: { requests: { cpu: "100m", memory: "128Mi" } } }],
      tolerations: [],
    },
    status: {
      phase,
      podIP: node && `10.${i >> 16 & 255}.${i >> 8 & 255}.${i & 255}`,
      conditions: [{ type: "Ready", status: phase === "Running" ? "True" : "False", lastTransitionTime: "2026-01-05T10:00:00Z" }],
      containerStatuses: [{ name: "main", image, ready: phase === "Running", state: phase === "Running" ? { running: {} } : {}, restartCount: next() < 0.8 ? 0 : Math.floor(next() * 20) }],
    },
  };
}

export function makeNode(i: number): ObjectInput {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: `node-${i}`,
      uid: `uid-node-${i}`,
      labels: { "kubernetes.io/os": "linux", zone: `zone-${i % 3}` },
      creationTimestamp: timestamp(Date.now() - i * 3_600_000),
    },
    status: { nodeInfo: { kubeletVersion: "v1.36.3" }, conditions: [{ type: "Ready", status: "True" }] },
  };
}

export function makeConfigMap(i: number): ObjectInput {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `settings-${i}`, namespace: NAMESPACES[i % NAMESPACES.length]! }, data: { key: String(i) } };
}
