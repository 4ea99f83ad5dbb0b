// A live table of pods with search, sorting, counts by phase, and its age.
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { createClient, type Cell } from "watchglass";
import { useView, WatchglassProvider } from "watchglass/react";

const client = createClient("/watch");
const limit = 50;

function Pods() {
  const [search, setSearch] = useState("");
  const [sort, setSort] = useState("-Restarts");
  const [phase, setPhase] = useState("");
  const [offset, setOffset] = useState(0);
  const fieldSelector = phase && `status.phase=${phase}`;
  const { rows, total, state, error, schema } = useView("v1/pods", { labelSelector: search, fieldSelector, sort, offset, limit });
  const all = useView("v1/pods", { labelSelector: search, facets: ["status.phase"], limit: 0 });
  const columns = schema?.columns.filter((column) => column.priority === 0) ?? [];
  const names = ["namespace", "name", ...columns.map((column) => column.name)];
  const from = (change: () => void) => () => (change(), setOffset(0));
  return (
    <main>
      <h1>Pods</h1>
      <p role="status" data-state={state}>{state}, {total} pods {error && <em role="alert">{error.message}</em>}</p>
      <label>Labels <input value={search} placeholder="app in (web,api)" onChange={(event) => from(() => setSearch(event.target.value))()} /></label>
      <nav aria-label="Phases">
        {all.facets["status.phase"]?.values.map(([value, n]) => (
          <button key={value} aria-pressed={value === phase} onClick={from(() => setPhase(value === phase ? "" : value))}>{value || "(none)"} {n}</button>
        ))}
      </nav>
      <table>
        <thead><tr>{names.map((name) => (
          <th key={name} aria-sort={!sort.endsWith(name) ? "none" : sort === name ? "ascending" : "descending"}>
            <button onClick={from(() => setSort(sort === name ? `-${name}` : name))}>{name}</button>
          </th>
        ))}</tr></thead>
        <tbody>{rows.map((row) => (
          <tr key={row.uid}><td>{row.namespace}</td><td>{row.name}</td>{columns.map((column) => <td key={column.name}>{text(row.columns[schema!.columns.indexOf(column)], column.kind)}</td>)}</tr>
        ))}</tbody>
      </table>
      <button disabled={offset === 0} onClick={() => setOffset(offset - limit)}>Previous</button>
      <button disabled={offset + limit >= total} onClick={() => setOffset(offset + limit)}>Next</button>
    </main>
  );
}

function text(cell: Cell | undefined, kind: string): string {
  return kind === "date" && cell ? new Date(cell as number).toLocaleString() : String(cell ?? "");
}

createRoot(document.getElementById("root")!).render(<WatchglassProvider client={client}><Pods /></WatchglassProvider>);
