import { registerPluginSettings, registerRoute, registerSidebarEntry } from "@kinvolk/headlamp-plugin/lib";
import { pluginName } from "./clients";
import { SettingsForm } from "./SettingsForm";
import { WorkloadsPage } from "./WorkloadsPage";

registerSidebarEntry({ parent: "workloads", name: "live-workloads", label: "Live", url: "/live-workloads" });
registerRoute({ path: "/live-workloads", sidebar: "live-workloads", name: "Live workloads", exact: true, component: () => <WorkloadsPage /> });
registerPluginSettings(pluginName, SettingsForm, true);
