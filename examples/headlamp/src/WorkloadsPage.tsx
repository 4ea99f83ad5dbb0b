import { K8s, Utils } from "@kinvolk/headlamp-plugin/lib";
import { Link, SectionBox, SimpleTable } from "@kinvolk/headlamp-plugin/lib/CommonComponents";
import { Alert, Box, Chip, MenuItem, Stack, TablePagination, TextField } from "@mui/material";
import { useState, type ReactNode } from "react";
import type { Cell, Column } from "watchglass/inline";
import { viewStore, type ViewValue } from "watchglass/stores";
import { clientOf } from "./clients";
import { useStores } from "./stores";
import { useLiveList } from "./useLiveList";

const kinds = [
  { label: "Pods", resource: "v1/pods", route: "pod", facet: "status.phase" },
  { label: "Deployments", resource: "apps/v1/deployments", route: "deployment" },
  { label: "StatefulSets", resource: "apps/v1/statefulsets", route: "statefulset" },
  { label: "DaemonSets", resource: "apps/v1/daemonsets", route: "daemonset" },
  { label: "ReplicaSets", resource: "apps/v1/replicasets", route: "replicaset" },
  { label: "Jobs", resource: "batch/v1/jobs", route: "job" },
] as const;

const perPage = 25;

/**
 * Shows live workloads of the current cluster. The engine filters, sorts and counts all workloads,
 * and the page receives only one window of them.
 */
export function WorkloadsPage() {
  const cluster = K8s.useCluster() ?? "";
  const [kind, setKind] = useState<(typeof kinds)[number]>(kinds[0]);
  const [labels, setLabels] = useState("");
  const [sort, setSort] = useState("Name");
  const [page, setPage] = useState(0);
  const query = { labelSelector: labels, sort, offset: page * perPage, limit: perPage, facets: "facet" in kind ? [kind.facet] : [] };
  const [value] = useStores(JSON.stringify([cluster, kind.resource, query]), () => [viewStore(clientOf(cluster), kind.resource, query)]);
  return (
    <SectionBox title="Live workloads" headerProps={{ actions: [<Freshness key="state" value={value!} />] }}>
      <Stack direction="row" spacing={2} useFlexGap sx={{ my: 2, flexWrap: "wrap", alignItems: "center" }}>
        <TextField select size="small" label="Kind" value={kind.resource} sx={{ minWidth: 180 }}
          onChange={({ target }) => { setKind(kinds.find(({ resource }) => resource === target.value)!); setPage(0); setSort("Name"); }}>
          {kinds.map(({ label, resource }) => <MenuItem key={resource} value={resource}>{label}</MenuItem>)}
        </TextField>
        <TextField size="small" label="Labels" placeholder="app=web, tier in (front, back)" value={labels} sx={{ minWidth: 320 }}
          error={value!.view === "error"} onChange={({ target }) => { setLabels(target.value); setPage(0); }} />
        <TextField select size="small" label="Sort" value={sort} sx={{ minWidth: 160 }} onChange={({ target }) => setSort(target.value)}>
          {["Name", "Namespace", ...(value!.schema?.columns ?? []).map(({ name }) => `-${name}`), ...(sort.startsWith("-") && !value!.schema ? [sort] : [])]
            .map((order) => <MenuItem key={order} value={order}>{order.replace(/^-(.*)/, "$1 ↓")}</MenuItem>)}
        </TextField>
      </Stack>
      <Stack direction="row" spacing={1} useFlexGap sx={{ mb: 2, flexWrap: "wrap" }}>
        {Object.values(value!.facets).flatMap(({ values }) => values).map(([phase, count]) => <Chip key={phase} label={`${phase || "–"} ${count}`} />)}
        <Nodes />
      </Stack>
      {value!.error && <Alert severity={value!.rows.length > 0 ? "warning" : "error"}>{value!.error.message}</Alert>}
      <Rows kind={kind} cluster={cluster} value={value!} />
      <TablePagination component="div" count={value!.total} page={page} rowsPerPage={perPage} rowsPerPageOptions={[perPage]} onPageChange={(_, next) => setPage(next)} />
    </SectionBox>
  );
}

/** Shows whether the rows are current. The page keeps outdated rows visible. */
function Freshness({ value: { state, total } }: { value: ViewValue }) {
  return <Chip data-testid="state" label={`${state}, ${total.toLocaleString("en-US")} objects`} color={state === "live" ? "success" : state === "stale" || state === "reconnecting" ? "warning" : "default"} />;
}

/** Shows the number of nodes, as an example of useLiveList with one of Headlamp's own classes. */
function Nodes() {
  const [nodes, error] = useLiveList(K8s.ResourceClasses.Node);
  if (error) return null;
  return <Chip data-testid="nodes" label={nodes ? `${nodes.length} nodes` : "nodes …"} />;
}

function Rows({ kind, cluster, value }: { kind: (typeof kinds)[number]; cluster: string; value: ViewValue }) {
  const columns = (value.schema?.columns ?? []).map((column, i) => ({ column, i })).filter(({ column }) => column.priority === 0);
  return (
    <Box data-testid="rows" sx={{ opacity: value.view === "loading" ? 0.6 : 1 }}>
      <SimpleTable
        data={value.view === "loading" && value.rows.length === 0 ? null : [...value.rows]}
        emptyMessage={`No ${kind.label.toLowerCase()} match`}
        showPagination={false}
        rowsPerPage={[perPage]}
        columns={[
          { label: "Name", gridTemplate: 2, getter: ({ name, namespace }) => <Link routeName={kind.route} params={{ name, namespace }} activeCluster={cluster}>{name}</Link> },
          { label: "Namespace", datum: "namespace" },
          ...columns.map(({ column, i }) => ({ label: column.name, getter: (row: { columns: Cell[] }) => shown(row.columns[i]!, column) })),
        ]}
      />
    </Box>
  );
}

function shown(cell: Cell, { kind }: Column): ReactNode {
  if (cell === null) return "–";
  return kind === "date" ? Utils.timeAgo(Number(cell)) : String(cell);
}
