import { TextField } from "@mui/material";
import type { Settings } from "./clients";

/** Shows the plugin's settings in Headlamp. */
export function SettingsForm({ data, onDataChange }: { data?: Settings; onDataChange?: (data: Settings) => void }) {
  return (
    <TextField fullWidth label="Source" value={data?.url ?? ""} placeholder="wss://watchglass.example.com/{cluster}/watch"
      helperText="The URL of a connector, with {cluster} for the name of the cluster. Empty: Headlamp's backend."
      onChange={({ target }) => onDataChange?.({ url: target.value })} />
  );
}
