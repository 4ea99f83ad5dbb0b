// Tests of joined columns, with an in-memory cluster and the real module.
import assert from "node:assert/strict";
import { test } from "node:test";
import { TestCluster, type ObjectInput } from "../src/testing.js";
import type { View } from "../src/types.js";
import { connected, skip as noModule, until } from "./cluster.js";

const options = { skip: noModule, timeout: 60_000 };
const endpoints = (name: string, ...ips: string[]) => ({
  apiVersion: "v1", kind: "Endpoints", metadata: { name, namespace: "default" },
  subsets: [{ addresses: ips.map((ip) => ({ ip })), ports: [{ port: 80 }] }],
});
const service = (name: string) => ({ apiVersion: "v1", kind: "Service", metadata: { name, namespace: "default" }, spec: { ports: [{ port: 80 }] } });
const columns = [{ name: "Backends", kind: "string" as const, printer: "join", path: "v1/endpoints Endpoints" }];

test("a view has, sorts and counts the columns of another resource", options, async (t) => {
  const cluster = new TestCluster();
  for (const name of ["a", "b", "c"]) cluster.apply(service(name));
  cluster.apply(endpoints("a", "10.0.0.2"));
  cluster.apply(endpoints("b", "10.0.0.1"));
  const wg = await connected(t, cluster);
  const services = wg.collection("v1/services", { columns });
  const view = services.view({ sort: "-Backends", facets: ["backends"] });
  const shown = (): string => view.snapshot.rows.map(({ name, cells }) => `${name} ${cells["Backends"]}`).join();
  await until(view, () => shown() === "a 10.0.0.2:80,b 10.0.0.1:80,c null");
  assert.equal(services.schema!.columns.at(-1)!.name, "Backends");
  assert.deepEqual(view.snapshot.facets["backends"]!.values, [["", 1], ["10.0.0.1:80", 1], ["10.0.0.2:80", 1]]);
  assert.equal((await services.get("default/a"))["kind"], "Service");
  cluster.apply(endpoints("c", "10.0.0.9"));
  cluster.delete("v1/endpoints", "default/a");
  await until(view, () => shown() === "c 10.0.0.9:80,b 10.0.0.1:80,a null");
});

test("without the right to read the other resource, rows lack its columns and the status has the reason", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(service("a"));
  cluster.apply(endpoints("a", "10.0.0.2"));
  cluster.deny("v1/endpoints", "endpoints is forbidden");
  const wg = await connected(t, cluster);
  const services = wg.collection("v1/services", { columns });
  const view = services.view({ sort: "Backends" });
  await view.ready;
  assert.equal(view.snapshot.rows[0]!.cells["Backends"], null);
  await until(services, () => services.status.error !== undefined);
  assert.equal(services.status.state, "live");
  assert.deepEqual([services.status.error!.code, services.status.error!.cause, services.status.error!.message], [403, "JoinUnavailable", "Kubernetes: watch list of v1/endpoints: endpoints is forbidden"]);
  assert.equal(wg.status.state, "live");
  cluster.allow("v1/endpoints");
  wg.reconnect();
  await until(view, () => view.snapshot.rows[0]!.cells["Backends"] === "10.0.0.2:80");
  await until(services, () => services.status.error === undefined);
});

/**
 * Returns an object in the namespace shop. The UID of the object is its name. `owner` is the UID of
 * its owner, or empty.
 */
const below = (kind: string, name: string, owner: string, phase = ""): ObjectInput => ({
  apiVersion: kind === "Pod" ? "v1" : "apps/v1", kind,
  metadata: { name, namespace: "shop", uid: name, ...(owner && { ownerReferences: [{ uid: owner, controller: true }] }) },
  ...(phase && { status: { phase } }),
} as ObjectInput);
const children = (path: string) => [
  { name: "Pods", kind: "integer" as const, printer: "children", path },
  { name: "Pod states", kind: "string" as const, printer: "children", path: `${path} Status` },
];
const states = ({ snapshot }: View): string => snapshot.rows.map(({ name, cells }) => `${name} ${cells["Pods"]} ${cells["Pod states"]}`).join("; ");

test("rows have, sort, filter and count the number and the states of the objects below them", options, async (t) => {
  const cluster = new TestCluster();
  for (const name of ["api", "web"]) cluster.apply(below("Deployment", name, ""));
  for (const name of ["web-1", "web-2"]) cluster.apply(below("ReplicaSet", name, "web"));
  cluster.apply(below("Pod", "a", "web-1", "Running"));
  cluster.apply(below("Pod", "b", "web-2", "Running"));
  cluster.apply(below("Pod", "c", "web-2", "Pending"));
  const wg = await connected(t, cluster);
  const deployments = wg.collection("apps/v1/deployments", { columns: children("apps/v1/replicasets,v1/pods") });
  const all = deployments.view({ sort: "-Pods", facets: ["Pod states"] });
  await until(all, () => states(all) === "web 3 Running 2, Pending 1; api 0 null");
  assert.deepEqual(all.snapshot.facets["Pod states"]!.values, [["", 1], ["Running 2, Pending 1", 1]]);

  const pending = deployments.view({ where: 'Pods > 0 and "Pod states" ~ pending' });
  const found = deployments.view({ search: "failed" });
  await Promise.all([pending.ready, found.ready]);
  assert.equal(states(pending), "web 3 Running 2, Pending 1");
  assert.equal(found.snapshot.total, 0);
  cluster.apply(below("Pod", "c", "web-2", "Failed"));
  await until(found, () => states(found) === "web 3 Running 2, Failed 1");
  await until(pending, () => pending.snapshot.total === 0);
  cluster.apply(below("ReplicaSet", "web-2", "api"));
  await until(all, () => states(all) === "api 2 Failed 1, Running 1; web 1 Running 1");
  cluster.delete("v1/pods", "shop/a");
  await until(all, () => states(all) === "api 2 Failed 1, Running 1; web 0 null");
});

test("without the right to read the objects in between, rows have no counts and the status has the reason", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(below("Deployment", "web", ""));
  cluster.apply(below("ReplicaSet", "web-1", "web"));
  cluster.apply(below("Pod", "a", "web-1", "Running"));
  cluster.deny("apps/v1/replicasets", "replicasets is forbidden");
  const wg = await connected(t, cluster);
  const deployments = wg.collection("apps/v1/deployments", { columns: children("apps/v1/replicasets,v1/pods") });
  const view = deployments.view({});
  await view.ready;
  await until(deployments, () => deployments.status.error !== undefined);
  assert.equal(states(view), "web null null");
  assert.equal(deployments.status.state, "live");
  assert.deepEqual([deployments.status.error!.code, deployments.status.error!.cause], [403, "JoinUnavailable"]);
  cluster.allow("apps/v1/replicasets");
  wg.reconnect();
  await until(view, () => states(view) === "web 1 Running 1");
  await until(deployments, () => deployments.status.error === undefined);
});

test("a column with an invalid path is refused by its name", options, async (t) => {
  const wg = await connected(t, new TestCluster());
  const cases = [["join", "endpoints Endpoints", "endpoints"], ["children", "", ""], ["children", "garbage", "garbage"], ["children", "apps/v1/replicasets,,v1/pods Status", ""]] as const;
  for (const [printer, path, resource] of cases) {
    const services = wg.collection("v1/services", { columns: [{ name: "Other", kind: "string", printer, path }] });
    await assert.rejects(services.synced, { code: 400, message: new RegExp(`^column "Other": invalid resource "${resource}": expected "version/resource"`) });
  }
});
