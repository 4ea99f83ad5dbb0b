import { ConfigStore } from "@kinvolk/headlamp-plugin/lib";
import { createClient, type WatchglassClient } from "watchglass/inline";

/** The name under which Headlamp stores the plugin's settings. */
export const pluginName = "watchglass-headlamp";

export interface Settings {
  /**
   * The URL of a connector (ws:, wss:) or of a Kubernetes API. {cluster} stands for the name of the
   * cluster. The default is the Kubernetes API of Headlamp's backend.
   */
  url?: string;
}

export const settings = new ConfigStore<Settings>(pluginName);

const clients = new Map<string, WatchglassClient>();

/** Returns the connection to a cluster, which all components share. */
export function clientOf(cluster: string): WatchglassClient {
  const url = urlOf(cluster, settings.get()?.url);
  let client = clients.get(url);
  if (!client) clients.set(url, (client = createClient(url, { kubernetes: !/^wss?:/.test(url) })));
  return client;
}

function urlOf(cluster: string, template: string | undefined): string {
  const base = (globalThis as { headlampBaseUrl?: string }).headlampBaseUrl ?? "";
  return (template || `${base}/clusters/{cluster}`).replace(/\{cluster\}/g, () => encodeURIComponent(cluster));
}
