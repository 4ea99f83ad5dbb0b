// Owners of objects, evaluated by the module.

import assert from "node:assert/strict";
import { test } from "node:test";
import { TestCluster } from "../src/testing.js";
import type { KubeObject, View } from "../src/types.js";
import { connected, skip, until } from "./cluster.js";

const options = { skip, timeout: 60_000 };

/** An object in namespace shop whose UID is its name. */
function object(kind: "Deployment" | "ReplicaSet" | "Pod", name: string, ...owners: { uid: string; controller?: boolean }[]): KubeObject {
  return {
    apiVersion: kind === "Pod" ? "v1" : "apps/v1",
    kind,
    metadata: { name, namespace: "shop", uid: name, ...(owners.length > 0 && { ownerReferences: owners }) },
  } as KubeObject;
}

const names = ({ snapshot }: View): string => snapshot.rows.map(({ name }) => name).join(" ");

test("a view has the objects of an owner, and those below it", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(object("Deployment", "web"));
  cluster.apply(object("ReplicaSet", "web-1", { uid: "web", controller: true }));
  cluster.apply(object("Pod", "web-1-a", { uid: "node" }, { uid: "web-1", controller: true }));
  cluster.apply(object("Pod", "web-2-a", { uid: "web-2" }));
  cluster.apply(object("Pod", "other"));
  const wg = await connected(t, cluster);
  const [pods, sets] = [wg.collection("v1/pods"), wg.collection("apps/v1/replicasets")];
  await Promise.all([pods.synced, sets.synced]);

  const [direct, below] = [sets.view({ ownedBy: "web" }), pods.view({ ownedBy: "web", recursive: true, sort: "name" })];
  await Promise.all([direct.ready, below.ready]);
  assert.equal(names(direct), "web-1");
  await until(below, () => names(below) === "web-1-a");

  cluster.apply(object("ReplicaSet", "web-2", { uid: "web", controller: true }));
  await until(below, () => names(below) === "web-1-a web-2-a");
  await until(direct, () => names(direct) === "web-1 web-2");
  cluster.delete("apps/v1/replicasets", "shop/web-1");
  await until(below, () => names(below) === "web-2-a");
  sets.close();
  await until(below, () => names(below) === "");

  await assert.rejects(below.query({ recursive: true }), { code: 400, message: /set the UID of an owner/ });
  await assert.rejects(below.query({ ownedBy: 1 as never }), { code: 400, message: /ownedBy is 1, expected a string/ });
});
