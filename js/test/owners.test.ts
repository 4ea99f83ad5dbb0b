// Tests of views and trees of owned objects, which the module evaluates.

import assert from "node:assert/strict";
import { test } from "node:test";
import { TestCluster } from "../src/testing.js";
import { ownerTree, type OwnerTree, type TreeNode } from "../src/tree.js";
import type { KubeObject, View } from "../src/types.js";
import { connected, skip, until } from "./cluster.js";

const options = { skip, timeout: 60_000 };

/** Returns an object in the namespace shop whose UID is its name. */
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

/** Returns the names of a node and of those below it, such as "web(web-1(web-1-a))". */
function shape({ uid, row, children }: TreeNode): string {
  const below = children.map(shape).join(" ");
  return (row?.name ?? `?${uid}`) + (below && `(${below})`);
}

test("a tree has the objects below its root, in all collections", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(object("Pod", "web-1-a", { uid: "web-1" }));
  cluster.apply(object("Pod", "web-1-b", { uid: "web-1" }));
  cluster.apply(object("Pod", "loop-a", { uid: "loop-b" }));
  cluster.apply(object("Pod", "loop-b", { uid: "loop-a" }));
  const wg = await connected(t, cluster);
  const collections = ["apps/v1/deployments", "apps/v1/replicasets", "v1/pods"].map((resource) => wg.collection(resource));
  await Promise.all(collections.map(({ synced }) => synced));
  const tree = ownerTree(collections, "web", { limit: 2 });
  const becomes = (expected: string, of: OwnerTree = tree): Promise<void> => until(of, () => shape(of.snapshot.root) === expected);
  await tree.ready;
  assert.equal(shape(tree.snapshot.root), "?web");
  assert.equal(tree.snapshot, tree.snapshot, "the snapshot is the same object until the tree changes");

  cluster.apply(object("ReplicaSet", "web-1", { uid: "web" }));
  await becomes("?web(web-1(web-1-a web-1-b))");
  cluster.apply(object("Deployment", "web"));
  await becomes("web(web-1(web-1-a web-1-b))");
  assert.equal(tree.snapshot.root.collection, collections[0]);
  assert.ok(Object.isFrozen(tree.snapshot.root.children[0]!.children));
  assert.equal(tree.snapshot.truncated, false);
  cluster.apply(object("Pod", "web-1-c", { uid: "web-1" }));
  await until(tree, () => tree.snapshot.truncated);
  cluster.delete("v1/pods", "shop/web-1-c");
  await until(tree, () => !tree.snapshot.truncated);

  using loop = ownerTree(collections, "loop-a");
  await becomes("loop-a(loop-b)", loop);
  using again = ownerTree([collections[2]!, wg.collection("v1/pods", { namespace: "shop" })], "web-1");
  await becomes("?web-1(web-1-a web-1-b)", again);

  cluster.delete("apps/v1/replicasets", "shop/web-1");
  await becomes("web");
  cluster.apply(object("ReplicaSet", "web-1", { uid: "web" }));
  await becomes("web(web-1(web-1-a web-1-b))");
  collections[2]!.close();
  await becomes("web(web-1)");
  assert.deepEqual(tree.snapshot.errors.map(({ collection }) => collection), [collections[2]]);
  tree.close();
  assert.equal(shape(tree.snapshot.root), "web(web-1)");
});

test("a tree without the right to a resource lacks its objects, and has the reason", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(object("ReplicaSet", "web-1", { uid: "web" }));
  cluster.apply(object("Pod", "web-1-a", { uid: "web-1" }));
  cluster.deny("v1/pods");
  const wg = await connected(t, cluster);
  const [sets, pods] = [wg.collection("apps/v1/replicasets"), wg.collection("v1/pods")];
  await sets.synced;
  using tree = ownerTree([sets, pods], "web");
  await tree.ready;
  await until(tree, () => shape(tree.snapshot.root) === "?web(web-1)");
  const [{ collection, error } = assert.fail()] = tree.snapshot.errors;
  assert.equal(collection, pods);
  assert.equal(error.code, 403);
});

test("a row has its owner and its times", options, async (t) => {
  const cluster = new TestCluster();
  const times = { creationTimestamp: "2026-01-01T00:00:00Z", deletionTimestamp: "2026-01-01T00:00:02Z" };
  const ownerReferences = [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-1", uid: "u-1", controller: true }];
  cluster.apply({ apiVersion: "v1", kind: "Pod", metadata: { name: "web-1-a", namespace: "shop", uid: "a", ownerReferences, ...times } } as unknown as KubeObject);
  cluster.apply({ apiVersion: "v1", kind: "Pod", metadata: { name: "web-1-b", namespace: "shop", uid: "b", creationTimestamp: null, ownerReferences: [{ uid: "u-2" }] } } as unknown as KubeObject);
  const wg = await connected(t, cluster);
  using view = wg.collection("v1/pods").view();
  await view.ready;
  assert.deepEqual(view.snapshot.rows.map(({ owner, ownerReference, creationTime, deletionTime }) => ({ owner, ownerReference, creationTime, deletionTime })), [
    { owner: "u-1", ownerReference: { kind: "ReplicaSet", name: "web-1", uid: "u-1" }, creationTime: Date.UTC(2026, 0, 1), deletionTime: Date.UTC(2026, 0, 1) + 2000 },
    { owner: "u-2", ownerReference: undefined, creationTime: undefined, deletionTime: undefined },
  ]);
});

test("the children of each owner are counted by a group", options, async (t) => {
  const cluster = new TestCluster();
  for (const name of ["a", "b", "c"]) cluster.apply(object("Pod", name, { uid: name === "c" ? "set-2" : "set-1" }));
  const wg = await connected(t, cluster);
  const pods = wg.collection("v1/pods");
  using view = pods.view({ groupBy: ["owner"], where: { and: [["owner", "exists"]] } });
  await view.ready;
  await until(view, () => view.snapshot.groups?.values.map(({ values: [owner], rows }) => `${owner} ${rows}`).join() === "set-1 2,set-2 1");
  assert.deepEqual(view.snapshot.rows.map(({ owner, labels }) => ({ owner, labels })), [
    { owner: "set-1", labels: {} }, { owner: "set-1", labels: {} }, { owner: "set-2", labels: {} },
  ]);
});
