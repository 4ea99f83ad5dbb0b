// One side of the comparison in table.mjs: the informer of client-node with React state, which is
// updated at most once per frame.
import { createElement as h, useEffect, useMemo, useState } from "react";
import { Peer } from "./peer.mjs";
import { restartsOf, rowOf, show, Table, visible } from "./table-view.mjs";

const list = new Uint8Array(await (await fetch("/list.json")).arrayBuffer());
const peer = await Peer.open(list);
const { informer } = peer;
const objects = informer.list().length;
const socket = new WebSocket("/informer");
socket.binaryType = "arraybuffer";
socket.onmessage = ({ data }) => peer.receive(new Uint8Array(data));
await new Promise((resolve) => (socket.onopen = resolve));

/**
 * Returns the rows of the pods with the most restarts. Pods with the same number of restarts are
 * sorted by key.
 */
function top(pods) {
  const sortable = pods.map((pod) => ({ pod, restarts: restartsOf(pod.status), key: `${pod.metadata.namespace}/${pod.metadata.name}` }));
  sortable.sort((a, b) => b.restarts - a.restarts || (a.key < b.key ? -1 : 1));
  return sortable.slice(0, visible).map(({ pod }) => rowOf(pod));
}

function Pods() {
  const [pods, setPods] = useState(() => informer.list());
  useEffect(() => {
    let due = false;
    const changed = () => {
      if (due) return;
      due = true;
      requestAnimationFrame(() => {
        due = false;
        setPods([...informer.list()]);
      });
    };
    informer.on("change", changed);
    return () => informer.off("change", changed);
  }, []);
  return h(Table, { rows: useMemo(() => top(pods), [pods]) });
}

show(h(Pods));
globalThis.shown = () => objects + peer.updates;
