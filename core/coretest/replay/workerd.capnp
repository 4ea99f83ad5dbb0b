using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "replay", worker = .replay)],
  # The port is whichever is free; workerd tells it on --control-fd.
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "replay")],
);

const replay :Workerd.Worker = (
  compatibilityDate = "2026-10-01",
  modules = [
    (name = "workerd.mjs", esModule = embed "workerd.mjs"),
    (name = "replay.mjs", esModule = embed "replay.mjs"),
    (name = "module.wasm", wasm = embed "module.wasm"),
  ],
);
