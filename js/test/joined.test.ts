// Joined columns, with a cluster in memory and the real module.
import assert from "node:assert/strict";
import { test } from "node:test";
import { TestCluster } from "../src/testing.js";
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

test("a column of an invalid path is refused", options, async (t) => {
  const wg = await connected(t, new TestCluster());
  const services = wg.collection("v1/services", { columns: [{ ...columns[0]!, path: "endpoints Endpoints" }] });
  await assert.rejects(services.synced, /invalid resource "endpoints"/);
});
