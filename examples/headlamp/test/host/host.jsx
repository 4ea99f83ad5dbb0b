// Headlamp's own sidebar, routes, theme and pluginLib, from the library of
// @kinvolk/headlamp-plugin, around the built plugin.
import "@kinvolk/headlamp-plugin/lib/lib/router"; // must be first, because the library's modules have cyclic imports
import { initializePlugins } from "@kinvolk/headlamp-plugin/lib/plugin";
import { CssBaseline, ThemeProvider } from "@mui/material";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { SnackbarProvider } from "notistack";
import { createRoot } from "react-dom/client";
import { Provider } from "react-redux";
import { BrowserRouter } from "react-router-dom";
import { lightTheme } from "@kinvolk/headlamp-plugin/lib/components/App/defaultAppThemes";
import RouteSwitcher from "@kinvolk/headlamp-plugin/lib/components/App/RouteSwitcher";
import Sidebar from "@kinvolk/headlamp-plugin/lib/components/Sidebar/Sidebar";
import { createMuiTheme } from "@kinvolk/headlamp-plugin/lib/lib/themes";
import { setConfig } from "@kinvolk/headlamp-plugin/lib/redux/configSlice";
import store from "@kinvolk/headlamp-plugin/lib/redux/stores/store";

const cluster = { name: "main", auth_type: "", meta_data: {} };

async function main() {
  store.dispatch(setConfig({ clusters: { main: cluster } }));
  // Headlamp, too, runs the source of a plugin as a function body.
  const source = await (await fetch("/plugins/watchglass-headlamp/main.js")).text();
  new Function(source)();
  await initializePlugins();
  createRoot(document.getElementById("root")).render(
    <Provider store={store}>
      <QueryClientProvider client={new QueryClient()}>
        <ThemeProvider theme={createMuiTheme(lightTheme)}>
          <CssBaseline />
          <SnackbarProvider>
            <BrowserRouter>
              <div style={{ display: "flex", minHeight: "100vh" }}>
                <Sidebar />
                <main style={{ flex: 1, minWidth: 0, padding: 16 }}><RouteSwitcher requiresToken={() => false} /></main>
              </div>
            </BrowserRouter>
          </SnackbarProvider>
        </ThemeProvider>
      </QueryClientProvider>
    </Provider>,
  );
}

void main();
